// --- give a page a source, and read what became of it
//! result: true
const page = await browser.open();
await page.setContent(`<p id="greeting"></p><script>greeting.textContent = "Hello"</script>`);
const html = await page.content();
return html.includes(`<p id="greeting">Hello</p>`);
