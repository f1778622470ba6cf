// --- what one element says, has and is
//! result: {"text":"A chair","href":"/chair","html":"A <b>chair</b>","canBuy":false,"sale":false}
const page = await browser.open();
await page.setContent(`<a href="/chair" title="More">A <b>chair</b></a> <button disabled>Buy</button>`);
const link = page.getByRole("link");
return {
  text: await link.textContent(),
  href: await link.getAttribute("href"),
  html: await link.innerHTML(),
  canBuy: await page.getByRole("button", { name: "Buy" }).isEnabled(),
  sale: await page.getByText("Sale").isVisible(),
};
