// --- an article to read, and its table as data
//! result: {"article":"As of **May**, see [the shop](https://shop.example/).","prices":[{"Item":"Chair","Price":"40"},{"Item":"Table","Price":"120"}]}
const page = await browser.open();
await page.setContent(`<main><h1>Prices</h1><p>As of <b>May</b>, see <a href="https://shop.example/">the shop</a>.</p>
  <table><tr><th>Item<th>Price</tr><tr><td>Chair<td>40</tr><tr><td>Table<td>120</tr></table></main>`);
return { article: await page.markdown("p"), prices: await page.table() };
