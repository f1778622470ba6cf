// --- a question that the page asks is held until the script answers
//! result: {"asked":"Delete it?","button":"deleted"}
const page = await browser.open();
await page.setContent(`<button onclick="this.textContent = confirm('Delete it?') ? 'deleted' : 'kept'">Delete</button>`);
let asked;
page.once("dialog", (dialog) => {
  asked = dialog.message();
  return dialog.accept();
});
await page.click("button");
return { asked, button: await page.textContent("button") };
