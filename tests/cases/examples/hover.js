// --- a menu that shows only under the mouse
//! result: {"before":false,"items":["Chairs","Tables"]}
const page = await browser.open();
await page.setContent(`<style>ul { display: none } nav:hover ul { display: block }</style>
  <nav>Products<ul><li>Chairs</li><li>Tables</li></ul></nav>`);
const before = await page.getByText("Chairs").isVisible();
await page.hover("nav");
return { before, items: await page.locator("li").allInnerTexts() };
