// --- go back to the first of two tabs
//! result: ["First","visible"]
const page = await browser.open("data:text/html,<title>First</title>");
await browser.open("data:text/html,<title>Second</title>");
await page.bringToFront();
return page.evaluate(() => [document.title, document.visibilityState]);
