// --- a server that asks the browser itself for name and password
//! result: "Invoices of ada"
const site = "{{site}}";
const page = await browser.open(`${site}/invoices`, {
  httpCredentials: { username: "ada", password: "lovelace" },
});
return page.innerText("body");
