// --- an address and what the server says to it
//! result: {"status":404,"ok":false,"title":"Not here","at":"https://shop.example/old-page"}
const page = await browser.open();
await page.route("https://shop.example/**", (route) =>
  route.fulfill({ status: 404, contentType: "text/html", body: "<title>Not here</title>" }));
const response = await page.goto("https://shop.example/old-page");
return { status: response.status(), ok: response.ok(), title: await page.title(), at: page.url() };
