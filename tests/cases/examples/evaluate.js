// --- ask the page for what it knows, in one call
//! result: ["Chair","Lamp"]
const page = await browser.open();
await page.setContent(`<ul><li data-price="40">Chair<li data-price="120">Table<li data-price="15">Lamp</ul>`);
return page.evaluate((most) => {
  const rows = [...document.querySelectorAll("li")].map((item) => [item.textContent, Number(item.dataset.price)]);
  return rows.filter(([, price]) => price <= most).map(([name]) => name);
}, 50);
