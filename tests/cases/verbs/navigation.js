// Ways from page to page, on `tests/site/moves.html`.

// --- a page, its answer, its title
//! result: [200,true,"text/html; charset=utf-8","Controls","/controls"]
const page = await browser.open();
const answer = await page.goto('{{site}}/controls');
[answer.status(), answer.ok(), answer.headers()['content-type'], await page.title(), new URL(page.url()).pathname]
// --- a relative address
//! result: "/controls"
const page = await browser.open('{{site}}/moves');
await page.goto('/controls');
new URL(page.url()).pathname
// --- back, forward, again
//! result: ["/controls","/moves","/controls",200,null]
const page = await browser.open('{{site}}/moves');
const path = () => new URL(page.url()).pathname;
await page.goto('{{site}}/controls');
const first = path();
await page.goBack();
const back = path();
await page.goForward();
const forward = path();
const again = await page.reload();
[first, back, forward, again.status(), await page.goForward()]
// --- a redirect
//! result: [200,"/controls"]
const page = await browser.open();
const answer = await page.goto('{{site}}/redirect?to=/controls');
[answer.status(), new URL(answer.url()).pathname]
// --- a page that is not there is a page
//! result: [404,false,"Not found"]
const page = await browser.open();
const answer = await page.goto('{{site}}/nothing-of-that-name');
[answer.status(), answer.ok(), await page.title()]
// --- a server that is not there
//! error: NAVIGATION_FAILED
//! message: /(?s)^page\.goto: .*net::ERR_CONNECTION_REFUSED.*at http:\/\/127\.0\.0\.1:/
const page = await browser.open('{{site}}/moves');
await page.goto('{{closed}}/')
// --- an address that is none
//! error: /NAVIGATION_FAILED|INVALID_ARGUMENT/
//! message: /(?s)^page\.goto: /
const page = await browser.open();
await page.goto('http://')
// --- within the document
//! result: [null,"#part","#part","/pushed?by=script"]
const page = await browser.open('{{site}}/moves');
const answer = await page.goto('{{site}}/moves#part');
const gone = new URL(page.url()).hash;
await page.goBack();
await page.click('#hash');
await page.waitForURL('**#part');
const clicked = new URL(page.url()).hash;
await page.click('#push');
await page.waitForURL('**/pushed?by=script');
const { pathname, search } = new URL(page.url());
[answer, gone, clicked, pathname + search]
// --- an address to wait for, relative to the page's and with a question mark
//! result: ["/pushed?by=script","/pushed?by=script"]
const page = await browser.open('{{site}}/moves');
const path = () => { const { pathname, search } = new URL(page.url()); return pathname + search; };
await page.click('#push');
await page.waitForURL('pushed?by=script', { timeout: 5000 });
const first = path();
await page.waitForURL('/push*?by=*', { timeout: 5000 });
[first, path()]
// --- a click on a link is over when the page is there
//! result: ["Controls","/controls"]
const page = await browser.open('{{site}}/moves');
await page.click('#link');
[await page.title(), new URL(page.url()).pathname]
// --- a script of the page leaves
//! result: "Controls"
const page = await browser.open('{{site}}/moves');
await page.click('#assign');
await page.waitForURL(/controls$/);
await page.title()
// --- Enter in a field sends the form
//! result: ["Controls","?q=lamp"]
const page = await browser.open('{{site}}/moves');
await page.getByLabel('Query').fill('lamp');
await page.getByLabel('Query').press('Enter');
[await page.title(), new URL(page.url()).search]
// --- a link that leads nowhere
//! result: ["Moves","/moves"]
const page = await browser.open('{{site}}/moves');
await page.click('#nothing');
[await page.title(), new URL(page.url()).pathname]
// --- a new window
//! result: ["Controls","/controls",true,2]
const page = await browser.open('{{site}}/moves');
const [popup] = await Promise.all([page.waitForEvent('popup'), page.click('#popup')]);
await popup.waitForURL('**/controls');
[await popup.title(), new URL(popup.url()).pathname, (await popup.opener()).id === page.id, (await browser.pages()).filter(({ id }) => [page.id, popup.id].includes(id)).length]
// --- a link into a new tab
//! result: "/controls"
const page = await browser.open('{{site}}/moves');
const coming = page.waitForEvent('popup');
await page.click('#blank');
const popup = await coming;
await popup.waitForURL('**/controls');
await popup.evaluate('location.pathname')
// --- a click that closes its own page
//! result: [true,"CDP_TARGET_CLOSED"]
const page = await browser.open('{{site}}/moves');
const [popup] = await Promise.all([page.waitForEvent('popup'), page.click('#popup')]);
await popup.waitForURL('**/controls');
const closed = popup.waitForEvent('close');
await popup.evaluate(() => { document.body.innerHTML = '<button onclick="window.close()">close</button>'; });
await popup.click('button');
await closed;
const error = await popup.title().catch((error) => error);
[popup.isClosed(), error.code]
// --- waiting for parts of the load
//! result: ["commit","interactive","first","complete"]
const page = await browser.open();
await page.goto('{{site}}/half/load', { waitUntil: 'commit' });
const seen = ['commit'];
await page.waitForSelector('#first');
seen.push(await page.evaluate('document.readyState').then((state) => state === 'loading' ? 'interactive' : state), await page.textContent('#first'));
const loaded = page.waitForLoadState('load');
await page.evaluate(() => void fetch('/release/load'));
await loaded;
[...seen, await page.evaluate('document.readyState')]
// --- a page that does not end loading
//! error: CALL_TIMEOUT
//! message: /(?s)^page\.goto: Timeout 500ms exceeded/
const page = await browser.open();
await page.goto('{{site}}/half/never', { timeout: 500 })
// --- a server that does not answer
//! error: CALL_TIMEOUT
//! message: /(?s)^page\.goto: Timeout 500ms exceeded/
const page = await browser.open();
await page.goto('{{site}}/hold/never', { timeout: 500 })
// --- requests that come to an end
//! result: "Held idle"
const page = await browser.open('{{site}}/moves');
await page.evaluate(() => void fetch('/hold/idle').then((answer) => answer.text()).then((text) => (document.title = /<title>(.*)</.exec(text)[1])));
const idle = page.waitForLoadState('networkidle');
await page.evaluate(() => void fetch('/release/idle'));
await idle;
await page.waitForFunction(() => document.title !== 'Moves' && document.title)
// --- an address that does not come
//! error: CALL_TIMEOUT
//! message: /(?s)^page\.waitForURL: Timeout 300ms exceeded/
const page = await browser.open('{{site}}/moves');
await page.waitForURL('**/never', { timeout: 300 })
// --- addresses as texts, patterns, expressions and functions
//! result: 4
const page = await browser.open('{{site}}/controls');
let count = 0;
for (const url of ['{{site}}/controls', '**/contr*', /CONTROLS$/i, (url) => url.pathname === '/controls']) {
  await page.waitForURL(url);
  count++;
}
count
// --- an answer of the server's own language
//! result: {"things":["lamp","chair"],"count":2}
const page = await browser.open();
const answer = await page.goto('{{site}}/things');
await answer.json()
// --- the server asks the browser who it is
//! result: [401,"Private","for ada"]
const page = await browser.open();
const refused = await page.goto('{{site}}/private');
await page.goto('{{site}}/private'.replace('//', '//ada:lovelace@'));
[refused?.status(), await page.title(), await page.textContent('p')]
// --- cookies of the browser, of the page and of the script
//! result: ["none","taste=sweet","",["mine=2","taste=sweet"],0]
const page = await browser.open('{{site}}/cookie');
const first = await page.textContent('p');
await page.reload();
const second = await page.textContent('p');
const own = await page.evaluate('document.cookie');
await page.context().addCookies([{ name: 'mine', value: '2', url: '{{site}}' }]);
const all = (await page.context().cookies('{{site}}')).map(({ name, value }) => `${name}=${value}`).sort();
await page.context().clearCookies();
[first, second, own, all, (await page.context().cookies()).length]
// --- cookies of all addresses of the browser, and of none that were cleared
//! result: [["far localhost","near 127.0.0.1"],["near"],["far"],[]]
const page = await browser.open('{{site}}/leaf');
const context = page.context();
await context.addCookies([{ name: 'near', value: '1', url: '{{site}}' }, { name: 'far', value: '2', url: '{{other}}' }]);
const all = (await context.cookies()).map(({ name, domain }) => `${name} ${domain}`).sort();
const own = (await context.cookies('{{site}}')).map(({ name }) => name);
await context.clearCookies({ name: 'near' });
const left = (await context.cookies()).map(({ name }) => name);
await context.clearCookies();
[all, own, left, await context.cookies()]
// --- storage of the page
//! result: [["theme","dark"],"taste"]
const page = await browser.open('{{site}}/cookie');
await page.evaluate(() => localStorage.setItem('theme', 'dark'));
const { origins, cookies } = await page.context().storageState();
const { localStorage: [{ name, value }] } = origins.find(({ origin }) => origin === '{{site}}');
[[name, value], cookies[0].name]
// --- a script before those of the page
//! result: ["set",1,1]
const page = await browser.open();
await page.addInitScript((value) => { window.early = value; window.times = (window.times ?? 0) + 1; }, 'set');
await page.goto('{{site}}/controls');
const early = await page.evaluate('early');
const times = await page.evaluate('times');
await page.reload();
[early, times, await page.evaluate('times')]
