// The requests of a page as an HTTP archive (HAR 1.2), with each field that the format has by its type.

// --- each field of the format, in each entry
//! result: []
const page = await browser.open('{{site}}/requests');
await page.network();
for (const id of ['get', 'post', 'redirected']) await Promise.all([page.waitForEvent('requestfinished', (request) => /things|mirror/.test(request.url())), page.click(`#${id}`)]);
const har = await page.har();
const text = (value) => typeof value === 'string';
const count = (value) => Number.isInteger(value) && value >= -1;
const time = (value) => typeof value === 'number' && value >= -1;
const date = (value) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(value);
const list = (fields) => (value) => Array.isArray(value) && value.every((item) => faults(item, fields).length === 0);
const optional = (is) => Object.assign((value) => is(value), { optional: true });
const object = (fields) => (value) => faults(value, fields).length === 0;
const faults = (value, fields, at = '') => [
  ...Object.entries(fields).filter(([name, is]) => !(is.optional && !(name in value)) && !is(value[name])).map(([name]) => `${at}${name}: ${JSON.stringify(value[name])}`),
  ...Object.keys(value).filter((name) => !(name in fields) && !name.startsWith('_')).map((name) => `${at}${name} is no field`),
];
const pairs = list({ name: text, value: text });
const request = {
  method: text, url: text, httpVersion: text, cookies: list({}), headers: pairs, queryString: pairs, headersSize: count, bodySize: count,
  postData: optional(object({ mimeType: text, params: list({}), text })),
};
const response = {
  status: count, statusText: text, httpVersion: text, cookies: list({}), headers: pairs, redirectURL: text, headersSize: count, bodySize: count,
  content: object({ size: count, mimeType: text, text: optional(text), encoding: optional(text), comment: optional(text) }),
};
const timings = { blocked: time, dns: time, connect: time, send: time, wait: time, receive: time, ssl: time };
const { version, creator, browser: by, pages, entries, ...others } = har.log;
[
  ...faults(har, { log: Boolean }), ...Object.keys(others), ...(version === '1.2' ? [] : [version]),
  ...faults(creator, { name: text, version: text }), ...faults(by, { name: text, version: text }),
  ...pages.flatMap((page) => faults(page, { id: text, title: text, startedDateTime: date, pageTimings: object({ onContentLoad: time, onLoad: time }) })),
  ...entries.flatMap((entry, n) => [
    ...faults(entry, {
      pageref: (id) => id === pages[0].id, startedDateTime: date, time: (ms) => time(ms) && ms >= 0, request: Boolean, response: Boolean,
      cache: object({}), timings: Boolean, serverIPAddress: optional(text), connection: optional(text),
    }, `${n}.`),
    ...faults(entry.request, request, `${n}.request.`), ...faults(entry.response, response, `${n}.response.`), ...faults(entry.timings, timings, `${n}.timings.`),
    ...(Math.abs(entry.time - ['blocked', 'dns', 'connect', 'send', 'wait', 'receive'].reduce((sum, phase) => sum + Math.max(0, entry.timings[phase]), 0)) < 0.01 ? [] : [`${n}.time`]),
  ]),
  ...(entries.length >= 5 ? [] : [`${entries.length} entries`]),
]
// --- what was asked and answered
//! result: [["POST",[["q","a b"]],"original","text/plain;charset=UTF-8",8,200,"OK","application/json",true,true],["/redirect",302,"/things"]]
const page = await browser.open('{{site}}/requests');
await page.evaluate(() => fetch('/mirror?q=a%20b', { method: 'POST', body: 'original' }).then((answer) => answer.text()));
await Promise.all([page.waitForEvent('requestfinished', (request) => request.url().endsWith('/things')), page.click('#redirected')]);
const { entries } = (await page.har()).log;
const { request, response } = entries.find(({ request }) => request.url.includes('mirror'));
const redirect = entries.find(({ request }) => request.url.includes('redirect'));
[
  [request.method, request.queryString.map(({ name, value }) => [name, value]), request.postData.text, request.postData.mimeType, request.bodySize,
    response.status, response.statusText, response.content.mimeType, JSON.parse(response.content.text).body === 'original', response.content.size === response.content.text.length],
  [new URL(redirect.request.url).pathname, redirect.response.status, redirect.response.redirectURL],
]
// --- filtered by fields, and without bodies
//! result: [["/things"],["size","mimeType"],0]
const page = await browser.open('{{site}}/requests');
await Promise.all([page.waitForEvent('requestfinished', (request) => request.url().endsWith('/things')), page.click('#get')]);
const { entries } = (await page.har({ filter: { url: /THINGS$/i, status: 200 }, content: 'omit' })).log;
[entries.map(({ request }) => new URL(request.url).pathname), Object.keys(entries[0].response.content).reverse().sort((a, b) => a < b ? 1 : -1), (await page.har({ filter: 'nothing of this' })).log.entries.length]
// --- a body that is no text
//! result: ["base64",true]
const page = await browser.open('{{site}}/requests');
await page.evaluate(() => fetch('/octets').then((answer) => answer.arrayBuffer()));
const [{ response }] = (await page.har({ filter: '/octets' })).log.entries;
[response.content.encoding ?? 'base64', [response.content.text, btoa('octets')].includes(btoa('octets'))]
// --- a body that is too large is said to be left out
//! result: ["a body of 20971520 bytes is left out",true]
const page = await browser.open('{{site}}/requests');
await page.evaluate(() => fetch('/download').then((answer) => answer.arrayBuffer()).then(() => null));
const [{ response }] = (await page.har({ filter: '/download' })).log.entries;
[response.content.comment, response.content.text === undefined]
// --- a request that failed
//! result: [0,"net::ERR_CONNECTION_REFUSED"]
const page = await browser.open('{{site}}/news');
await Promise.all([page.waitForEvent('requestfailed'), page.click('#fail')]);
const [{ response }] = (await page.har({ filter: { failed: true } })).log.entries;
[response.status, response._error]
// --- credentials are not in it
//! result: [false,true]
const page = await browser.open('{{site}}/cookie');
await page.evaluate(() => fetch('/cookie', { headers: { Authorization: 'Bearer c2VjcmV0' } }).then((answer) => answer.text()));
const text = JSON.stringify(await page.har({ content: 'omit' }));
[/c2VjcmV0|taste=sweet/.test(text), text.includes('[left out]')]
