// --- the end of a spinner
//! result: "3 results"
const page = await browser.open();
await page.setContent(`<div id="spinner">Loading</div><script>
  requestAnimationFrame(() => { spinner.remove(); document.body.append("3 results") })
</script>`);
await page.locator("#spinner").waitFor({ state: "hidden" });
return page.innerText("body");
