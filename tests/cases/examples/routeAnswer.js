// --- a page with data that its server does not have at the moment
//! result: "sold out"
const page = await browser.open();
await page.route("https://shop.example/", (route) => route.fulfill({
  contentType: "text/html",
  body: `<p></p><script>fetch("/stock").then((answer) => answer.json()).then(({ count }) =>
    document.querySelector("p").textContent = count ? "in stock" : "sold out")</script>`,
}));
await page.route("**/stock", (route, request) =>
  request.method() === "GET" ? route.fulfill({ json: { count: 0 } }) : route.abort());
await page.goto("https://shop.example/");
await page.getByText("sold out").waitFor();
return page.textContent("p");
