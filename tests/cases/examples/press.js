// --- send a form with Enter
//! result: "sent: chairs"
const page = await browser.open();
await page.setContent(`<form onsubmit="document.title = 'sent: ' + this.q.value; return false"><input name="q"></form>`);
await page.fill("[name=q]", "chairs");
await page.press("[name=q]", "Enter");
return page.title();
