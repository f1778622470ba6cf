// --- what a site keeps in the browser
//! result: {"cookies":["theme=dark"],"origins":[{"origin":"https://shop.example","localStorage":[{"name":"basket","value":"chair"}]}]}
const page = await browser.open();
await page.route("https://shop.example/**", (route) => route.fulfill({ contentType: "text/html", body: "" }));
await page.goto("https://shop.example/");
await page.evaluate(() => { localStorage.basket = "chair"; document.cookie = "theme=dark" });
const { cookies, origins } = await page.context().storageState();
return { cookies: cookies.map(({ name, value }) => `${name}=${value}`), origins };
