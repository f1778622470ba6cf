// --- a number that the page counts up to
//! result: {"seen":5}
const page = await browser.open();
await page.setContent(`<output>0</output><script>
  const count = () => { if (++document.querySelector("output").value < 5) requestAnimationFrame(count) };
  count();
</script>`);
return page.waitForFunction((least) => {
  const seen = Number(document.querySelector("output").value);
  return seen >= least && { seen };
}, 5);
