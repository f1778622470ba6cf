// --- the data behind a page, as its server sends them
//! result: ["chair","table"]
const page = await browser.open();
await page.route("https://shop.example/**", (route) =>
  route.request().url().endsWith("/items")
    ? route.fulfill({ json: [{ id: 1, name: "chair" }, { id: 2, name: "table" }] })
    : route.fulfill({ contentType: "text/html", body: `<script>fetch("/items")</script>` }));
const [response] = await Promise.all([page.waitForResponse("**/items"), page.goto("https://shop.example/")]);
const items = await response.json();
return items.map(({ name }) => name);
