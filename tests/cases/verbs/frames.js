// Frames of the same origin and of other processes, on `tests/site/frames.html`.

// --- elements in a frame of this origin, and of another process
//! result: ["click true ","click true ","Inside"]
const page = await browser.open('{{site}}/frames');
const near = page.frameLocator('[name=near]');
const far = page.frameLocator('#far');
await near.getByRole('button', { name: 'Inside' }).click();
await far.getByRole('button', { name: 'Inside' }).click();
[await near.locator('#log').textContent(), await far.locator('#log').textContent(), await far.locator('button').innerText()]
// --- a frame in the frame of another process
//! result: ["click true ","typed",true]
const page = await browser.open('{{site}}/frames');
const deep = page.locator('#far').contentFrame().frameLocator('iframe[name=deep]');
await deep.getByRole('button').click();
await deep.getByLabel('Text').fill('typed');
await deep.getByLabel('Box').check();
[await deep.locator('#log').textContent(), await deep.getByLabel('Text').inputValue(), await deep.getByLabel('Box').isChecked()]
// --- keys go to the frame's field
//! result: ["ab👍","typed key by key"]
const page = await browser.open('{{site}}/frames');
const field = page.frameLocator('#far').getByLabel('Text');
await field.pressSequentially('ab👍');
const near = page.frameLocator('[name=near]').getByLabel('Text');
await near.click();
await page.keyboard.type('typed key by key');
[await field.inputValue(), await near.inputValue()]
// --- the list of frames, and one by its name or url
//! result: [4,["","deep","far","near"],"Inner","Inner",true,null]
const page = await browser.open('{{site}}/frames');
await page.frameLocator('#far').frameLocator('iframe').getByRole('button').waitFor();
const frames = await page.frames();
const byUrl = await page.frame({ url: /far&deep/ });
[
  frames.length, frames.map((frame) => frame.name()).sort(), await page.frame('near').evaluate(() => document.title),
  await byUrl.title(), (await byUrl.evaluate(() => location.origin)) === '{{other}}', await page.frame({ url: '**/none' }),
]
// --- verbs of a frame
//! result: ["typed","click true ",true,1]
const page = await browser.open('{{site}}/frames');
const frame = await page.frame({ url: '**/inner?far*' });
await frame.fill('input', 'typed');
await frame.click('button');
await frame.check('[type=checkbox]');
[await frame.inputValue('input'), await frame.textContent('#log'), await frame.isChecked('[type=checkbox]'), await frame.getByText('Inside').count()]
// --- what is a frame and what is not
//! error: NOT_INTERACTABLE
//! message: /^locator\.click: An <iframe> was expected: <button/
const page = await browser.open('{{site}}/frames');
await page.frameLocator('button').getByRole('button').click({ timeout: 1000 })
// --- a frame that something of its page covers
//! error: NOT_INTERACTABLE
//! message: /(?s)<div id="veil"><\/div> .*intercepts pointer events/
const page = await browser.open('{{site}}/frames');
await page.evaluate(() => document.body.insertAdjacentHTML('beforeend', '<div id="veil" style="position: fixed; inset: 0"></div>'));
await page.frameLocator('#far').getByRole('button', { name: 'Inside' }).click({ timeout: 1000 })
// --- two frames of one locator
//! error: MULTIPLE_MATCHES
//! message: /(?s)<iframe name="near"/
const page = await browser.open('{{site}}/frames');
await page.frameLocator('iframe').getByRole('button').click({ timeout: 1000 })
// --- a frame that comes later, and one that goes
//! result: ["Clicked","ELEMENT_NOT_FOUND"]
const page = await browser.open('{{site}}/leaf');
const button = page.frameLocator('iframe').getByRole('button');
const clicked = button.click();
await page.evaluate((src) => { const frame = document.createElement('iframe'); frame.src = src; document.body.append(frame); }, '{{other}}/leaf');
await clicked;
const text = await button.textContent();
await page.evaluate(() => document.querySelector('iframe').remove());
const error = await button.click({ timeout: 300 }).catch((error) => error);
[text, error.code]
// --- a frame that goes elsewhere
//! result: ["Leaf","Inside"]
const page = await browser.open('{{site}}/leaf');
await page.setContent('<iframe src="{{other}}/leaf"></iframe>');
const button = page.frameLocator('iframe').getByRole('button');
const before = await button.textContent();
await page.evaluate((src) => { document.querySelector('iframe').src = src; }, '{{site}}/inner');
await page.frameLocator('iframe').getByText('Inside').click();
[before, await button.textContent()]
// --- nothing is waited for to see that a frame is not there
//! result: [false,true,0,[]]
const page = await browser.open('{{site}}/leaf');
const inner = page.frameLocator('#none').getByRole('button');
const begun = Date.now();
const seen = [await inner.isVisible(), await inner.isHidden(), await inner.count(), await inner.allTextContents()];
await inner.waitFor({ state: 'hidden' });
await inner.waitFor({ state: 'detached' });
if (Date.now() - begun > 10_000) throw new Error('it waited');
seen
// --- an element goes with its frame
//! result: null
const page = await browser.open('{{site}}/frames');
const button = page.frameLocator('[name=near]').getByRole('button', { name: 'Inside' });
await button.waitFor();
const gone = button.waitFor({ state: 'hidden', timeout: 10_000 });
await page.evaluate(() => document.querySelector('[name=near]').remove());
await gone;
null
// --- an action goes on in the frame that takes a frame's place
//! result: "click true "
const page = await browser.open('{{site}}/frames');
await page.frameLocator('[name=near]').locator('#log').waitFor({ state: 'attached' });
const late = page.frameLocator('[name=near]').locator('#late').click();
await page.evaluate((src) => {
  document.querySelector('[name=near]').remove();
  document.body.insertAdjacentHTML('beforeend', `<iframe name="near" src="${src}"></iframe>`);
}, '{{site}}/inner');
await page.frameLocator('[name=near]').getByRole('button', { name: 'Inside' }).evaluate((button) => { button.id = 'late'; });
await late;
await page.frameLocator('[name=near]').locator('#log').textContent()
// --- verbs that are the first in a frame at the same time
//! result: "Inside"
const page = await browser.open('{{site}}/frames');
const near = page.frameLocator('[name=near]');
const seen = [];
for (let round = 0; round < 5; round++) {
  // Until the new document is there: of a function that runs in the old one nobody knows what it has done.
  await page.evaluate(() => new Promise((resolve) => {
    const frame = document.querySelector('[name=near]');
    frame.addEventListener('load', () => resolve(), { once: true });
    frame.contentWindow.location.reload();
  }));
  seen.push(...await Promise.all(Array.from({ length: 8 }, () => near.getByRole('button').evaluate((button) => button.textContent))));
}
[...new Set(seen)].join()
// --- two frames of one locator, by the locator of the frame
//! error: MULTIPLE_MATCHES
//! message: /^locator\.click: strict mode violation: locator\('iframe'\) resolved to/
const page = await browser.open('{{site}}/frames');
await page.frameLocator('iframe').getByRole('button').click({ timeout: 1000 })
// --- one or the other of one frame
//! result: ["Inside","Inside"]
const page = await browser.open('{{site}}/frames');
const near = page.frameLocator('[name=near]');
[
  await near.locator('table').or(near.getByRole('button', { name: 'Inside' })).textContent(),
  await near.locator('button').and(near.getByText('Inside')).textContent(),
]
// --- one or the other of two frames
//! error: INVALID_SELECTOR
//! message: /Frame locators are not allowed inside composite locators, while querying "locator\('table'\)\.or\(/
const page = await browser.open('{{site}}/frames');
await page.locator('table').or(page.frameLocator('[name=near]').locator('button')).textContent()
// --- a frame below what the window shows
//! result: "Clicked"
const page = await browser.open('{{site}}/leaf');
await page.setContent('<div style="height: 4000px"></div><iframe src="{{other}}/leaf"></iframe>');
const button = page.frameLocator('iframe').getByRole('button');
await button.click();
await button.textContent()
// --- a frame object whose frame has left
//! error: ELEMENT_NOT_FOUND
//! message: /^frame\.click: Frame was detached/
const page = await browser.open('{{site}}/frames');
const frame = await page.frame({ url: '**/inner*near*' }) ?? (await page.frames()).find((frame) => frame.name() === 'near');
await page.evaluate(() => document.querySelector('[name=near]').remove());
await frame.click('button', { timeout: 3000 })
// --- frames that are scaled, rotated or turned in space, of this process and of others: each click hits a point of three pixels
//! result: [[1,1,1],[1,1,1],[1,1,1],[1,1,1],[1,1,1]]
const page = await browser.open('{{site}}/leaf');
const hit = async (frame) => {
  const button = frame.getByRole('button', { name: 'Inside' });
  await button.evaluate((button) => {
    button.style.cssText = 'position: fixed; left: 220px; top: 130px; width: 3px; height: 3px; padding: 0; border: 0';
    button.onclick = () => { document.title = String(Number(document.title) + 1 || 1); };
  });
  await button.click({ timeout: 10_000 });
  return Number(await button.evaluate(() => document.title));
};
const looks = [
  'transform: scale(0.6)', 'transform: translate(60px, 40px) rotate(35deg)', 'rotate: 180deg; scale: 1.2 0.7', 'zoom: 1.5',
  'transform: perspective(500px) rotateY(40deg) rotateX(15deg)',
];
const hits = [];
for (const look of looks) {
  const style = `margin: 40px 0 0 90px; border: 7px solid; padding: 5px 3px; width: 330px; height: 260.5px; box-sizing: border-box; ${look}`;
  await page.setContent(['{{site}}/inner', '{{other}}/inner?deep'].map((src) => `<iframe src="${src}" style="${style}"></iframe>`).join(''));
  const [near, far] = [0, 1].map((index) => page.locator('iframe').nth(index).contentFrame());
  await far.locator('iframe').evaluate((frame) => {
    frame.style.cssText = 'position: fixed; left: 20px; top: 20px; width: 250px; height: 180px; transform: rotate(-20deg) scale(0.9)';
  });
  const deep = await hit(far.frameLocator('iframe'));
  await far.locator('iframe').evaluate((frame) => frame.remove());
  hits.push([await hit(near), await hit(far), deep]);
}
hits
// --- where an element in a frame on its head is, and what covers a frame that is turned
//! result: [[90,130,100,50],"NOT_INTERACTABLE",true]
const page = await browser.open('{{site}}/leaf');
const button = 'position: fixed; left: 10px; top: 20px; width: 100px; height: 50px';
await page.setContent(`<style>body { margin: 0 } iframe { border: 0; width: 200px; height: 200px; rotate: 180deg }</style>
  <iframe srcdoc="<button style='${button}'>Inside</button>"></iframe>`);
const inside = page.frameLocator('iframe').getByRole('button');
const { x, y, width, height } = await inside.boundingBox();
await page.evaluate(() => document.body.insertAdjacentHTML('beforeend', '<p id="over" style="position: fixed; margin: 0; left: 90px; top: 130px; width: 100px; height: 50px"></p>'));
const error = await inside.click({ timeout: 500 }).catch((error) => error);
[[x, y, width, height].map(Math.round), error.code, /<p id="over"><\/p> .*intercepts/.test(error.message)]
// --- a frame of another process goes while a function runs in it: the page is there
//! result: ["ELEMENT_NOT_FOUND","Frame was detached: it is not in the page any more",false,2]
const page = await browser.open('{{site}}/leaf');
await page.setContent('<iframe src="{{other}}/leaf?gone"></iframe>');
await page.frameLocator('iframe').locator('body').waitFor();
const frame = await page.frame({ url: '**/leaf?gone' });
const lost = frame.evaluate(() => { globalThis.began = true; return new Promise(() => {}); }).catch((error) => error);
await frame.waitForFunction('globalThis.began');
await page.evaluate(() => document.querySelector('iframe').remove());
const { code, message } = await lost;
[code, message.replace(/^frame\.evaluate: /, ''), page.isClosed(), await page.evaluate('1 + 1')]
