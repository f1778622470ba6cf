// --- which frames a page has, and what is in one of them
//! result: "Pay 40.00"
const page = await browser.open();
await page.setContent(`<h1>Checkout</h1><iframe name="pay" srcdoc="<button>Pay 40.00</button>"></iframe>`);
const pay = (await page.frames()).find((frame) => frame.name() === "pay");
return pay.locator("button").textContent();
