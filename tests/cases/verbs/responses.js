// The objects that events of requests carry, on `tests/site/requests.html`.

// --- a request that fails, that ends, and what is read of an answer
//! result: [["request","response","requestfinished"],"lamp",true,37,"application/json",null]
const page = await browser.open('{{site}}/requests');
const seen = [];
const isMeant = (request) => request.url().endsWith('/things');
page.on('request', (request) => isMeant(request) && seen.push('request'));
page.on('response', (response) => isMeant(response.request()) && seen.push('response'));
page.on('requestfinished', (request) => isMeant(request) && seen.push('requestfinished'));
const [request] = await Promise.all([page.waitForEvent('requestfinished', isMeant), page.click('#get')]);
const response = await request.response();
[seen, (await response.json()).things[0], (await response.text()).includes('chair'), (await response.body()).length, await response.headerValue('Content-Type'), request.failure()]
// --- what a request carries
//! result: ["POST","original",[111,114],"page",null]
const page = await browser.open('{{site}}/requests');
const [request] = await Promise.all([page.waitForRequest('**/mirror'), page.click('#post')]);
[request.method(), request.postData(), [...request.postDataBuffer().slice(0, 2)], await request.headerValue('X-Mine'), (await page.waitForResponse('**/things', { timeout: 1 }).catch(() => null))]
// --- a redirect, from both of its ends
//! result: ["/redirect","/things","/redirect"]
const page = await browser.open('{{site}}/requests');
const [response] = await Promise.all([page.waitForResponse('**/things'), page.click('#redirected')]);
const path = (request) => new URL(request.url()).pathname;
const from = response.request().redirectedFrom();
[path(from), path(from.redirectedTo()), path(response.request().redirectedFrom())]
// --- the answer of a navigation, and its body
//! result: [200,true,"text/html; charset=utf-8",true]
const page = await browser.open();
const response = await page.goto('{{site}}/leaf');
[response.status(), response.ok(), response.headers()['content-type'], (await response.text()).includes('Leaf')]
// --- a wait by a function and by an expression
//! result: ["/things","/things"]
const page = await browser.open('{{site}}/requests');
const [first] = await Promise.all([page.waitForResponse((response) => response.status() === 200 && response.url().includes('things')), page.click('#get')]);
const [second] = await Promise.all([page.waitForRequest(/\/things$/), page.click('#get')]);
[new URL(first.url()).pathname, new URL(second.url()).pathname]
// --- a wait for a response that does not come
//! error: /CALL_TIMEOUT|SCRIPT_ERROR/
//! message: /^(TimeoutError: )?page\.waitForResponse: Timeout 200ms exceeded/
const page = await browser.open('{{site}}/requests');
await page.waitForResponse('**/nothing', { timeout: 200 })
// --- a body that has not come yet is waited for
//! result: true
const page = await browser.open('{{site}}/requests');
const waiting = page.waitForResponse('**/half/body');
await page.evaluate(() => { fetch('/half/body').then((answer) => answer.text()); });
const body = (await waiting).text();
await page.evaluate(() => fetch('/release/body').then((answer) => answer.text()));
(await body).includes('the rest')
// --- a request that the page gives up
//! result: "net::ERR_ABORTED"
const page = await browser.open('{{site}}/requests');
const [request] = await Promise.all([page.waitForEvent('requestfailed'), page.evaluate(() => {
  const controller = new AbortController();
  fetch('/hold/given-up', { signal: controller.signal }).catch(() => null);
  setTimeout(() => controller.abort(), 50);
})]);
request.failure().errorText
