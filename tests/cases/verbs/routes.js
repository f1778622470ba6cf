// Requests that a script answers itself, on `tests/site/requests.html`.

// --- a request is answered, and no server is asked
//! result: ["{\"mine\":true}",200,"application/json"]
const page = await browser.open('{{site}}/requests');
await page.route('**/things', (route) => route.fulfill({ json: { mine: true } }));
const [answer] = await Promise.all([page.waitForResponse('**/things'), page.click('#get')]);
await page.getByText('mine').waitFor();
[await page.textContent('#out'), answer.status(), answer.headers()['content-type']]
// --- with status, headers, bytes and a type
//! result: [503,"yes","text/plain","nothing to see"]
const page = await browser.open('{{site}}/requests');
await page.route('**/things', (route) => route.fulfill({ status: 503, headers: { 'X-Mine': 'yes' }, contentType: 'text/plain', body: new TextEncoder().encode('nothing to see') }));
const [answer] = await Promise.all([page.waitForResponse('**/things'), page.click('#get')]);
[answer.status(), answer.headers()['x-mine'], answer.headers()['content-type'], await answer.text()]
// --- a whole page is answered
//! result: ["Mine","http://example.invalid/"]
const page = await browser.open();
await page.route('http://example.invalid/**', (route) => route.fulfill({ contentType: 'text/html', body: '<title>Mine</title>' }));
await page.goto('http://example.invalid/');
[await page.title(), page.url()]
// --- a request is stopped
//! result: ["TypeError","net::ERR_FAILED","net::ERR_BLOCKED_BY_CLIENT.Inspector"]
const page = await browser.open('{{site}}/requests');
await page.route('**/things', (route) => route.abort());
const [first] = await Promise.all([page.waitForEvent('requestfailed'), page.click('#get')]);
await page.getByText('TypeError').waitFor();
const told = await page.textContent('#out');
await page.unrouteAll();
await page.route('**/things', (route) => route.abort('blockedbyclient'));
const [second] = await Promise.all([page.waitForEvent('requestfailed'), page.click('#get')]);
[told, first.failure().errorText, second.failure().errorText]
// --- an error that there is not
//! error: INVALID_ARGUMENT
//! message: /^route\.abort: "tired" is no error of a request/
const page = await browser.open('{{site}}/requests');
let failed;
await page.route('**/things', async (route) => { failed = await route.abort('tired').catch((error) => error); });
await page.click('#get');
while (failed === undefined) await page.waitForTimeout(10);
throw failed
// --- a request goes on with another method, body and headers
//! result: ["PUT","/mirror","changed","script",true]
const page = await browser.open('{{site}}/requests');
await page.route('**/mirror', (route, request) => {
  const { 'x-mine': mine, ...headers } = request.headers();
  return route.continue({ method: 'PUT', postData: 'changed', headers: { ...headers, 'x-other': 'script' } });
});
await page.click('#post');
await page.getByText('"method"').waitFor();
const { method, path, body, headers } = JSON.parse(await page.textContent('#out'));
[method, path, body, headers['x-other'], headers['x-mine'] === undefined]
// --- a request goes on to another address, and the page sees nothing of that
//! result: ["POST","/mirror?instead","original"]
const page = await browser.open('{{site}}/requests');
await page.route('**/mirror', (route) => route.continue({ url: '{{site}}/mirror?instead' }));
await page.click('#post');
await page.getByText('"method"').waitFor();
const { method, path, body } = JSON.parse(await page.textContent('#out'));
[method, path, body]
// --- what is read of the request
//! result: ["POST","original","page",true,false,true]
const page = await browser.open('{{site}}/requests');
const seen = [];
await page.route('**/mirror', (route, request) => {
  seen.push(request.method(), request.postData(), request.headers()['x-mine'], /^(xhr|fetch)$/.test(request.resourceType()), request.isNavigationRequest(), request.url() === '{{site}}/mirror');
  return route.continue();
});
await Promise.all([page.waitForResponse('**/mirror'), page.click('#post')]);
seen
// --- patterns: a glob, an expression, one that only the language has, and a function
//! result: [["glob",1],["regexp",1],["lookahead",1],["function",1]]
const page = await browser.open('{{site}}/requests');
const counts = [];
const patterns = { glob: '**/{lamps,things}', regexp: /\/THINGS$/i, lookahead: /\/th(?=ings)/, function: (url) => url.pathname === '/things' };
for (const [name, pattern] of Object.entries(patterns)) {
  let count = 0;
  await page.route(pattern, (route) => { count++; return route.fulfill({ body: name }); });
  await page.click('#get');
  await page.getByText(name).waitFor();
  await page.unroute(pattern);
  counts.push([name, count]);
}
counts
// --- addresses relative to the page's, in which a question mark and a bracket stand for themselves
//! result: ["mine","mine","mine","mine","mine","mine","mine"]
const page = await browser.open('{{site}}/requests');
const seen = [];
for (const pattern of ['things?q=1', '/things?q=1', './thing*?q=1', '{lamps,things}?q=*', '/th*s?q=1', '{{site}}/things?q=*', '{http,https}://127.0.0.1:*/things?q=1']) {
  await page.route(pattern, (route) => route.fulfill({ body: 'mine' }));
  const asked = page.waitForRequest(pattern, { timeout: 5000 });
  seen.push(await page.evaluate(() => fetch('things?q=1').then((answer) => answer.text())));
  await asked;
  await page.unroute(pattern);
}
seen
// --- a question mark is no wildcard
//! result: ["lamp","mine","mine"]
const page = await browser.open('{{site}}/requests');
await page.route('**/thing?', (route) => route.fulfill({ body: 'mine' }));
await page.route('mirror?[a]', (route) => route.fulfill({ body: 'mine' }));
const ask = (url) => page.evaluate((url) => fetch(url).then((answer) => answer.text()), url);
[/lamp/.exec(await ask('/things'))[0], await ask('/thing?'), await ask('/mirror?[a]')]
// --- a relative address stays that of the page on which it was given
//! result: "mine"
const page = await browser.open('{{site}}/requests');
await page.route('things', (route) => route.fulfill({ body: 'mine' }));
await page.evaluate(() => history.pushState(null, '', '/deeper/requests'));
await page.title();
await page.route('**/none', (route) => route.abort());
await page.click('#get');
await page.getByText('mine').waitFor();
await page.textContent('#out')
// --- the newest handler first, and the others by fallback
//! result: ["newest","older"]
const page = await browser.open('{{site}}/requests');
const order = [];
await page.route('**/*', (route) => { order.push('older'); return route.fulfill({ body: 'by the older' }); });
await page.route('**/things', (route) => { order.push('newest'); return route.fallback(); });
await page.click('#get');
await page.getByText('by the older').waitFor();
order
// --- once
//! result: ["once",true]
const page = await browser.open('{{site}}/requests');
await page.route('**/things', (route) => route.fulfill({ body: 'once' }), { times: 1 });
await page.click('#get');
await page.getByText('once').waitFor();
const first = await page.textContent('#out');
await page.click('#get');
await page.getByText('lamp').waitFor();
[first, (await page.textContent('#out')).includes('lamp')]
// --- no more after unroute, by the handler too
//! result: ["first","second",true]
const page = await browser.open('{{site}}/requests');
const first = (route) => route.fulfill({ body: 'first' });
const second = (route) => route.fulfill({ body: 'second' });
const seen = [];
const ask = async (text) => { await page.click('#get'); await page.getByText(text).waitFor(); seen.push(await page.textContent('#out')); };
await page.route('**/things', second);
await page.route('**/things', first);
await ask('first');
await page.unroute('**/things', first);
await ask('second');
await page.unroute('**/things');
await ask('lamp');
[seen[0], seen[1], seen[2].includes('lamp')]
// --- a route is answered once
//! result: /^route\.continue: Route is already handled!/
const page = await browser.open('{{site}}/requests');
let failed;
await page.route('**/things', async (route) => { await route.fulfill({ body: 'done' }); failed = await route.continue().catch((error) => error); });
await page.click('#get');
await page.getByText('done').waitFor();
while (failed === undefined) await page.waitForTimeout(10);
failed.message
// --- where the server sends a request on, no route is asked again
//! result: [["/redirect"],true]
const page = await browser.open('{{site}}/requests');
const asked = [];
await page.route('**/*', (route, request) => { asked.push(new URL(request.url()).pathname); return route.continue(); });
await page.click('#redirected');
await page.getByText('lamp').waitFor();
[asked, (await page.textContent('#out')).includes('lamp')]
// --- of another origin: the page may read what the script answers
//! result: "from the script"
const page = await browser.open('{{site}}/requests');
await page.route('{{other}}/**', (route) => route.fulfill({ body: 'from the script' }));
await page.click('#elsewhere');
await page.getByText('from the script').waitFor();
await page.textContent('#out')
// --- a page may read an answer of another origin, whose own `Vary` is kept
//! result: ["mine","Accept-Language, Origin"]
const page = await browser.open('{{site}}/requests');
await page.route('{{other}}/**', (route) => route.fulfill({ body: 'mine', headers: { Vary: 'Accept-Language' } }));
const [answer] = await Promise.all([page.waitForResponse('{{other}}/**'), page.click('#elsewhere')]);
await page.getByText('mine').waitFor();
[await page.textContent('#out'), answer.headers().vary]
// --- the headers in a handler of a request to another site tell the page's, also if a listener saw the request before
//! result: [true,true]
const page = await browser.open('{{site}}/requests');
const seen = [];
await page.route('{{other}}/**', (route, request) => {
  seen.push(request.headers().origin === '{{site}}');
  return route.fulfill({ body: 'mine' });
});
const ask = () => page.evaluate((url) => fetch(url).then((answer) => answer.text()), '{{other}}/things');
await ask();
page.on('request', () => {});
await ask();
seen
// --- a frame on the same site and its requests
//! result: ["/framed","/things"]
const page = await browser.open('{{site}}/requests');
const asked = [];
await page.route('**/*', (route, request) => { asked.push(new URL(request.url()).pathname); return request.url().endsWith('/things') ? route.fulfill({ body: 'framed' }) : route.continue(); });
await page.click('#same');
const frame = page.frameLocator('iframe');
await frame.locator('#ask').click();
await frame.getByText('framed').waitFor();
asked
// --- a frame on another site and its requests
//! result: ["/framed","/things"]
const page = await browser.open('{{site}}/requests');
const asked = [];
await page.route('{{other}}/**', (route, request) => { asked.push(new URL(request.url()).pathname); return request.url().endsWith('/things') ? route.fulfill({ body: 'framed' }) : route.continue(); });
await page.click('#other');
const frame = page.frameLocator('iframe');
await frame.locator('#ask').click();
await frame.getByText('framed').waitFor();
asked
// --- a frame on another site that was there before
//! result: "framed"
const page = await browser.open('{{site}}/requests');
await page.click('#other');
const frame = page.frameLocator('iframe');
await frame.locator('#ask').waitFor();
await page.route('{{other}}/**', (route) => route.fulfill({ body: 'framed' }));
await frame.locator('#ask').click();
await frame.getByText('framed').waitFor();
await frame.locator('#out').textContent()
// --- a window that the page opens has routes of its own
//! result: [0,true]
const page = await browser.open('{{site}}/requests');
let asked = 0;
await page.route('**/*', (route) => { asked++; return route.continue(); });
const [popup] = await Promise.all([page.waitForEvent('popup'), page.click('#popup')]);
await popup.waitForLoadState();
[asked, (await popup.textContent('body')).includes('lamp')]
// --- the server's answer, changed by the script
//! result: ["lamp",3]
const page = await browser.open('{{site}}/requests');
await page.route('**/things', async (route) => {
  const response = await route.fetch();
  const json = await response.json();
  await route.fulfill({ response, json: { ...json, count: 3 } });
});
await page.click('#get');
await page.getByText('lamp').waitFor();
const { things, count } = JSON.parse(await page.textContent('#out'));
[things[0], count]
// --- a handler that throws leaves the page waiting, and no verb
//! result: ["Requests","requests"]
//! warnings: ["/nothing handled: Error: from the handler/"]
const page = await browser.open('{{site}}/requests');
await page.route('**/things', () => { throw new Error('from the handler'); });
await page.click('#get');
const title = await page.title();
await page.unrouteAll();
[title, new URL(page.url()).pathname.slice(1)]
// --- not to files, wherever it is written
//! result: ["POLICY_REFUSED","POLICY_REFUSED"]
const page = await browser.open('{{site}}/requests');
const codes = [];
await page.route('**/things', async (route) => {
  for (const url of ['file:///etc/passwd', 'chrome://version']) await route.continue({ url }).catch(({ code }) => codes.push(code));
}, { times: 1 });
await page.click('#get');
while (codes.length < 2) await page.waitForTimeout(10);
codes
// --- more routes than a page may have
//! error: INVALID_ARGUMENT
//! message: /^page\.route: a page may have 100 routes/
const page = await browser.open('{{site}}/requests');
for (let n = 0; n < 101; n++) await page.route(`**/${n}`, (route) => route.continue());
