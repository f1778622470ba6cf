// --- a prompt gets its text
//! result: "chair 2"
const page = await browser.open();
await page.setContent(`<button onclick="this.textContent = prompt('New name', 'chair')">Rename</button>`);
page.on("dialog", (dialog) => dialog.accept(`${dialog.defaultValue()} 2`));
await page.click("button");
return page.textContent("button");
