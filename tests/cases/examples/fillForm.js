// --- a whole form at once: texts, a choice and a box
//! result: {"user":"ada","age":"36","plan":"l","news":"on"}
const page = await browser.open();
await page.setContent(`<form><input name="user"><input name="age" type="number">
  <select name="plan"><option value="s">Small<option value="l">Large</select>
  <input name="news" type="checkbox"></form>`);
await page.fill({ "[name=user]": "ada", "[name=age]": 36, "[name=plan]": "Large", "[name=news]": true });
return page.evaluate(() => Object.fromEntries(new FormData(document.forms[0])));
