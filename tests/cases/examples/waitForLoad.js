// --- a page and all that it refers to
//! result: ["complete",90]
const page = await browser.open();
await page.route("https://shop.example/**", (route) =>
  route.request().resourceType() === "image"
    ? route.fulfill({ contentType: "image/svg+xml", body: `<svg xmlns="http://www.w3.org/2000/svg" width="90" height="60"/>` })
    : route.fulfill({ contentType: "text/html", body: `<img src="/chair.svg">` }));
await page.goto("https://shop.example/", { waitUntil: "commit" });
await page.waitForLoadState("load");
return page.evaluate(() => [document.readyState, document.images[0].naturalWidth]);
