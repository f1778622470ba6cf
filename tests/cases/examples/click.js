// --- a button that is enabled only after a while
//! result: "Ordered"
const page = await browser.open();
await page.setContent(`<button disabled onclick="this.textContent = 'Ordered'">Order</button>
  <script>requestAnimationFrame(() => document.querySelector("button").disabled = false)</script>`);
await page.getByRole("button", { name: "Order" }).click();
return page.textContent("button");
