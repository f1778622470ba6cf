// --- an event that a widget of the page waits for
//! result: "has something"
const page = await browser.open();
await page.setContent(`<div id="cart">empty</div><script>
  document.querySelector("#cart").addEventListener("cart:add", (event) => event.target.textContent = "has something");
</script>`);
await page.dispatchEvent("#cart", "cart:add", { bubbles: true });
return page.textContent("#cart");
