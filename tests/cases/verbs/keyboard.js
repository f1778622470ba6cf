// Keys and texts, on `tests/site/keys.html`.

// --- keys as a user presses them
//! result: ["keydown a KeyA","keypress a KeyA","input","keyup a KeyA"]
const page = await browser.open('{{site}}/keys');
await page.press('#field', 'a');
(await page.evaluate('seen')).map((line) => line.replace('input a', 'input'))
// --- keys together
//! result: ["keydown Control ControlLeft ctrl","keydown Shift ShiftLeft ctrl+shift","keydown K KeyK ctrl+shift","keyup K KeyK ctrl+shift","keyup Shift ShiftLeft ctrl","keyup Control ControlLeft"]
const page = await browser.open('{{site}}/keys');
await page.press('#field', 'Control+Shift+K');
await page.evaluate('seen')
// --- keys that edit
//! result: ["held","","one\ntwo"]
const page = await browser.open('{{site}}/keys');
const field = page.locator('#field');
await field.fill('hello world');
await field.press('Home');
for (let n = 0; n < 2; n++) await field.press('Delete');
await field.press('ControlOrMeta+ArrowRight');
await field.press('Shift+End');
await field.press('Backspace');
await field.press('End');
await field.press('Home');
await field.fill('');
await field.pressSequentially('xheld');
await field.press('Home');
await field.press('Delete');
const held = await field.inputValue();
await field.press('Control+a');
await field.press('Backspace');
const emptied = await field.inputValue();
await page.locator('#area').pressSequentially('one\ntwo');
[held, emptied, await page.inputValue('#area')]
// --- emoji, accents, and other scripts
//! result: ["Grüße 👩‍👩‍👧 日本語 ﷺ é","👍🏽é"]
const page = await browser.open('{{site}}/keys');
await page.locator('#area').pressSequentially('Grüße 👩‍👩‍👧 日本語 ﷺ é');
await page.focus('#field');
await page.keyboard.insertText('👍🏽é');
[await page.inputValue('#area'), await page.inputValue('#field')]
// --- a text that is inserted presses no keys
//! result: ["input"]
const page = await browser.open('{{site}}/keys');
await page.focus('#field');
await page.keyboard.insertText('日本語');
(await page.evaluate('seen')).map((line) => line.split(' ')[0])
// --- a key that is held while others are pressed
//! result: "ABc"
const page = await browser.open('{{site}}/keys');
await page.focus('#field');
await page.keyboard.down('Shift');
await page.keyboard.press('KeyA');
await page.keyboard.press('KeyB');
await page.keyboard.up('Shift');
await page.keyboard.press('KeyC');
await page.inputValue('#field')
// --- where the focus goes
//! result: ["area","field","body"]
const page = await browser.open('{{site}}/keys');
const focused = () => page.evaluate(() => document.activeElement.id || document.activeElement.localName);
await page.focus('#field');
await page.keyboard.press('Tab');
const next = await focused();
await page.keyboard.press('Shift+Tab');
const back = await focused();
await page.locator('#field').blur();
[next, back, await focused()]
// --- Enter sends a form
//! result: "?q=lamp"
const page = await browser.open('{{site}}/keys');
await page.fill('[name=q]', 'lamp');
await page.press('[name=q]', 'Enter');
await page.waitForURL('**/controls?*');
await page.evaluate('location.search')
// --- Escape, arrows and function keys have their names
//! result: ["Escape","ArrowLeft","PageDown","F5","Enter"," ","+"]
const page = await browser.open('{{site}}/keys');
for (const key of ['Escape', 'ArrowLeft', 'PageDown', 'F5', 'Enter', 'Space', '+']) await page.press('#field', key);
await page.evaluate(() => seen.filter((line) => line.startsWith('keydown')).map((line) => line === 'keydown   Space' ? ' ' : line.split(' ')[1]))
// --- a key that does not exist
//! error: INVALID_ARGUMENT
//! message: /(?s)^locator\.press: .*Retrun/
const page = await browser.open('{{site}}/keys');
await page.locator('#field').press('Retrun')
// --- nothing is held after keys of which one does not exist
//! result: ["INVALID_ARGUMENT",["keydown a KeyA","keypress a KeyA","input","keyup a KeyA"]]
const page = await browser.open('{{site}}/keys');
const { code } = await page.press('#field', 'Control+Shift+Retrun').catch((error) => error);
await page.evaluate('seen.length = 0');
await page.press('#field', 'a');
[code, (await page.evaluate('seen')).map((line) => line.replace('input a', 'input'))]
// --- an editor
//! result: ["text and more","other"]
const page = await browser.open('{{site}}/keys');
await page.click('#editor');
await page.keyboard.press('End');
await page.keyboard.type(' and more');
const typed = await page.textContent('#editor');
await page.locator('#editor').selectText();
await page.keyboard.type('other');
[typed, await page.textContent('#editor')]
