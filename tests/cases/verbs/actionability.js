// What must hold before an input, on pages where it does not hold at first.

// --- disabled, then enabled
//! result: "disabled;"
const page = await browser.open('{{site}}/late');
await page.evaluate(() => void begin.disabled());
await page.click('#disabled');
await page.textContent('#log')
// --- hidden, then shown
//! result: "hidden;"
const page = await browser.open('{{site}}/late');
await page.evaluate(() => void begin.hidden());
await page.click('#hidden');
await page.textContent('#log')
// --- covered, then uncovered
//! result: "covered;"
const page = await browser.open('{{site}}/late');
await page.evaluate(() => { begin.covered(); begin.uncovered(); });
await page.click('#covered');
await page.textContent('#log')
// --- read-only, then not
//! result: "typed"
const page = await browser.open('{{site}}/late');
await page.evaluate(() => void begin.readonly());
await page.fill('#readonly', 'typed');
await page.inputValue('#readonly')
// --- moving, then still
//! result: ["moving;",true]
const page = await browser.open('{{site}}/late');
await page.evaluate(() => begin.moving());
await page.click('#moving');
[await page.textContent('#log'), await page.evaluate(() => document.getAnimations().length === 0)]
// --- a list that is rendered again and again
//! result: "two of rendering 15;"
const page = await browser.open('{{site}}/late');
await page.evaluate(() => void begin.rendering(15));
await page.getByRole('button', { name: 'take two' }).click();
await page.textContent('#log')
// --- it stays disabled
//! error: NOT_INTERACTABLE
//! message: /(?s)^locator\.click: Timeout 300ms exceeded.*not enabled/
//! hint: /./
const page = await browser.open('{{site}}/late');
await page.locator('#disabled').click({ timeout: 300 })
// --- it stays hidden
//! error: NOT_INTERACTABLE
//! message: /(?s)^page\.click: Timeout 300ms exceeded.*not visible/
const page = await browser.open('{{site}}/late');
await page.click('#hidden', { timeout: 300 })
// --- it stays covered, and the error says by what
//! error: NOT_INTERACTABLE
//! message: /(?s)<b id="spinner">Please wait<\/b> from <div id="cover">…<\/div> subtree intercepts pointer events/
const page = await browser.open('{{site}}/late');
await page.evaluate(() => begin.covered());
await page.locator('#covered').click({ timeout: 300 })
// --- it stays read-only
//! error: NOT_INTERACTABLE
//! message: /(?s)^locator\.fill: Timeout 300ms exceeded.*not editable/
const page = await browser.open('{{site}}/late');
await page.locator('#readonly').fill('typed', { timeout: 300 })
// --- trial does all but the click, force does the click whatever is in the way
//! result: ["","covered;","cover"]
const page = await browser.open('{{site}}/late');
const log = () => page.textContent('#log');
await page.click('#covered', { trial: true });
const tried = await log();
await page.click('#covered');
const clicked = await log();
await page.evaluate(() => { begin.covered(); document.querySelector('#cover').onclick = () => (document.title = 'cover'); });
await page.click('#covered', { force: true });
[tried, clicked, await page.title()]
// --- under a sticky header and a footer
//! result: "Item 150;Item 20;Item 199;Item 0;Item 60;"
const page = await browser.open('{{site}}/sticky');
for (const n of [150, 20, 199, 0, 60]) await page.getByRole('button', { name: `Item ${n}`, exact: true }).click();
await page.textContent('#log')
// --- the header stands over an element that lies in view
//! result: "Item 10;"
const page = await browser.open('{{site}}/sticky');
await page.evaluate(() => scrollTo(0, document.querySelectorAll('li')[10].offsetTop - 50));
await page.getByRole('button', { name: 'Item 10', exact: true }).click();
await page.textContent('#log')
// --- an element in a box that scrolls by itself
//! result: "clicked"
const page = await browser.open('about:blank');
await page.setContent(`<div style="height: 100px; overflow: auto"><div style="height: 90px; overflow: hidden auto"><div style="height: 2000px"></div>
  <button onclick="document.title = 'clicked'">Deep</button></div><div style="height: 900px"></div></div>`);
await page.getByRole('button', { name: 'Deep' }).click();
await page.title()
// --- an element that no scrolling brings into view
//! error: NOT_INTERACTABLE
//! message: /(?s)outside of the viewport/
const page = await browser.open('about:blank');
await page.setContent('<button style="position: fixed; left: -500px">Away</button>');
await page.getByRole('button').click({ timeout: 300 })
// --- an element that leaves the page during the wait
//! error: ELEMENT_NOT_FOUND
//! message: /(?s)Timeout 1500ms exceeded/
const page = await browser.open('{{site}}/late');
const click = page.locator('#disabled').click({ timeout: 1500 });
click.catch(() => null);
await page.evaluate(() => document.querySelector('#disabled').remove());
await click
// --- an element that goes when the mouse comes, and another in its place
//! result: "second"
const page = await browser.open('about:blank');
await page.setContent(`<div id="place"><button>Go</button></div><script>
  document.querySelector('button').onmouseover = () => {
    place.innerHTML = '<button>Go</button>';
    document.querySelector('button').onclick = () => (document.title = 'second');
  }</script>`);
await page.getByRole('button', { name: 'Go' }).click();
await page.title()
// --- waiting for each state
//! result: ["visible","attached","hidden","detached"]
const page = await browser.open('{{site}}/late');
const seen = [];
const when = async (state, locator, change) => {
  const waiting = locator.waitFor({ state });
  await page.evaluate(change);
  await waiting;
  seen.push(state);
};
const hidden = page.locator('#hidden');
await when('visible', hidden, () => void begin.hidden());
await when('attached', page.locator('#new'), () => { document.querySelector('#log').innerHTML = '<i id="new" hidden>'; });
await when('hidden', hidden, () => { document.querySelector('#hidden').hidden = true; });
await when('detached', hidden, () => document.querySelector('#hidden').remove());
seen
// --- a state that does not come
//! result: [["ELEMENT_NOT_FOUND",true],["NOT_INTERACTABLE",true],["NOT_INTERACTABLE",true]]
const page = await browser.open('{{site}}/late');
const outcomes = [];
for (const [selector, state] of [['#none', 'attached'], ['#hidden', 'visible'], ['#moving', 'hidden']]) {
  const error = await page.waitForSelector(selector, { state, timeout: 200 }).catch((error) => error);
  outcomes.push([error.code, error.message.startsWith('page.waitForSelector: Timeout 200ms exceeded')]);
}
outcomes
// --- scrolling into view
//! result: true
const page = await browser.open('{{site}}/sticky');
const item = page.getByRole('button', { name: 'Item 120' });
const before = (await item.boundingBox()).y;
await item.scrollIntoViewIfNeeded();
const { y } = await item.boundingBox();
before > 1000 && y > 0 && y < 800
