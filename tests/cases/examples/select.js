// --- options by their labels
//! result: {"country":["fr"],"colours":["red","blue"]}
const page = await browser.open();
await page.setContent(`<label>Country <select><option value="de">Germany<option value="fr">France</select></label>
  <label>Colours <select multiple><option>red<option>green<option>blue</select></label>`);
return {
  country: await page.getByLabel("Country").selectOption("France"),
  colours: await page.getByLabel("Colours").selectOption(["red", "blue"]),
};
