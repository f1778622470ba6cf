// Fields of each kind, on `tests/site/fields.html`.

// --- each kind of field
//! result: {"name":"ada","story":"one\ntwo","day":"2024-02-29","time":"23:59","color":"#336699","volume":"7","count":"-1.5","size":"l","tags":"red+blue","terms":"on","pay":"card","locked":"locked"}
const page = await browser.open('{{site}}/fields');
await page.getByLabel('Name').fill('ada');
await page.getByLabel('Story').fill('one\ntwo');
await page.getByLabel('Day').fill('2024-02-29');
await page.getByLabel('Time').fill('23:59');
await page.getByLabel('Color').fill('#336699');
await page.getByLabel('Volume').fill('7');
await page.getByLabel('Count').fill('-1.5');
await page.getByLabel('Size').selectOption('l');
await page.getByLabel('Tags').selectOption(['red', 'blue']);
await page.getByLabel('I accept').check();
await page.getByLabel('Card').check();
await page.evaluate('values()')
// --- the events of a fill and of a choice
//! result: [["focusin","beforeinput","input"],["focusin","input","change"]]
const page = await browser.open('{{site}}/fields');
const seen = () => page.evaluate(() => seen.splice(0).map((event) => event.split(' ')[0]));
await page.fill('[name=name]', 'ada');
const fill = await seen();
await page.locator('[name=name]').blur();
await seen();
await page.selectOption('[name=size]', 's');
[fill, await seen()]
// --- a whole form at once
//! result: {"name":"ada","story":"text","day":"2024-02-29","size":"l","terms":"on","pay":"card"}
//! calls: 3
const page = await browser.open('{{site}}/fields');
await page.fill({ '[name=name]': 'ada', '[name=story]': 'text', '[name=day]': '2024-02-29', '[name=size]': 'Large', '[name=terms]': true, '[value=card]': true });
const { name, story, day, size, terms, pay } = await page.evaluate('values()');
({ name, story, day, size, terms, pay })
// --- a whole form with a field that is not there says which
//! error: ELEMENT_NOT_FOUND
//! message: /(?s)#none/
const page = await browser.open('{{site}}/fields');
await page.fill({ '[name=name]': 'ada', '#none': 'x' }, { timeout: 300 })
// --- boxes
//! result: [true,true,false,false,true]
const page = await browser.open('{{site}}/fields');
const terms = page.locator('[name=terms]');
await terms.check();
const first = await terms.isChecked();
await terms.check();
const again = await terms.isChecked();
await terms.uncheck();
const off = await terms.isChecked();
await terms.setChecked(false);
const stays = await terms.isChecked();
await page.setChecked('[name=terms]', true);
[first, again, off, stays, await terms.isChecked()]
// --- a box is clicked as a user does it
//! result: ["focusin","input","change"]
const page = await browser.open('{{site}}/fields');
await page.check('[name=terms]');
await page.evaluate('seen')
// --- radios are by their labels, and one of them is on
//! result: [true,false,"card"]
const page = await browser.open('{{site}}/fields');
await page.getByRole('radio', { name: 'Card' }).check();
[await page.getByLabel('Card').isChecked(), await page.getByLabel('Cash').isChecked(), await page.evaluate(() => form.pay.value)]
// --- a radio cannot be taken back
//! error: NOT_INTERACTABLE
//! message: /^locator\.uncheck: Cannot uncheck radio button/
const page = await browser.open('{{site}}/fields');
await page.getByLabel('Cash').uncheck({ timeout: 1000 })
// --- a box that nobody sees is ticked by its label
//! result: true
const page = await browser.open('{{site}}/fields');
await page.getByText('Switch').click();
await page.isChecked('[name=switch]')
// --- choices by value, by label, by place, none, several
//! result: [["l"],["s"],["m"],["green"],["red","blue"],[]]
const page = await browser.open('{{site}}/fields');
const size = page.getByLabel('Size');
const tags = page.getByLabel('Tags');
[
  await size.selectOption('Large'), await size.selectOption({ value: 's' }), await size.selectOption({ index: 1 }),
  await tags.selectOption({ label: 'green' }), await tags.selectOption([{ label: 'red' }, { index: 2 }]), await tags.selectOption([]),
]
// --- a choice that there is not
//! error: NOT_INTERACTABLE
//! message: /(?s)^locator\.selectOption: .*did not find some options/
const page = await browser.open('{{site}}/fields');
await page.getByLabel('Size').selectOption('xxl', { timeout: 300 })
// --- a choice that comes later
//! result: ["xxl"]
const page = await browser.open('{{site}}/fields');
const chosen = page.getByLabel('Size').selectOption('xxl');
await page.evaluate(() => form.size.add(new Option('Huge', 'xxl')));
await chosen
// --- a date that is none
//! error: NOT_INTERACTABLE
//! message: /(?s)Malformed value/
const page = await browser.open('{{site}}/fields');
await page.getByLabel('Day').fill('29.2.2024', { timeout: 1000 })
// --- an editor
//! result: ["new","typed"]
const page = await browser.open('{{site}}/fields');
const rich = page.getByRole('textbox', { name: 'Rich' });
await rich.fill('new');
const filled = await rich.textContent();
await rich.clear();
await rich.pressSequentially('typed');
[filled, await rich.textContent()]
// --- what cannot be filled
//! error: NOT_INTERACTABLE
//! message: /(?s)^locator\.fill: .*Element is not an <input>, <textarea> or \[contenteditable\] element/
const page = await browser.open('{{site}}/fields');
await page.locator('legend').fill('x', { timeout: 1000 })
// --- a box cannot be filled
//! error: NOT_INTERACTABLE
//! message: /(?s)Input of type "checkbox" cannot be filled/
const page = await browser.open('{{site}}/fields');
await page.locator('[name=terms]').fill('x', { timeout: 1000 })
// --- a field that formats what it gets
//! result: "1 234"
const page = await browser.open('about:blank');
await page.setContent(`<input id="a"><script>a.oninput = () => (a.value = a.value.replace(/\\D/g, '').replace(/(\\d)(\\d{3})$/, '$1 $2'))</script>`);
await page.locator('#a').pressSequentially('12-34');
await page.inputValue('#a')
// --- a field of a framework that keeps its own value
//! result: "ada:ada"
const page = await browser.open('about:blank');
await page.setContent(`<input id="a"><script>
  // As React does: an own property hides the prototype's, and only a change through that one is seen.
  const { get, set } = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value');
  let known = '';
  Object.defineProperty(a, 'value', { get() { return get.call(this); }, set(value) { known = value; set.call(this, value); }, configurable: true });
  a.oninput = () => { const now = get.call(a); if (now !== known) document.title = now; known = now; };
</script>`);
await page.fill('#a', 'ada');
(await page.title()) + ':' + (await page.inputValue('#a'))
// --- a box that looks undecided is checked or not
//! result: [true,false]
const page = await browser.open('{{site}}/fields');
await page.setContent('<input type="checkbox" checked>');
const box = page.locator('input');
await box.evaluate((input) => { input.indeterminate = true; });
const before = await box.isChecked();
await box.uncheck();
[before, await box.isChecked()]
// --- options by their handles
//! result: [["l"],["blue","green"]]
const page = await browser.open('{{site}}/fields');
const handle = await page.$('option[value=l]');
[
  await page.selectOption('[name=size]', handle),
  (await page.getByLabel('Tags').selectOption([page.locator('option', { hasText: 'green' }), page.locator('option', { hasText: 'blue' })])).sort(),
]
