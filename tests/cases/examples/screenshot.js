// --- a picture of one element; returned from a script it is shown
//! result: {"kind":"PNG","width":300,"height":120}
const page = await browser.open();
await page.setContent(`<div id="chart" style="width: 300px; height: 120px; background: teal"></div>`);
const png = await page.locator("#chart").screenshot();
const size = new DataView(png.buffer, png.byteOffset);
return { kind: new TextDecoder().decode(png.slice(1, 4)), width: size.getUint32(16), height: size.getUint32(20) };
