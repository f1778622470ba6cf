// --- all prices of a list
//! result: {"count":3,"total":175.5}
const page = await browser.open();
await page.setContent(`<ul><li>Chair <b>40.00</b><li>Table <b>120.00</b><li>Lamp <b>15.50</b></ul>`);
const prices = (await page.locator("li b").allTextContents()).map(Number);
return { count: await page.locator("li").count(), total: prices.reduce((sum, price) => sum + price, 0) };
