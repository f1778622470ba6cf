// What comes out of a page: pictures, documents, texts, tables.

// --- a picture of a tab behind others
//! result: [[137,80,78,71],true,[255,216],[82,73,70,70]]
const page = await browser.open('{{site}}/controls');
for (let n = 0; n < 3; n++) await browser.open('{{site}}/leaf');
const png = await page.screenshot();
const jpeg = await page.screenshot({ type: 'jpeg', quality: 50 });
const webp = await page.screenshot({ type: 'webp' });
[[...png.slice(0, 4)], png.length > 3000, [...jpeg.slice(0, 2)], [...webp.slice(0, 4)]]
// --- the whole page, an element, a part
//! result: [true,[200,120],[30,20]]
const page = await browser.open('{{site}}/drag');
await page.evaluate(() => { document.querySelector('#to').style.border = document.querySelector('#to').style.margin = '0'; document.body.style.paddingBottom = '3000px'; });
// Width and height of a PNG stand in its first chunk.
const size = (png) => { const view = new DataView(png.buffer, png.byteOffset); return [view.getUint32(16), view.getUint32(20)]; };
const [, height] = size(await page.screenshot({ fullPage: true }));
[height > 3000, size(await page.locator('#to').screenshot()), size(await page.screenshot({ clip: { x: 5, y: 6, width: 30, height: 20 } }))]
// --- marks are in the picture and not in the page
//! result: [true,true]
const page = await browser.open('{{site}}/controls');
const before = await page.content();
const plain = await page.screenshot();
const marked = await page.screenshot({ markup: ['clickable', 'typeable'] });
[plain.length !== marked.length, before === (await page.content())]
// --- the size of the window
//! result: [[640,480],[640,480],{"width":640,"height":480}]
const page = await browser.open('{{site}}/controls');
await page.setViewportSize({ width: 640, height: 480 });
const png = await page.screenshot();
const view = new DataView(png.buffer, png.byteOffset);
[await page.evaluate(() => [innerWidth, innerHeight]), [view.getUint32(16), view.getUint32(20)], page.viewportSize()]
// --- a PDF
//! result: ["%PDF-",true]
const page = await browser.open('{{site}}/controls');
const pdf = await page.pdf({ format: 'A4' });
[String.fromCharCode(...pdf.slice(0, 5)), pdf.length > 3000]
// --- what one reads, as Markdown
//! result: "# Lamps\n\nAll **about** [lamps](/controls).\n\n- bright\n- dim\n\n```\nlight()\n```\n\n| Name | Price |\n| --- | --- |\n| Desk | 5 |\n| Floor | 7 |"
const page = await browser.open('{{site}}/article');
(await page.markdown()).replaceAll('{{site}}', '')
// --- the text
//! result: "Lamps\n\nAll about lamps.\n\nbright\ndim\nlight()\nName\tPrice\nDesk\t5\nFloor\t7"
const page = await browser.open('{{site}}/article');
await page.text('main')
// --- a table as rows
//! result: [{"Name":"Desk","Price":"5"},{"Name":"Floor","Price":"7"}]
const page = await browser.open('{{site}}/article');
await page.table()
// --- tables with spans, without headers, and of roles
//! result: [[{"Name":"Desk","Price Net":"5","Price Gross":"6"},{"Name":"Floor","Price Net":"Floor","Price Gross":"8"}],[["a","b"],["c","d"]],[{"City":"Bern","Land":"CH"}]]
const page = await browser.open('{{site}}/table');
[await page.table('#spans'), await page.table('#bare'), await page.table('#roles')]
// --- what is no table
//! error: NOT_INTERACTABLE
//! message: /(?s)^page\.table: /
const page = await browser.open('{{site}}/article');
await page.table('h1')
// --- the source, and another one in its place
//! result: [true,"Other","set"]
const page = await browser.open('{{site}}/leaf');
const source = await page.content();
await page.setContent('<!doctype html><title>Other</title><p>set</p>');
[source.includes('<title>Leaf</title>') && source.includes('>Leaf</button>'), await page.title(), await page.textContent('p')]
