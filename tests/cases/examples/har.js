// --- the requests of a page for another tool
//! result: {"version":"1.2","query":[{"name":"q","value":"chair"}],"type":"text/html","body":"<title>Shop</title>"}
const page = await browser.open();
await page.route("https://shop.example/**", (route) =>
  route.fulfill({ contentType: "text/html", body: "<title>Shop</title>" }));
await page.goto("https://shop.example/?q=chair");
const { log } = await page.har({ filter: "shop.example", content: "embed" });
const [{ request, response }] = log.entries;
return { version: log.version, query: request.queryString, type: response.content.mimeType, body: response.content.text };
