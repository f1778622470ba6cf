// --- a page that always sees the same date
//! result: "2026"
const page = await browser.open();
await page.addInitScript((now) => { Date.now = () => now }, 1767225600000);
await page.route("https://shop.example/**", (route) => route.fulfill({
  contentType: "text/html",
  body: `<p></p><script>document.querySelector("p").textContent = new Date(Date.now()).getUTCFullYear()</script>`,
}));
await page.goto("https://shop.example/");
return page.textContent("p");
