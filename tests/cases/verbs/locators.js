// How elements are named: the locators of `browser`, on `tests/site/controls.html` and `shadow.html`.

// --- every way to name an element
//! result: ["user","pass","zip","find","user","user","picture","item","one","send","Shop","bold","user"]
const page = await browser.open('{{site}}/controls');
const ways = [
  page.getByLabel('user name'), page.getByLabel('Password'), page.getByLabel('Delivery'), page.getByLabel(/search/i),
  page.getByPlaceholder('e.g. ada'), page.getByTitle('who you'), page.getByAltText('yellow lamp'), page.getByTestId('item').first(),
  page.getByRole('tab', { name: 'One' }), page.getByText('Send it'), page.locator('css=h1'), page.locator('text=Bold'),
  page.locator('//input[@placeholder]'),
];
const ids = [];
for (const way of ways) ids.push(await way.evaluate((element) => element.id || element.dataset.testid || element.textContent));
ids
// --- roles and what they are in
//! result: [1,1,1,1,1,1,3,6,2,1,0]
const page = await browser.open('{{site}}/controls');
const roles = [
  ['button', { pressed: true }], ['button', { expanded: false }], ['checkbox', { checked: true }], ['heading', { level: 2 }],
  ['tab', { selected: true }], ['button', { disabled: true }], ['button', { name: 'buy' }], ['button', {}], ['link', {}],
  ['link', { name: /^about/i }], ['button', { name: 'buy', exact: true }],
];
const counts = [];
for (const [role, options] of roles) counts.push(await page.getByRole(role, options).count());
counts
// --- elements that nobody sees count only if they are asked for
//! result: [3,4,4,3]
const page = await browser.open('{{site}}/controls');
const buy = (options) => page.getByRole('button', { name: 'Buy', ...options });
[await buy({}).count(), await buy({ includeHidden: true }).count(), await page.locator('li button').count(), await page.locator('li button:visible').count()]
// --- texts: parts in any case, whole ones, expressions, white space that does not count
//! result: [1,0,1,1,1,1]
const page = await browser.open('{{site}}/controls');
const texts = [
  page.getByText('TEXT with white'), page.getByText('text with white space', { exact: true }), page.getByText('Text with white space', { exact: true }),
  page.getByText(/^Text\s+with/), page.locator('p:has-text("WHITE space")'), page.locator('p:text-matches("WHITE.+space", "i")'),
];
const counts = [];
for (const text of texts) counts.push(await text.count());
counts
// --- chains of conditions
//! result: ["Table","Lamp",["Lamp","Chair","Table"],"Chair",["Lamp","Chair","Secret"],"Table","Chair","Lamp","Table",2,["Home","Shop"]]
const page = await browser.open('{{site}}/controls');
const items = page.getByTestId('item');
const name = (item) => item.locator('b').textContent();
const names = (found) => found.locator('b').allTextContents();
[
  await name(items.filter({ has: page.locator('i') })),
  await name(items.filter({ hasText: 'lamp' })),
  await names(items.filter({ visible: true })),
  await name(items.filter({ has: page.getByRole('button', { disabled: true }) })),
  await names(items.filter({ hasNot: page.locator('i') })),
  await name(items.filter({ hasNotText: /Lamp|Chair|Secret/ })),
  await name(items.nth(1)),
  await name(items.first()),
  await name(items.last()),
  await page.locator('button').and(page.locator('[aria-pressed], [aria-expanded]')).count(),
  await page.getByRole('link', { name: 'Home' }).or(page.locator('h1')).allTextContents().then((texts) => texts.sort()),
]
// --- locators within locators, and parts of selectors
//! result: [true,"Table","Chair","Secret",1]
const page = await browser.open('{{site}}/controls');
const chair = page.locator('li', { hasText: 'Chair' });
[
  await chair.getByRole('button').isDisabled(),
  await page.locator('li >> text=Table').textContent(),
  await page.locator('ul').locator('li').nth(1).locator('b').innerText(),
  await page.locator(':nth-match(li, 3) >> b').textContent(),
  await page.locator('ul li').filter({ has: page.locator('b', { hasText: /^Lamp$/ }) }).getByRole('button').count(),
]
// --- an action on one of many names them
//! error: MULTIPLE_MATCHES
//! message: /(?s)^locator\.click: .*strict mode violation.*3 elements:?\n.*<button>Buy<\/button> aka .*<button disabled>Buy<\/button> aka /
//! hint: /./
const page = await browser.open('{{site}}/controls');
await page.getByRole('button', { name: 'Buy' }).click()
// --- what a list of many names finds that element
//! result: ["Lamp","Chair","Table"]
const page = await browser.open('{{site}}/controls');
const error = await page.getByRole('button', { name: 'Buy' }).click().catch((error) => error);
const suggested = [...error.message.matchAll(/ aka (.+)$/gm)].map(([, locator]) => locator);
const names = [];
for (const each of suggested) names.push(await eval(`page.${each}`).locator('xpath=..').locator('b').textContent());
names
// --- reading one of many is refused as well, counting is not
//! result: ["MULTIPLE_MATCHES","MULTIPLE_MATCHES",4,["Lamp","Chair","Secret","Table"]]
const page = await browser.open('{{site}}/controls');
const names = page.locator('li b');
const code = (promise) => promise.then(() => 'none', (error) => error.code);
[await code(names.textContent()), await code(names.isVisible()), await names.count(), await names.allTextContents()]
// --- a page's own methods take the first
//! result: ["Lamp","Lamp Buy"]
const page = await browser.open('{{site}}/controls');
await page.click('li button');
[await page.textContent('li b'), await page.title()]
// --- nothing that matches
//! error: ELEMENT_NOT_FOUND
//! message: /(?s)^locator\.click: Timeout 300ms exceeded.*getByRole\('button', \{ name: 'Sell' \}\)/
//! hint: /./
const page = await browser.open('{{site}}/controls');
await page.getByRole('button', { name: 'Sell' }).click({ timeout: 300 })
// --- what does not wait answers at once when nothing matches
//! result: [0,false,true,[],[]]
const page = await browser.open('{{site}}/controls');
const none = page.locator('#none');
[await none.count(), await none.isVisible(), await none.isHidden(), await none.all(), await none.allTextContents()]
// --- a selector that is none
//! error: INVALID_SELECTOR
//! message: /(?s)^locator\.click: .*li\[/
const page = await browser.open('{{site}}/controls');
await page.locator('li[').click({ timeout: 5000 })
// --- all, and what is evaluated on all
//! result: [["LAMP","CHAIR","SECRET","TABLE"],["Lamp!","Chair!","Secret!","Table!"],4]
const page = await browser.open('{{site}}/controls');
const names = page.locator('li b');
const upper = [];
for (const name of await names.all()) upper.push((await name.textContent()).toUpperCase());
[upper, await names.evaluateAll((all, mark) => all.map((one) => one.textContent + mark), '!'), await page.$$eval('li', (all) => all.length)]
// --- states of elements
//! result: [true,false,true,false,true,false,true,false,true]
const page = await browser.open('{{site}}/controls');
const chair = page.getByTestId('item').nth(1).getByRole('button', { name: 'Buy' });
const secret = page.getByTestId('item').nth(2);
[
  await chair.isDisabled(), await chair.isEnabled(), await chair.isVisible(), await secret.isVisible(), await secret.isHidden(),
  await page.locator('#gift').isEditable().then(() => false), await page.locator('#gift').isChecked(),
  await page.locator('#user').isDisabled(), await page.locator('#user').isEditable(),
]
// --- what is read of elements
//! result: ["e.g. ada",null,"before","Text  with\n  white space","Text with white space","Text  with\n  white <b>space</b>",true]
const page = await browser.open('{{site}}/controls');
await page.fill('#user', 'before');
const spaced = page.locator('#spaced');
const box = await spaced.boundingBox();
[
  await page.getAttribute('#user', 'placeholder'), await page.getAttribute('#user', 'none'), await page.inputValue('#user'),
  await spaced.textContent(), await spaced.innerText(), await spaced.innerHTML(), box.width > 100 && box.height > 10 && box.y > 0,
]
// --- open shadow roots, and one in another
//! result: "Open;Inner;typed;blue;"
const page = await browser.open('{{site}}/shadow');
await page.getByRole('button', { name: 'Open button' }).click();
await page.locator('open-card inner-card button').click();
await page.getByLabel('Inner field').fill('typed');
await page.getByLabel('Open choice').selectOption('blue');
await page.textContent('#log')
// --- a page that has taken the names of the methods away
//! result: ["found",1,"typed"]
const page = await browser.open('about:blank');
await page.setContent(`<form><input name="querySelectorAll"><input name="parentNode" aria-label="Field"><button>found</button></form>
  <script>Element.prototype.getBoundingClientRect = Node.prototype.contains = () => { throw 1 }; Array.prototype.filter = null; window.getComputedStyle = null;</script>`);
await page.getByLabel('Field').fill('typed');
[await page.locator('form button').textContent(), await page.getByRole('button', { name: 'found' }).count(), await page.inputValue('[name=parentNode]')]
// --- a locator with alternatives inside of another one
//! result: [["In"],["In"]]
const page = await browser.open('{{site}}/leaf');
await page.setContent('<div><b>In</b></div><b>Out</b><i>Out</i>');
const either = page.locator('i').or(page.locator('b'));
const both = page.locator('b').and(page.getByText(/n|t/));
[await page.locator('div').locator(either).allTextContents(), await page.locator('div').locator(both).allTextContents()]
// --- a way to find that there is not
//! error: INVALID_SELECTOR
//! message: /Unknown engine "txt" while parsing selector txt=Buy/
const page = await browser.open('{{site}}/controls');
await page.click('txt=Buy')
// --- a name of the script's own
//! result: ["The way home",null,"The way home"]
const page = await browser.open('{{site}}/controls');
const home = page.getByRole('link', { name: 'Home' }).describe('The way home');
[String(home), home.locator('b').description(), home.description()]
// --- handles are locators
//! result: ["Shop",2,true]
const page = await browser.open('{{site}}/controls');
const heading = await page.locator('h1').elementHandle();
const buttons = await page.locator('li button:visible').elementHandles();
[await heading.textContent(), Math.min(buttons.length, 2), await page.evaluate((element) => element.tagName === 'H1', heading)]
// --- a condition of an element, which may be replaced meanwhile
//! result: "3"
const page = await browser.open('{{site}}/leaf');
await page.setContent('<p>1</p>');
await page.evaluate(() => setTimeout(() => { document.querySelector('p').outerHTML = '<p>3</p>'; }, 200));
await page.locator('p').waitForFunction((element, least) => Number(element.textContent) >= least, 3);
await page.textContent('p')
// --- a condition that does not come true
//! result: ["TimeoutError","locator.waitForFunction: Timeout 300ms exceeded"]
const page = await browser.open('{{site}}/leaf');
const error = await page.locator('body').waitForFunction(() => false, null, { timeout: 300 }).catch((error) => error);
[error.name, error.message.split(' while')[0]]
// --- a wait says for which state
//! error: ELEMENT_NOT_FOUND
//! message: /(?s)^locator\.waitFor: Timeout 300ms exceeded\..waiting for locator\('#none'\) to be visible$/
const page = await browser.open('{{site}}/leaf');
await page.locator('#none').waitFor({ timeout: 300 })
// --- a wrong argument rejects the promise
//! result: "INVALID_ARGUMENT"
const page = await browser.open('{{site}}/leaf');
const error = await page.locator('input').fill(() => 1).catch((error) => error);
error.code
// --- roles by a part of their name
//! result: [2,1,1,1,0]
const page = await browser.open('{{site}}/leaf');
await page.setContent('<button>Save all</button><button>Save</button><button>Call</button>');
const count = (selector) => page.locator(selector).count();
[
  await count('role=button[name*="all"]'), await count('role=button[name^="call" i]'), await count('role=button[name$="ve"]'),
  await count('role=button[name~="all"]'), await count('role=button[name*="."]'),
]
// --- what stands beside an element, and what is in it
//! result: [["d","e","f"],["d"],["d","i"],["e"],["i"],["c"],[]]
const page = await browser.open('{{site}}/leaf');
await page.setContent('<p id=b></p><p id=c><i id=i></i></p><p id=d></p><p id=e></p><p id=f></p>');
const ids = (selector) => page.locator('#c').locator(selector).evaluateAll((all) => all.map(({ id }) => id));
[await ids('~ p'), await ids('+ p'), (await ids('+ p, i')).sort(), await ids(':scope + p + p'), await ids('> i'), await ids('p:scope'), await ids(':scope.none')]
// --- a quoted text is one that stands in the element itself
//! result: ["a","b","b","none","a","d"]
const page = await browser.open('{{site}}/leaf');
await page.setContent('<div id=a>Hello<span id=b>wo  rld </span> Hi again </div><div id=c>yo<div id=d>ya</div>hey</div>');
const id = async (selector) => (await page.locator(selector).first().getAttribute('id', { timeout: 500 }).catch(() => 'none'));
[
  await id('text="Hello"'), await id('text="wo rld"'), await id('"wo rld"'), await id('text="Hellowo rld Hi again"'),
  await id('text="Hi again"'), await id("'yo'>>'ya'"),
]
// --- roles by their descriptions
//! result: [["away","nowhere","up"],["away"],"up","getByRole('button', { description: 'Goes up', exact: true })"]
const page = await browser.open();
await page.setContent(`<span id=d>Goes <b>away</b></span><button id=away aria-describedby=d>A</button><button id=nowhere aria-description='goes nowhere'>B</button>
  <button id=up title='Goes up'>C</button><button id=none>Goes</button>`);
const ids = (locator) => locator.evaluateAll((all) => all.map(({ id }) => id));
const up = page.getByRole('button', { description: 'Goes up', exact: true });
[await ids(page.getByRole('button', { description: 'goes' })), await ids(page.locator('role=button[description="Goes away"]')), await up.getAttribute('id'), String(up)]
// --- boxes that are neither checked nor not
//! result: [["some","group"],["some","group"],["all"],["part"]]
const page = await browser.open();
await page.setContent(`<input id=some type=checkbox><input id=all type=checkbox checked><div id=group role=checkbox aria-checked=mixed>G</div><button id=part aria-pressed=mixed>P</button>`);
await page.evaluate(() => { document.querySelector('#some').indeterminate = true; });
const ids = (locator) => locator.evaluateAll((all) => all.map(({ id }) => id));
[await ids(page.getByRole('checkbox', { checked: 'mixed' })), await ids(page.locator('role=checkbox[checked="mixed"]')), await ids(page.getByRole('checkbox', { checked: true })), await ids(page.locator('role=button[pressed=mixed]'))]
// --- texts in quotation marks are whole, and a backslash takes what is behind it as it is
//! result: [["a"],["a"],["a"],["c"],["c"],[],["a","b"],["b"],["c"],["c"]]
const page = await browser.open();
await page.setContent(`<p id=a>Save it</p><p id=b>Save it all</p><p id=c>say "a \\ b"</p>`);
const texts = ['text="Save it"', "text='Save it'", '"Save it"', String.raw`text="say \"a \\ b\""`, String.raw`text='say "a \\ b"'`, 'text="save it"', 'text=save IT', 'text=/it ALL$/i', String.raw`text=/"a \\/`, 'text=say "a'];
const seen = [];
for (const text of texts) seen.push(await page.locator(text).evaluateAll((all) => all.map(({ id }) => id)));
seen
// --- what is in a shadow tree comes behind all that is in the tree around it, and lists of selectors are in document order
//! result: [["light","after","shadow"],["light","after","shadow"],["light","after","shadow"],["light","shadow","after"],"after","shadow"]
const page = await browser.open();
await page.setContent(`<div id=host><button id=light>Go</button></div><button id=after>Go</button>`);
await page.evaluate(() => { document.querySelector('#host').attachShadow({ mode: 'open' }).innerHTML = '<slot></slot><button id=shadow>Go</button>'; });
const ids = (locator) => locator.evaluateAll((all) => all.map(({ id }) => id));
const buttons = page.getByRole('button');
[await ids(buttons), await ids(page.locator('button')), await ids(page.getByText('go')), await ids(page.locator('button, p')), await buttons.nth(1).getAttribute('id'), await buttons.last().getAttribute('id')]
// --- more elements than a function gets
//! result: [12001,"5500","12000","11999",12001,"RESULT_TOO_LARGE","RESULT_TOO_LARGE","RESULT_TOO_LARGE"]
const page = await browser.open();
await page.setContent('<ul></ul>');
await page.evaluate(() => { document.querySelector('ul').innerHTML = Array.from({ length: 12001 }, (_, n) => `<li>${n}`).join(''); });
const items = page.locator('li');
const text = (item) => item.textContent();
const tooMany = (promise) => promise.then((all) => all.length, ({ code, hint }) => (/count\(\)/.test(hint) ? code : hint));
[
  await items.count(), await text(items.nth(5500)), await text(items.last()), await text(items.nth(-2)), await page.getByRole('listitem').count(),
  await tooMany(items.evaluateAll((all) => all)), await tooMany(items.allTextContents()), await tooMany(items.allInnerTexts()),
]
