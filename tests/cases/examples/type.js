// --- a search field that suggests while one types
//! result: "chair, chain"
const page = await browser.open();
await page.setContent(`<input placeholder="Search"><p></p><script>
  const words = ["chair", "chain", "table"];
  document.querySelector("input").oninput = ({ target }) =>
    document.querySelector("p").textContent = words.filter((word) => word.startsWith(target.value)).join(", ");
</script>`);
await page.getByPlaceholder("Search").pressSequentially("chai");
return page.textContent("p");
