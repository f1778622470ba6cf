// --- what a page writes to its console, as it comes
//! result: ["warning: stock is low","uncaught: missing is not defined"]
const page = await browser.open();
const lines = [];
page.on("console", (message) => lines.push(`${message.type()}: ${message.text()}`));
page.on("pageerror", (error) => lines.push(`uncaught: ${error.message}`));
await page.setContent(`<button onclick="console.warn('stock is low'); missing.total()">Pay</button>`);
const thrown = page.waitForEvent("pageerror");
await page.click("button");
await thrown;
return lines;
