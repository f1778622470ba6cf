// --- wait for the answer that a click brings about
//! result: {"status":200,"stock":{"chairs":4}}
const page = await browser.open();
await page.route("https://shop.example/**", (route) =>
  route.request().url().endsWith("/stock")
    ? route.fulfill({ json: { chairs: 4 } })
    : route.fulfill({ contentType: "text/html", body: `<button onclick="fetch('/stock')">Check</button>` }));
await page.goto("https://shop.example/chair");
const answered = page.waitForResponse("**/stock");
await page.getByRole("button", { name: "Check" }).click();
const response = await answered;
return { status: response.status(), stock: await response.json() };
