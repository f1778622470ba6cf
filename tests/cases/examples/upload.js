// --- a file that the script makes
//! result: "people.csv: name Ada"
const page = await browser.open();
await page.setContent(`<input type="file" onchange="this.files[0].text().then((text) =>
  document.querySelector('p').textContent = this.files[0].name + ': ' + text)"><p></p>`);
await page.setInputFiles("input", { name: "people.csv", mimeType: "text/csv", buffer: "name\nAda\n" });
await page.getByText("people.csv").waitFor();
return page.innerText("p");
