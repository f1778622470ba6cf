// --- a tab by its title, whichever script opened it
//! result: "data:text/html,<title>Mail</title>"
await browser.open("data:text/html,<title>News</title>");
await browser.open("data:text/html,<title>Mail</title>");
for (const page of await browser.pages()) {
  if ((await page.title()) === "Mail") return page.url();
}
