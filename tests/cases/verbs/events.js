// What a page tells, on `tests/site/news.html`.

// --- the console
//! result: [["log","text 1",true],["warning","careful",true],["error","wrong",true]]
const page = await browser.open('{{site}}/news');
const lines = [];
page.on('console', (message) => lines.push([message.type(), message.text().slice(0, 7).trim(), message.location().url.startsWith('{{site}}/news')]));
await page.click('#console');
lines
// --- errors that nobody caught
//! result: [["TypeError","thrown by the page"],["RangeError","rejected by the page"]]
const page = await browser.open('{{site}}/news');
const errors = [];
page.on('pageerror', ({ name, message }) => errors.push([name, message]));
await page.click('#throw');
const rejected = page.waitForEvent('pageerror', (error) => error.name === 'RangeError');
await page.click('#reject');
await rejected;
errors
// --- an answer, its request and its body
//! result: [200,true,"application/json",{"things":["lamp","chair"],"count":2},"GET","fetch"]
const page = await browser.open('{{site}}/news');
const [answer] = await Promise.all([page.waitForResponse('**/things'), page.click('#get')]);
[answer.status(), answer.ok(), answer.headers()['content-type'], await answer.json(), answer.request().method(), answer.request().resourceType()]
// --- a request and what it sends
//! result: ["POST","sent by the page","yes","/echo","sent by the page"]
const page = await browser.open('{{site}}/news');
const [request] = await Promise.all([page.waitForRequest((request) => request.method() === 'POST'), page.click('#post')]);
const answer = await request.response();
[request.method(), request.postData(), request.headers()['x-mine'], new URL(request.url()).pathname, await answer.text()]
// --- a request that fails
//! result: [true,"net::ERR_CONNECTION_REFUSED"]
const page = await browser.open('{{site}}/news');
const [request] = await Promise.all([page.waitForEvent('requestfailed'), page.click('#fail')]);
[request.url() === '{{closed}}/', request.failure().errorText]
// --- requests in their order, and the document's among them
//! result: [["/controls","document",true],["/controls",200]]
const page = await browser.open('{{site}}/news');
const requests = [];
const answers = [];
page.on('request', (request) => requests.push([new URL(request.url()).pathname, request.resourceType(), request.isNavigationRequest()]));
page.on('response', (answer) => answers.push([new URL(answer.url()).pathname, answer.status()]));
await page.goto('{{site}}/controls');
const isDocument = ([path]) => path === '/controls';
[requests.find(isDocument), answers.find(isDocument)]
// --- a listener that is taken away
//! result: ["first"]
const page = await browser.open('{{site}}/news');
const lines = [];
const listener = (message) => lines.push(message.text());
page.on('console', listener);
await page.evaluate(() => console.log('first'));
page.off('console', listener);
await page.evaluate(() => console.log('second'));
lines
// --- an event that does not come
//! error: CALL_TIMEOUT
//! message: /page\.waitForEvent: Timeout 200ms exceeded while waiting for event "popup"/
const page = await browser.open('{{site}}/news');
await page.waitForEvent('popup', { timeout: 200 })
// --- a page is told to the browser, and when it closes
//! result: ["/controls",true]
const page = await browser.open('{{site}}/news');
const [popup] = await Promise.all([page.context().waitForEvent('page'), page.click('#popup')]);
await popup.waitForURL('**/controls');
const path = new URL(popup.url()).pathname;
const closed = popup.waitForEvent('close');
await popup.close();
await closed;
[path, popup.isClosed()]
// --- documents as they come
//! result: ["framenavigated /controls","domcontentloaded","load"]
const page = await browser.open('{{site}}/news');
const seen = [];
page.on('domcontentloaded', () => seen.push('domcontentloaded'));
page.on('load', () => seen.push('load'));
page.on('framenavigated', (frame) => seen.push(`framenavigated ${new URL(frame.url()).pathname}`));
await page.goto('{{site}}/controls');
seen
// --- a listener that fails is no secret
//! result: "done"
//! warnings: ["/^nothing handled: Error: from the listener/"]
const page = await browser.open('{{site}}/news');
page.on('console', () => { throw new Error('from the listener'); });
await page.evaluate(() => console.log('one line'));
'done'
// --- an event of that name does not exist
//! error: UNSUPPORTED_OPERATION
//! message: /page\.on\('dialogue'\) is not supported; use 'dialog'/
const page = await browser.open('{{site}}/news');
page.on('dialogue', () => null)
// --- an answer that comes just when it is asked for
//! result: 30
const page = await browser.open('{{site}}/news');
let answered = 0;
for (let round = 0; round < 30; round++) {
  const begun = page.waitForRequest('**/hold/*');
  await page.evaluate((round) => void fetch(`/hold/${round}`), round);
  const request = await begun;
  // Sooner and later, so that in some round the answer falls between what the host is asked and what it is told.
  await page.evaluate((round) => void setTimeout(() => fetch(`/release/${round}`), round), round);
  answered += (await request.response()).status() === 200;
}
answered
