// --- fields by their labels
//! result: ["Ada","Hello,\nis the chair still there?"]
const page = await browser.open();
await page.setContent(`<label>Name <input></label> <label>Message <textarea>old text</textarea></label>`);
await page.getByLabel("Name").fill("Ada");
await page.getByLabel("Message").fill("Hello,\nis the chair still there?");
return [await page.inputValue("input"), await page.inputValue("textarea")];
