// --- what went wrong on a page, after the fact
//! result: ["log: paying","error: ReferenceError: missing is not defined"]
const page = await browser.open();
await page.setContent(`<button onclick="console.log('paying'); missing.total()">Pay</button>`);
await page.click("button");
const lines = await page.console();
return lines.map(({ level, text }) => `${level}: ${text.split("\n")[0]}`);
