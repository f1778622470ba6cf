// --- a button that opens a file chooser
//! result: 9
const page = await browser.open();
await page.setContent(`<input type="file" hidden><button onclick="document.querySelector('input').click()">Choose</button>`);
const opened = page.waitForEvent("filechooser");
await page.getByRole("button", { name: "Choose" }).click();
const chooser = await opened;
await chooser.setFiles({ name: "chair.txt", mimeType: "text/plain", buffer: "four legs" });
return page.evaluate(() => document.querySelector("input").files[0].size);
