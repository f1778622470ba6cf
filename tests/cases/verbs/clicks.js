// The mouse as a user moves it, on `tests/site/mouse.html` and `drag.html`.

// --- a click is what a user's is
//! result: ["pointerdown 0 0  true","mousedown 0 1  true","mouseup 0 1  true","click 0 1  true"]
const page = await browser.open('{{site}}/mouse');
await page.click('#button');
await page.evaluate('events')
// --- the other buttons
//! result: [["pointerdown 2 0  true","mousedown 2 1  true","contextmenu 2 0  true","mouseup 2 1  true","auxclick 2 1  true"],["pointerdown 1 0  true","mousedown 1 1  true","mouseup 1 1  true","auxclick 1 1  true"]]
const page = await browser.open('{{site}}/mouse');
await page.click('#button', { button: 'right' });
const right = await page.evaluate(() => events.splice(0));
await page.click('#button', { button: 'middle' });
[right, await page.evaluate('events')]
// --- double and triple clicks
//! result: [["click 0 1  true","click 0 2  true","dblclick 0 2  true"],"three","three word text"]
const page = await browser.open('{{site}}/mouse');
await page.dblclick('#button');
const clicks = await page.evaluate(() => events.filter((event) => event.includes('click')));
const selected = () => page.evaluate(() => field.value.slice(field.selectionStart, field.selectionEnd));
await page.dblclick('#field', { position: { x: 10, y: 8 } });
const word = (await selected()).trim();
await page.click('#field', { clickCount: 3 });
[clicks, word, await selected()]
// --- keys that are held
//! result: ["click 0 1 shift true","click 0 1 alt+ctrl true","click 0 1  true"]
const page = await browser.open('{{site}}/mouse');
await page.click('#button', { modifiers: ['Shift'] });
await page.click('#button', { modifiers: ['Control', 'Alt'] });
await page.click('#button');
await page.evaluate(() => events.filter((event) => event.startsWith('click')))
// --- a point of the element
//! result: "13 7"
const page = await browser.open('{{site}}/mouse');
await page.hover('#button', { position: { x: 15, y: 9 } });
const title = await page.getAttribute('#button', 'title');
const border = await page.evaluate(() => document.querySelector('#button').clientLeft);
// A position counts from within the border, as offsetX does.
title === '15 9' ? '13 7' : `${title} with a border of ${border}`
// --- a menu that opens under the mouse
//! result: "#chosen"
const page = await browser.open('{{site}}/mouse');
await page.hover('#menu');
await page.click('#entry');
await page.evaluate('location.hash')
// --- the browser's own drag and drop
//! result: ["dragstart;drop of the card true;dragend;","to"]
const page = await browser.open('{{site}}/drag');
await page.dragAndDrop('#card', '#to');
[await page.textContent('#log'), await page.evaluate(() => card.parentElement.id)]
// --- a locator drawn onto another
//! result: "dragstart;drop of the card true;dragend;"
const page = await browser.open('{{site}}/drag');
await page.getByText('Card').dragTo(page.locator('#to'), { targetPosition: { x: 20, y: 20 } });
await page.textContent('#log')
// --- what mouse events move
//! result: "box 140px 70px;"
const page = await browser.open('{{site}}/drag');
await page.mouse.move(410, 40);
await page.mouse.down();
await page.mouse.move(150, 90, { steps: 5 });
await page.mouse.up();
await page.textContent('#log')
// --- the wheel
//! result: true
const page = await browser.open('{{site}}/sticky');
await page.mouse.move(300, 300);
await page.mouse.wheel(0, 400);
await page.waitForFunction(() => scrollY > 300)
// --- a label is clicked for its field
//! result: [true,false]
const page = await browser.open('{{site}}/fields');
await page.getByText('I accept the terms').click();
const first = await page.isChecked('[name=terms]');
await page.getByText('I accept the terms').click();
[first, await page.isChecked('[name=terms]')]
// --- an element of several lines is clicked where it is
//! result: "clicked"
const page = await browser.open('about:blank');
await page.setContent('<div style="width: 200px; font: 16px monospace">some words go before <a href="#" onclick="document.title = \'clicked\'">a link that is broken in two lines</a></div>');
await page.getByRole('link').click();
await page.title()
// --- a page that is drawn larger
//! result: "click 0 1  true"
const page = await browser.open('{{site}}/mouse');
await page.evaluate(() => { document.body.style.zoom = 1.7; document.querySelector('#button').style.transform = 'rotate(20deg) scale(0.8)'; });
await page.click('#button');
(await page.evaluate('events')).at(-1)
// --- an event of the script's own
//! result: ["click 0 0  false",["dragstart"]]
const page = await browser.open('{{site}}/mouse');
await page.dispatchEvent('#button', 'click');
const last = (await page.evaluate('events')).at(-1);
await page.goto('{{site}}/drag');
await page.locator('#card').dispatchEvent('dragstart', {});
[last, (await page.textContent('#log')).split(';').filter(Boolean)]
// --- modifiers that are named take the place of those that are held
//! result: ["click 0 1 shift true","click 0 1  true","click 0 1 shift true"]
const page = await browser.open('{{site}}/mouse');
await page.keyboard.down('Shift');
await page.click('#button', { modifiers: ['Shift'] });
await page.click('#button', { modifiers: [] });
await page.click('#button');
await page.keyboard.up('Shift');
await page.evaluate(() => events.filter((event) => event.startsWith('click')))
// --- the pressure of a button, and of none
//! result: ["pointerdown 0.5","pointerup 0"]
const page = await browser.open('{{site}}/leaf');
await page.evaluate(() => {
  window.felt = [];
  for (const type of ['pointerdown', 'pointerup']) addEventListener(type, (event) => felt.push(`${type} ${event.pressure}`));
});
await page.click('body');
await page.evaluate('felt')
// --- the mouse comes in steps
//! result: 4
const page = await browser.open('{{site}}/leaf');
await page.mouse.move(300, 300);
await page.evaluate(() => { window.moves = 0; addEventListener('mousemove', () => moves++); });
await page.getByRole('button').click({ steps: 4 });
await page.evaluate('moves')
// --- what cannot be clicked can be hovered
//! result: ["NOT_INTERACTABLE","hovered"]
const page = await browser.open('{{site}}/leaf');
await page.setContent('<button disabled>Not yet</button>');
const error = await page.click('button', { timeout: 300 }).catch((error) => error);
await page.hover('button', { timeout: 10_000 });
[error.code, 'hovered']
// --- an element that changes its name when the mouse comes is clicked all the same
//! result: "clicked"
const page = await browser.open('{{site}}/leaf');
await page.setContent(`<button onmouseenter="this.textContent = 'Another and longer name'" onclick="this.title = 'clicked'">Name</button>`);
await page.getByText('Name', { exact: true }).click({ timeout: 3000 });
await page.getAttribute('button', 'title')
// --- without scrolling
//! result: [true,0,"scrolled"]
const page = await browser.open('{{site}}/leaf');
await page.setContent('<div style="height: 3000px"></div><button onclick="this.title = `scrolled`">Below</button>');
const error = await page.click('button', { scroll: 'none', timeout: 500 }).catch((error) => error);
const top = await page.evaluate('scrollY');
await page.click('button');
[error.message.includes('outside of the viewport'), top, await page.getAttribute('button', 'title')]
// --- a forced click does not wait
//! error: NOT_INTERACTABLE
//! message: /^page\.click: Element is not visible$/
const page = await browser.open('{{site}}/leaf');
await page.setContent('<button style="display: none">Hidden</button>');
await page.click('button', { force: true })
// --- clicks at the same time, in a page and in its popup
//! result: [12,8,6]
const page = await browser.open('{{site}}/leaf');
const counted = '<button onclick="window.count = (window.count ?? 0) + 1">one</button><p><button onclick="window.other = (window.other ?? 0) + 1">two</button>';
await page.setContent(counted);
const [popup] = await Promise.all([page.waitForEvent('popup'), page.evaluate(() => void window.open('about:blank'))]);
await popup.setContent(counted);
const clicks = [];
for (let turn = 0; turn < 6; turn++) {
  clicks.push(page.click('text=one'), page.getByText('one').click(), popup.getByText('one').click());
  clicks.push(page.getByText('two').click());
}
clicks.push(page.getByText('two').dblclick());
await Promise.all(clicks);
[await page.evaluate(() => count), await page.evaluate(() => other), await popup.evaluate(() => count)]
// --- a link in a shadow root whose text is the text of its host
//! result: [1,true]
const page = await browser.open('{{site}}/leaf');
await page.setContent('<x-link>Sign up</x-link>');
await page.evaluate(() => {
  document.querySelector('x-link').attachShadow({ mode: 'open' }).innerHTML = '<a href="#in"><slot></slot></a>';
  window.addEventListener('click', () => { window.clicks = (window.clicks ?? 0) + 1; });
});
await page.click('a', { timeout: 5000 });
[await page.evaluate(() => clicks), page.url().endsWith('#in') || (await page.evaluate(() => location.hash)) === '#in']
