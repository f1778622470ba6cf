// --- a session that is put in, looked at, and taken away
//! result: {"names":["session=17"],"left":0}
const page = await browser.open();
const context = page.context();
await context.addCookies([{ name: "session", value: "17", url: "https://shop.example/" }]);
const names = (await context.cookies("https://shop.example/")).map(({ name, value }) => `${name}=${value}`);
await page.route("https://shop.example/**", (route) => route.fulfill({ contentType: "text/html", body: "" }));
await page.goto("https://shop.example/");
await context.clearCookies({ name: "session" });
return { names, left: (await context.cookies()).length };
