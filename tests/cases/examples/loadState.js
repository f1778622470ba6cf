// --- a login that was saved is there before the page is
//! result: {"user":"user=ada","basket":"chair"}
const shop = (page) => page.route("https://shop.example/**", (route) => route.fulfill({ contentType: "text/html", body: "" }));
const before = await browser.open();
await shop(before);
await before.goto("https://shop.example/");
await before.evaluate(() => { localStorage.basket = "chair"; document.cookie = "user=ada" });
await before.context().storageState({ path: "shop" });
await before.evaluate(() => { localStorage.clear(); document.cookie = "user=; max-age=0" });
const page = await browser.open("about:blank", { storageState: "shop" });
await shop(page);
await page.goto("https://shop.example/");
return page.evaluate(() => ({ user: document.cookie, basket: localStorage.basket }));
