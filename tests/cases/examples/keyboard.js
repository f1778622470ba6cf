// --- select everything in an editor and write over it
//! result: "A new one ✓"
const page = await browser.open();
await page.setContent(`<div contenteditable>An old sentence.</div>`);
await page.click("div");
await page.keyboard.press("Control+A");
await page.keyboard.type("A new one");
await page.keyboard.insertText(" ✓");
return page.innerText("div");
