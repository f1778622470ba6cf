// --- which requests of a page failed
//! result: ["GET https://shop.example/lost.js 404"]
const page = await browser.open();
await page.route("https://shop.example/**", (route) => {
  const { pathname } = new URL(route.request().url());
  if (pathname === "/") return route.fulfill({ contentType: "text/html", body: `<script src="/lost.js"></script>` });
  return route.fulfill({ status: 404, body: "" });
});
await page.goto("https://shop.example/");
const requests = await page.network({ status: 404, url: /\.js$/ });
return requests.map(({ method, url, status }) => `${method} ${url} ${status}`);
