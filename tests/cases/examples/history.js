// --- back to the list after a look at one item
//! result: ["/list","/chair"]
const page = await browser.open();
await page.route("https://shop.example/**", (route) =>
  route.fulfill({ contentType: "text/html", body: `<title>${new URL(route.request().url()).pathname}</title>` }));
await page.goto("https://shop.example/list");
await page.goto("https://shop.example/chair");
await page.goBack();
const back = await page.title();
await page.goForward();
return [back, await page.title()];
