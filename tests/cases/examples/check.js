// --- accept the terms, and no newsletter
//! result: {"terms":true,"news":false}
const page = await browser.open();
await page.setContent(`<label><input type="checkbox"> I accept the terms</label>
  <label><input type="checkbox" checked> Send me news</label>`);
const terms = page.getByLabel("I accept the terms"), news = page.getByLabel("Send me news");
await terms.check();
await news.uncheck();
return { terms: await terms.isChecked(), news: await news.isChecked() };
