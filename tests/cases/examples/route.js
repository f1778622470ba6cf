// --- a page of a site that does not have to be there, without its pictures
//! result: ["Chairs","no picture"]
const page = await browser.open();
await page.route("https://shop.example/**", (route) =>
  route.fulfill({ contentType: "text/html", body: `<h1>Chairs</h1><img src="/chair.png" onerror="this.alt = 'no picture'">` }));
await page.route("**/*.{png,jpg}", (route) => route.abort());
await page.goto("https://shop.example/chairs");
return [await page.textContent("h1"), await page.getAttribute("img", "alt")];
