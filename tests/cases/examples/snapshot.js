// --- see what can be done on a page, and do it by a ref
//! result: "- textbox \"Coupon\" [ref=e2]\n- button \"Pay\" [ref=e3]\nPaid"
const page = await browser.open();
await page.setContent(`<h1>Basket</h1><label>Coupon <input></label>
  <button onclick="document.querySelector('h1').textContent = 'Paid'">Pay</button>`);
const outline = await page.snapshot({ interactive: true });
const [, ref] = outline.match(/button "Pay".*?(e\d+)/);
await page.click(`@${ref}`);
return `${outline}\n${await page.textContent("h1")}`;
