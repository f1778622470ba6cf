// --- the page as a phone has it
//! result: {"wide":false,"narrow":true}
const page = await browser.open();
await page.setContent(`<style>nav { display: none } @media (max-width: 600px) { nav { display: block } }</style><nav>☰</nav>`);
const menu = page.locator("nav");
await page.setViewportSize({ width: 1200, height: 800 });
const wide = await menu.isVisible();
await page.setViewportSize({ width: 390, height: 844 });
return { wide, narrow: await menu.isVisible() };
