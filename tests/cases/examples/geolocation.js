// --- the nearest shop from a place in Paris
//! result: [48.8566,2.3522]
const page = await browser.open();
await page.route("https://shop.example/**", (route) => route.fulfill({ contentType: "text/html", body: "" }));
await page.goto("https://shop.example/");
await page.context().grantPermissions(["geolocation"]);
await page.context().setGeolocation({ latitude: 48.8566, longitude: 2.3522, accuracy: 10 });
return page.evaluate(() => new Promise((resolve, reject) =>
  navigator.geolocation.getCurrentPosition(({ coords }) => resolve([coords.latitude, coords.longitude]), reject)));
