// --- close the tabs that are not needed any more
//! result: {"left":1,"title":"Keep me"}
const page = await browser.open("data:text/html,<title>Keep me</title>");
await browser.open("data:text/html,<title>Advertisement</title>");
for (const other of await browser.pages()) {
  if (other !== page) await other.close();
}
const left = await browser.pages();
return { left: left.length, title: await left[0].title() };
