// --- a login is saved under a name
//! result: {"cookies":["user=ada"],"origins":1}
const page = await browser.open();
await page.route("https://shop.example/**", (route) => route.fulfill({ contentType: "text/html", body: "" }));
await page.goto("https://shop.example/");
await page.evaluate(() => { localStorage.basket = "chair"; document.cookie = "user=ada" });
const { cookies, origins } = await page.context().storageState({ path: "shop" });
return { cookies: cookies.map(({ name, value }) => `${name}=${value}`), origins: origins.length };
