// --- the page behind a login
//! result: "https://shop.example/account"
const page = await browser.open();
await page.route("https://shop.example/**", (route) =>
  route.fulfill({ contentType: "text/html", body: `<button onclick="location = '/account'">Log in</button>` }));
await page.goto("https://shop.example/login");
await page.getByRole("button", { name: "Log in" }).click();
await page.waitForURL("**/account");
return page.url();
