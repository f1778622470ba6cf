// --- a page that counts stands still while it is looked at
//! result: {"frozen":true,"stands":true,"goesOn":true}
const page = await browser.open();
await page.setContent(`<p>0</p><script>setInterval(() => { document.querySelector("p").textContent++; }, 10);</script>`);
const { paused } = await page.freeze();
const before = await page.text();
await page.waitForTimeout(100);
const after = await page.text();
await page.thaw();
await page.waitForFunction((before) => document.querySelector("p").textContent !== before, before);
return { frozen: paused, stands: before === after, goesOn: !(await page.isFrozen()) };
