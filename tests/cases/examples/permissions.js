// --- a page that wants to know where it is
//! result: {"before":"prompt","after":"granted"}
const page = await browser.open();
await page.route("https://shop.example/**", (route) => route.fulfill({ contentType: "text/html", body: "" }));
await page.goto("https://shop.example/");
const state = () => page.evaluate(async () => (await navigator.permissions.query({ name: "geolocation" })).state);
const before = await state();
await page.context().grantPermissions(["geolocation"], { origin: "https://shop.example" });
return { before, after: await state() };
