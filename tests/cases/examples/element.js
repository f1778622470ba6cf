// --- the end of a long page, and an emptied field
//! result: {"scrolled":true,"value":""}
const page = await browser.open();
await page.setContent(`<input value="old"><p style="margin-top: 3000px">The end</p>`);
await page.getByText("The end").scrollIntoViewIfNeeded();
const scrolled = await page.evaluate(() => scrollY > 1000);
await page.locator("input").clear();
return { scrolled, value: await page.inputValue("input") };
