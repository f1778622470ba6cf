// Popups of lists, which are told and answered instead of opened, on `tests/site/lists.html`.

// --- what is told of a list, and what is chosen
//! result: [false,[{"index":0,"label":"Apple","selected":false,"disabled":false},{"index":1,"label":"Blood orange","selected":true,"disabled":false},{"index":2,"label":"Cherry","selected":false,"disabled":true},{"index":3,"label":"Date","selected":false,"disabled":true},{"index":4,"label":"Elder","selected":false,"disabled":true},{"index":5,"label":"Fig","selected":false,"disabled":false}],["f"],"fruit:input fruit:change ",true,false]
const page = await browser.open('{{site}}/lists');
const opening = page.waitForEvent('select');
await page.click('#fruit');
const popup = await opening;
const isFocused = await page.evaluate(() => document.activeElement.id === 'fruit');
const value = await popup.select(5);
[popup.isMultiple(), popup.options(), value, await page.textContent('#log'), isFocused, await page.evaluate(() => fruit.matches(':open'))]
// --- the same again is no change, and neither is a popup that is closed
//! result: [["b"],"",""]
const page = await browser.open('{{site}}/lists');
const opened = async () => { const opening = page.waitForEvent('select'); await page.click('#fruit'); return opening; };
const value = await (await opened()).select([1]);
const seen = await page.textContent('#log');
await (await opened()).cancel();
[value, seen, await page.textContent('#log')]
// --- what cannot be chosen; the popup stays
//! result: ["option 3 cannot be chosen: it is disabled","option 2 cannot be chosen: it is disabled","option 4 cannot be chosen: it is disabled","there is no option 9: the list has 6","of this list one option can be chosen","an option must be chosen",["a"]]
const page = await browser.open('{{site}}/lists');
const opening = page.waitForEvent('select');
await page.click('#fruit');
const popup = await opening;
const refused = [];
for (const wrong of [3, 2, 4, 9, [0, 1], []]) await popup.select(wrong).catch(({ code, message }) => refused.push(code === 'NOT_INTERACTABLE' ? message.split('\n').at(-1) : code));
[...refused, await popup.select(0)]
// --- a popup is answered once, and is closed by another one, by a click elsewhere, and with its document
//! result: ["ELEMENT_NOT_FOUND","ELEMENT_NOT_FOUND","ELEMENT_NOT_FOUND","ELEMENT_NOT_FOUND"]
const page = await browser.open('{{site}}/lists');
const opened = async (selector) => {
  const opening = page.waitForEvent('select');
  await page.click(selector);
  return opening;
};
const gone = async (popup) => popup.select(1).then(() => 'chosen', ({ code, message }) => (/^selectPopup.select: Select popup \S+ not found or already closed$/.test(message) ? code : message));
const seen = [];
const first = await opened('#fruit');
await first.select(0);
seen.push(await gone(first));
const second = await opened('#fruit');
await opened('#quiet');
seen.push(await gone(second));
const third = await opened('#fruit');
await page.click('#elsewhere');
seen.push(await gone(third));
const fourth = await opened('#fruit');
await page.reload();
seen.push(await gone(fourth));
seen
// --- by keys, as the browser opens it
//! result: ["Enter","Space","Alt+ArrowDown","Alt+ArrowUp","F4"]
const page = await browser.open('{{site}}/lists');
const seen = [];
let told = 0;
page.on('select', () => told++);
for (const key of ['Enter', 'Space', 'Alt+ArrowDown', 'Alt+ArrowUp', 'F4', 'ArrowDown', 'ArrowUp', 'Tab', 'Alt+F4', 'a']) {
  const before = told;
  await page.press('#fruit', key);
  // What a click tells comes behind what the key has told.
  const opening = page.waitForEvent('select', (popup) => popup.options().length === 2);
  await page.click('#quiet');
  await opening;
  if (told === before + 2) seen.push(key);
}
seen
// --- lists without a popup, and one whose page prevents it
//! result: [0,"several:input several:change tall:input tall:change "]
const page = await browser.open('{{site}}/lists');
let count = 0;
page.on('select', () => count++);
await page.locator('#several option').nth(1).click();
await page.locator('#tall option').nth(1).click();
await page.click('#off', { force: true });
await page.click('#own');
// Told behind all of these, if they are told.
const last = page.waitForEvent('select');
await page.click('#quiet');
await (await last).cancel();
[count - 1, await page.textContent('#log')]
// --- a page that keeps the event for itself
//! result: [["two"],["two"],"quiet:input quiet:change loud:input loud:change "]
const page = await browser.open('{{site}}/lists');
const values = [];
for (const id of ['quiet', 'loud']) {
  const opening = page.waitForEvent('select');
  await page.click(`#${id}`);
  values.push(await (await opening).select(1));
}
[...values, await page.textContent('#log')]
// --- in shadow trees and in frames of this process and of another one
//! result: [["two"],["two"],["a"],["a"],["two"],"fruit:input fruit:change inner:input "]
const page = await browser.open('{{site}}/lists');
const values = [];
const choose = async (scope, selector, index) => {
  const opening = page.waitForEvent('select');
  await scope.locator(selector).click();
  values.push(await (await opening).select(index));
};
await choose(page, '#inner', 1);
await choose(page, '#hidden', 1);
const near = page.frameLocator('[name=near]');
await choose(near, '#fruit', 0);
await choose(page.frameLocator('[name=far]'), '#fruit', 0);
await choose(near, '#inner', 1);
[...values, await near.locator('#log').textContent()]
// --- in a frame and a document that come later
//! result: [["two"],["a"],["a"]]
const page = await browser.open('{{site}}/leaf');
const values = [];
page.on('select', () => {});
const choose = async (scope, selector, index) => {
  const opening = page.waitForEvent('select');
  await scope.locator(selector).click();
  values.push(await (await opening).select(index));
};
await page.goto('{{other}}/lists');
await choose(page, '#inner', 1);
await page.evaluate(() => document.querySelectorAll('iframe').forEach((frame) => frame.remove()));
await page.goto('{{site}}/lists');
await choose(page.frameLocator('[name=near]'), '#fruit', 0);
await choose(page.frameLocator('[name=far]'), '#fruit', 0);
values
// --- a page makes no news, sees no function of ours, and answers no popup
//! result: ["undefined,undefined",1]
const page = await browser.open('{{site}}/lists');
let count = 0;
page.on('select', () => count++);
const seen = await page.evaluate(() => {
  for (const type of ['mousedown', 'keydown', 'keypress']) {
    const Kind = type === 'mousedown' ? MouseEvent : KeyboardEvent;
    fruit.dispatchEvent(new Kind(type, { bubbles: true, composed: true, cancelable: true, button: 0, key: type === 'keydown' ? 'F4' : ' ' }));
  }
  return [typeof codemodeSelect, typeof globalThis[Symbol.for('codemode.selects')]].join();
});
const opening = page.waitForEvent('select');
await page.click('#fruit');
await (await opening).cancel();
[seen, count]
// --- options can be chosen by their values all the same, and lists that nobody watches open as ever
//! result: [["a"],true,["f"]]
const page = await browser.open('{{site}}/lists');
const chosen = await page.selectOption('#fruit', 'a');
await page.click('#fruit');
const isOpen = await page.evaluate(() => fruit.matches(':open'));
await page.evaluate(() => fruit.blur());
page.on('select', () => {});
[chosen, isOpen, await page.selectOption('#fruit', 'f')]
// --- a long list with long labels
//! result: [1000,"Option 999",100,"x…"]
const page = await browser.open();
await page.setContent('<select></select>');
await page.evaluate(() => { document.querySelector('select').innerHTML = `<option>${'x'.repeat(500)}` + Array.from({ length: 1200 }, (_, n) => `<option>Option ${n + 1}`).join(''); });
const opening = page.waitForEvent('select');
await page.click('select');
const options = (await opening).options();
[options.length, options.at(-1).label, options[0].label.length, options[0].label.slice(-2)]
// --- a script that has watched leaves no list behind that does not open
//! key: lists
//! result: true
const page = await browser.open('{{site}}/lists?');
const opening = page.waitForEvent('select');
await page.click('#fruit');
(await opening) !== undefined
// --- the next one with the same browser finds lists that open
//! key: lists
//! result: [true,"Lists"]
const page = (await browser.pages()).at(-1);
await page.click('#fruit');
[await page.evaluate(() => fruit.matches(':open')), await page.title()]
