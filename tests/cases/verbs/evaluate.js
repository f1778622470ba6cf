// Functions that run in the page.

// --- values of all kinds come back
//! result: [1,"text",true,null,[1,[2]],{"a":{"b":1}},"undefined","NaN","-0","Infinity","10n"]
const page = await browser.open('{{site}}/leaf');
const value = (fn) => page.evaluate(fn);
[
  await value(() => 1), await value(() => 'text'), await value(() => true), await value(() => null), await value(() => [1, [2]]),
  await value(() => ({ a: { b: 1 } })), typeof (await value(() => undefined)), String(await value(() => NaN)),
  Object.is(await value(() => -0), -0) ? '-0' : '0', String(await value(() => Infinity)), `${await value(() => 10n)}n`,
]
// --- what JSON has no form for, also inside of objects and arrays
//! result: ["Date 5","NaN","-Infinity","undefined true","Map 1,2","Set a","Uint16Array 1,258","ArrayBuffer 2","TypeError: x","/a/g","10","1","ref: <Node>","\\ud800","http://a.test/"]
const page = await browser.open('{{site}}/leaf');
const all = await page.evaluate(() => ({
  date: new Date(5), nan: NaN, list: [-Infinity], missing: undefined, map: new Map([[1, 2]]), set: new Set(['a']), view: new Uint16Array([1, 258]),
  buffer: new ArrayBuffer(2), error: new TypeError('x'), pattern: /a/g, big: 10n, $: 1, element: document.body, half: '\ud800', url: new URL('http://a.test'),
}));
const kind = (value) => Object.prototype.toString.call(value).slice(8, -1);
[
  `${kind(all.date)} ${+all.date}`, String(all.nan), String(all.list[0]), `${all.missing} ${'missing' in all}`, `${kind(all.map)} ${[...all.map][0]}`,
  `${kind(all.set)} ${[...all.set]}`, `${kind(all.view)} ${[...all.view]}`, `${kind(all.buffer)} ${all.buffer.byteLength}`, String(all.error),
  all.pattern, String(all.big), String(all.$), all.element, all.half === '\ud800' ? '\\ud800' : all.half, all.url,
]
// --- windows, of the same origin and of others, and nodes of frames
//! result: ["ref: <Window>","ref: <Window>","ref: <Window>","ref: <Document>","ref: <Node>",{"inside":"ref: <Window>"}]
const page = await browser.open('{{site}}/frames');
await page.frameLocator('#far').getByRole('button', { name: 'Inside' }).waitFor();
[
  await page.evaluate(() => window), await page.evaluate(() => (window.other = window.open('about:blank'))),
  await page.evaluate(() => document.querySelector('#far').contentWindow),
  await page.evaluate(() => document.querySelector('[name=near]').contentDocument),
  await page.evaluate(() => document.querySelector('[name=near]').contentDocument.body),
  await page.evaluate(() => ({ inside: document.querySelector('#far').contentWindow })),
]
// --- a page that imitates the tags
//! result: [{"$":"date","value":5},[{"$":{"$":"bigint"}}],{"a":1}]
const page = await browser.open('{{site}}/leaf');
[
  await page.evaluate(() => ({ $: 'date', value: 5 })), await page.evaluate(() => [{ $: { $: 'bigint' } }]),
  await page.evaluate('({ a: 1 })'),
]
// --- a result that is too deep, an object with a form of its own, fields that are functions
//! result: [true,{"own":1},{"a":1}]
const page = await browser.open('{{site}}/leaf');
const deep = await page.evaluate(() => { let inner = {}; for (let at = 0; at < 300; at++) inner = { inner }; return inner; }).catch((error) => error);
[
  /nested more than 200 levels/.test(deep.message), await page.evaluate(() => ({ toJSON: () => ({ own: 1 }) })),
  await page.evaluate(() => ({ a: 1, f() {} })),
]
// --- values of all kinds go in
//! result: ["object","1,2,3","undefined","NaN","bigint","Date","Uint8Array","Map","👍"]
const page = await browser.open('{{site}}/leaf');
const into = (arg, fn) => page.evaluate(fn, arg);
const kind = (value) => Object.prototype.toString.call(value).slice(8, -1);
[
  await into({ a: 1 }, (value) => typeof value), await into([1, 2, 3], (value) => value.join()), await into({ a: undefined }, ({ a }) => typeof a),
  await into(NaN, (value) => String(value)), await into(5n, (value) => typeof value), await into(new Date(0), kind), await into(new Uint8Array(2), kind),
  await into(new Map([[1, 2]]), kind), await into('👍', (value) => value),
]
// --- an expression, a function, an asynchronous one, a promise
//! result: [3,"Leaf","later",[1,2]]
const page = await browser.open('{{site}}/leaf');
[
  await page.evaluate('1 + 2'), await page.evaluate(() => document.title), await page.evaluate(async () => { await null; return 'later'; }),
  await page.evaluate(([a, b]) => new Promise((done) => setTimeout(() => done([a, b]), 10)), [1, 2]),
]
// --- an error of the page
//! error: JS_EXCEPTION
//! message: /(?s)^page\.evaluate: TypeError: of the page/
const page = await browser.open('{{site}}/leaf');
await page.evaluate(() => { throw new TypeError('of the page'); })
// --- a promise that is rejected, and what is no error
//! result: [["JS_EXCEPTION",true],["JS_EXCEPTION",true],["JS_EXCEPTION",true]]
const page = await browser.open('{{site}}/leaf');
const outcomes = [];
for (const fn of [() => Promise.reject(new Error('rejected')), () => { throw 'a text'; }, 'syntax error here']) {
  const { code, message } = await page.evaluate(fn).catch((error) => error);
  outcomes.push([code, /rejected|a text|SyntaxError/.test(message)]);
}
outcomes
// --- a variable of the script is not there
//! error: JS_EXCEPTION
//! message: /(?s)outer is not defined/
//! hint: /(?s)pass values as the argument/
const page = await browser.open('{{site}}/leaf');
const outer = 1;
await page.evaluate(() => outer)
// --- elements of locators
//! result: ["Leaf","Leaf!","BUTTON",["Leaf"]]
const page = await browser.open('{{site}}/leaf');
const button = page.getByRole('button');
[
  await button.evaluate((element) => element.textContent), await button.evaluate((element, mark) => element.textContent + mark, '!'),
  await page.$eval('button', (element) => element.tagName), await button.evaluateAll((all) => all.map((one) => one.textContent)),
]
// --- a value that refers to itself, an element, a function
//! result: [true,true,true]
const page = await browser.open('{{site}}/leaf');
const seen = [];
for (const fn of [() => { const ring = {}; ring.ring = ring; return ring; }, () => document.body, () => () => 1]) {
  // It is told in some way, and nothing hangs.
  seen.push(await page.evaluate(fn).then(() => true, (error) => error.code !== undefined));
}
seen
// --- a page that goes elsewhere meanwhile
//! result: true
const page = await browser.open('{{site}}/leaf');
const error = await page.evaluate(() => { location.href = '/controls'; return new Promise(() => null); }).catch((error) => error);
/navigat|context/i.test(error.message)
// --- waiting for a value of the page
//! result: ["ready",3]
const page = await browser.open('{{site}}/leaf');
await page.evaluate(() => void setTimeout(() => (window.state = 'ready'), 50));
[await page.waitForFunction(() => window.state), await page.waitForFunction((least) => (window.count = (window.count ?? 0) + 1) >= least && window.count, 3)]
// --- a value that does not come
//! error: CALL_TIMEOUT
//! message: /(?s)^page\.waitForFunction: Timeout 200ms exceeded/
const page = await browser.open('{{site}}/leaf');
await page.waitForFunction(() => window.never, undefined, { timeout: 200 })
// --- bytes and large texts
//! result: [2000000,"xyz"]
const page = await browser.open('{{site}}/leaf');
const text = await page.evaluate(() => 'x'.repeat(1_999_997) + 'xyz');
[text.length, text.slice(-3)]
// --- the page's own world is the one that is meant
//! result: ["mine","mine"]
const page = await browser.open('{{site}}/leaf');
await page.evaluate(() => { window.ours = 'mine'; });
[await page.evaluate('ours'), await page.locator('button').evaluate(() => ours)]
// --- elements as the argument of a wait, also of one that is rendered again
//! result: ["yes","yes","Click!"]
const page = await browser.open('{{site}}/leaf');
const button = await page.$('button');
await page.evaluate(() => setTimeout(() => { document.querySelector('button').dataset.ready = 'yes'; }, 100));
const ready = await page.waitForFunction((element) => element.dataset.ready, button);
const among = await page.waitForFunction(({ all: [element], key }) => element.dataset[key], { all: [button], key: 'ready' });
await page.setContent('<button>Click</button>');
await page.evaluate(() => setTimeout(() => { document.body.innerHTML = '<button>Click!</button>'; }, 100));
[ready, among, await page.waitForFunction((element) => element.isConnected && element.textContent.endsWith('!') && element.textContent, page.locator('button', { hasText: '!' }))]
// --- elements among the arguments of functions, of locators and in frames
//! result: ["BUTTON P","BUTTON 1 true","2 BUTTON","IFRAME","Inside INPUT",true]
const page = await browser.open('{{site}}/frames');
await page.setContent('<button>a</button><button>b</button><p></p><iframe src="{{other}}/inner"></iframe>');
const [button, p, frame] = ['button >> nth=0', 'p', 'iframe'].map((selector) => page.locator(selector));
const inside = frame.contentFrame();
[
  await page.evaluate(([a, { b }]) => `${a.tagName} ${b.tagName}`, [button, { b: p }]),
  await button.evaluate((own, { other, n }) => `${own.tagName} ${n} ${own === other}`, { other: button, n: 1 }),
  await page.locator('button').evaluateAll((all, first) => `${all.length} ${first.tagName}`, button),
  await page.evaluate((element) => element.tagName, frame),
  await inside.getByRole('button').evaluate((own, { field }) => `${own.textContent} ${field.tagName}`, { field: inside.getByLabel('Text') }),
  await page.evaluate(({ a, b }) => a === b, { a: button, b: page.getByText('a', { exact: true }) }),
]
// --- an element of another frame than the function's
//! error: INVALID_ARGUMENT
//! message: /^(?:Error: |CallError: )?locator\.evaluate: elements can be passed only to a function that runs in their own frame/
const page = await browser.open('{{site}}/frames');
await page.locator('button').evaluate((own, other) => other, page.frameLocator('[name=near]').locator('button'))
// --- a page is no argument
//! error: INVALID_ARGUMENT
//! message: /^(?:Error: )?page\.evaluate: a page or frame cannot be passed to the page/
const page = await browser.open('{{site}}/leaf');
await page.evaluate((given) => given, { page })
// --- more elements than a function gets: it is told, and no function gets a part of them
//! error: RESULT_TOO_LARGE
//! message: /^(?:Error: |CallError: )?page\.\$\$eval: locator\('i'\) finds more than 5000 elements/
const page = await browser.open('{{site}}/leaf');
await page.setContent('<i></i>'.repeat(5001));
await page.$$eval('i', (all) => all.length)
// --- waits in a frame, with an element of it
//! result: ["Inner",true,7]
const page = await browser.open('{{site}}/frames');
const frame = await page.frame({ url: '**/inner?far*' });
const button = frame.getByRole('button');
await frame.evaluate(() => void setTimeout(() => (window.ready = 7), 50));
[
  await frame.waitForFunction('document.title'), await frame.waitForFunction(({ button }) => button.ownerDocument === document, { button }),
  await frame.waitForFunction(() => window.ready),
]
// --- a wait between looks of no time
//! error: INVALID_ARGUMENT
//! message: /^(?:Error: )?page\.waitForFunction: Cannot poll with non-positive interval/
const page = await browser.open('{{site}}/leaf');
await page.waitForFunction(() => true, undefined, { polling: -10 })
