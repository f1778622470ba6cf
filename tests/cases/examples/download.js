// --- the file behind a link, as bytes
//! result: {"name":"prices.csv","rows":[["item","price"],["chair","40"]]}
const page = await browser.open();
await page.setContent(`<a download="prices.csv" href="data:text/csv,item,price%0Achair,40">Prices</a>`);
const begun = page.waitForEvent("download");
await page.getByRole("link", { name: "Prices" }).click();
const download = await begun;
const text = new TextDecoder().decode(await download.bytes());
return { name: download.suggestedFilename(), rows: text.split("\n").map((row) => row.split(",")) };
