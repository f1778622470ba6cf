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
// --- marks have the colours of the contract, and the arrow stands where it is told to
//! result: {"clickable":[0,128,0],"typeable":[255,140,0],"selected":[0,0,255],"grid":[255,0,0],"arrow":[0,0,0],"left":true}
const page = await browser.open();
await page.setContent(`<body style="margin: 0; background: white"><div style="position: absolute; left: 150px; top: 20px; width: 50px; height: 50px; cursor: pointer" role=button></div>
  <div style="position: absolute; left: 150px; top: 120px; width: 50px; height: 50px" role=textbox></div>
  <div id=focus tabindex=0 style="position: absolute; left: 150px; top: 220px; width: 50px; height: 50px; outline: none"></div>`);
await page.focus('#focus');
const before = await page.content();
const png = await page.screenshot({ markup: ['clickable', 'typeable', 'selected', 'grid'], cursor: { x: 330, y: 330 } });
const left = before === (await page.content());
const bytes = [...png];
// What was painted over white with an opacity, as it would be without.
const colours = await page.evaluate(async (bytes) => {
  const image = await createImageBitmap(new Blob([new Uint8Array(bytes)]));
  const context = new OffscreenCanvas(image.width, image.height).getContext('2d');
  context.drawImage(image, 0, 0);
  const at = (x, y, opacity) => [...context.getImageData(x, y, 1, 1).data.slice(0, 3)].map((part) => Math.round((part - 255 * (1 - opacity)) / opacity));
  return { clickable: at(151, 45, 0.7), typeable: at(151, 145, 0.7), selected: at(152, 245, 0.7), grid: at(300, 250, 0.4), arrow: at(331, 335, 1) };
}, bytes);
const near = (a, b) => a.every((part, at) => Math.abs(part - b[at]) < 12);
const wanted = { clickable: [0, 128, 0], typeable: [255, 140, 0], selected: [0, 0, 255], grid: [255, 0, 0], arrow: [0, 0, 0] };
({ ...Object.fromEntries(Object.entries(colours).map(([name, seen]) => [name, near(seen, wanted[name]) ? wanted[name] : seen])), left })
// --- a mark that there is not
//! error: NOT_INTERACTABLE
//! message: page.screenshot: "everything" is nothing that can be marked
const page = await browser.open();
await page.screenshot({ markup: ['everything'] })
// --- a picture that fails leaves the page its background, and the error is the picture's
//! result: ["CALL_TIMEOUT",true,[255,255,255,255]]
const page = await browser.open('{{site}}/busy');
// As soon as the marks are there, the page is busy for some seconds.
await page.evaluate(() => {
  const busy = () => { for (const until = Date.now() + 4000; Date.now() < until;) ; };
  const observer = new MutationObserver(() => { observer.disconnect(); setTimeout(busy); });
  observer.observe(document, { childList: true, subtree: true });
});
const options = { markup: ['clickable'], omitBackground: true, timeout: 500 };
const error = await page.screenshot(options).catch((error) => error);
const bytes = [...(await page.screenshot())];
const corner = await page.evaluate(async (bytes) => {
  const image = await createImageBitmap(new Blob([new Uint8Array(bytes)]));
  const context = new OffscreenCanvas(image.width, image.height).getContext('2d');
  context.drawImage(image, 0, 0);
  return [...context.getImageData(image.width - 1, image.height - 1, 1, 1).data];
}, bytes);
[error.code, /did not answer (Page.captureScreenshot|Emulation)/.test(error.message), corner]
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
