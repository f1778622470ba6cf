// --- a list, which no picture shows while it is open, is chosen from by places
//! result: {"asked":["Oak","Pine (sold out)","Beech"],"chosen":["beech"]}
const page = await browser.open();
await page.setContent(`<select>
  <option value="oak">Oak</option><option value="pine" disabled>Pine (sold out)</option><option value="beech">Beech</option>
</select>`);
const opened = page.waitForEvent("select");
await page.mouse.click(20, 20);
const popup = await opened;
const asked = popup.options().map(({ label }) => label);
return { asked, chosen: await popup.select(2) };
