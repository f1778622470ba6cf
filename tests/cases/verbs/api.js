// Requests of the script's own, made by the browser: `page.request`.

// --- with the page's cookies, and it takes those that it is given
//! result: [200,true,"taste=sweet","taste=sweet"]
const page = await browser.open('{{site}}/leaf');
await page.request.get('{{site}}/cookie');
const answer = await page.request.get('{{site}}/mirror');
const { headers } = await answer.json();
[answer.status(), answer.ok(), headers.cookie, (await page.context().cookies()).map(({ name, value }) => `${name}=${value}`).join()]
// --- no page sees it
//! result: [true,true,[],[]]
const page = await browser.open('{{site}}/leaf');
const seen = [];
const before = (await browser.pages()).length;
page.on('request', (request) => /things|controls/.test(request.url()) && seen.push(request.url()));
page.context().on('page', (other) => seen.push(other.url()));
await page.request.get('{{site}}/things');
await page.request.get('{{site}}/controls');
[page.url() === '{{site}}/leaf', (await browser.pages()).length === before, await page.network('/things'), seen]
// --- of another origin, whatever that lets pages read
//! result: {"things":["lamp","chair"],"count":2}
const page = await browser.open('{{site}}/leaf');
await (await page.request.get('{{other}}/things')).json()
// --- what is read of an answer
//! result: [true,200,"OK","application/json",true,"{\"things\"",37,true]
const page = await browser.open('{{site}}/leaf');
const answer = await page.request.get('/things');
[answer.url() === '{{site}}/things', answer.status(), answer.statusText(), answer.headers()['content-type'], answer.headersArray().some(({ name }) => /content-type/i.test(name)), (await answer.text()).slice(0, 9), (await answer.body()).length, answer.toJSON().url === answer.url()]
// --- methods, and what they carry
//! result: [["POST","application/json","{\"a\":1}"],["PUT","text/plain","text"],["PATCH","application/x-www-form-urlencoded","a=1+2&b=%C3%BC"],["DELETE",null,""],["OPTIONS",null,""],["POST","application/octet-stream","bytes"]]
const page = await browser.open('{{site}}/leaf');
const { request } = page;
const answers = [
  await request.post('/mirror', { data: { a: 1 } }),
  await request.put('/mirror', { data: 'text', headers: { 'Content-Type': 'text/plain' } }),
  await request.patch('/mirror', { form: { a: '1 2', b: 'ü' } }),
  await request.delete('/mirror'),
  await request.fetch('/mirror', { method: 'OPTIONS' }),
  await request.post('/mirror', { data: new TextEncoder().encode('bytes') }),
];
const rows = [];
for (const answer of answers) {
  const { method, headers, body } = await answer.json();
  rows.push([method, headers['content-type'] ?? null, body]);
}
rows
// --- headers of the script's, and none of a navigation's
//! result: ["yes","*/*",true,true]
const page = await browser.open('{{site}}/leaf');
const { headers } = await (await page.request.get('/mirror', { headers: { 'X-Mine': 'yes' } })).json();
[headers['x-mine'], headers.accept, headers['upgrade-insecure-requests'] === undefined, /Chrome/.test(headers['user-agent'])]
// --- parameters
//! result: ["/mirror?x=1&a=b+c&n=2","/mirror?q=1"]
const page = await browser.open('{{site}}/leaf');
const path = async (answer) => (await answer.json()).path;
[await path(await page.request.get('/mirror?x=1', { params: { a: 'b c', n: 2 } })), await path(await page.request.get('/mirror', { params: 'q=1' }))]
// --- a form with files
//! result: ["a.txt text/plain 5 ea8f163db3868292"]
const page = await browser.open('{{site}}/leaf');
const answer = await page.request.post('/uploaded', { multipart: { name: 'ada', file: { name: 'a.txt', mimeType: 'text/plain', buffer: 'hello' } } });
(await answer.text()).match(/<li>(.*?)<\/li>/g).map((item) => item.replace(/<[^>]+>/g, ''))
// --- the head alone
//! result: [200,"application/json",0]
const page = await browser.open('{{site}}/leaf');
const answer = await page.request.head('/things');
[answer.status(), answer.headers()['content-type'], (await answer.body()).length]
// --- an answer that is no success is an answer, unless the script says otherwise
//! result: [404,false,503,204,"","apiRequestContext.get: 404 Not Found"]
const page = await browser.open('{{site}}/leaf');
const missing = await page.request.get('/status/404');
const empty = await page.request.get('/status/204');
[missing.status(), missing.ok(), (await page.request.get('/status/503')).status(), empty.status(), await empty.text(), await page.request.get('/status/404', { failOnStatusCode: true }).catch(({ message }) => message)]
// --- a file is read, and not downloaded
//! result: ["a,b\n1,2\n",0]
const page = await browser.open('{{site}}/leaf');
let downloads = 0;
page.on('download', () => downloads++);
const text = await (await page.request.get('/attachment/table.csv')).text();
await page.title();
[text, downloads]
// --- redirects are followed, as often as the script says
//! result: [["/things",200],[302,"/things"],"apiRequestContext.get: Max redirect count exceeded: 1 redirects",true]
const page = await browser.open('{{site}}/leaf');
const followed = await page.request.get('/redirect?to=/things');
const refused = await page.request.get('/redirect?to=/things', { maxRedirects: 0 });
const twice = '/redirect?to=' + encodeURIComponent('/redirect?to=/things');
[[new URL(followed.url()).pathname, followed.status()], [refused.status(), refused.headers().location], await page.request.get(twice, { maxRedirects: 1 }).catch(({ message }) => message.split(',')[0]), (await page.request.get(twice)).ok()]
// --- the body of an answer that leads nowhere
//! result: [302,"Status 302"]
const page = await browser.open('{{site}}/leaf');
const answer = await page.request.get('/status/302');
[answer.status(), /Status \d+/.exec(await answer.text())?.[0]]
// --- what a redirect makes of a request
//! result: [["GET","","yes",null,true],["POST","body","yes","text/plain",true],["POST","body","yes","text/plain",false]]
const page = await browser.open('{{site}}/leaf');
const options = { data: 'body', headers: { 'Content-Type': 'text/plain', 'X-Mine': 'yes', Authorization: 'Bearer token' } };
const rows = [];
for (const query of ['code=302&to=/mirror', 'code=307&to=/mirror', 'code=307&to={{other}}/mirror']) {
  const { method, body, headers } = await (await page.request.post(`/redirect?${query}`, options)).json();
  rows.push([method, body, headers['x-mine'], headers['content-type'] ?? null, headers.authorization === 'Bearer token']);
}
rows
// --- without end
//! error: CALL_FAILED
//! message: /^apiRequestContext\.get: Max redirect count exceeded|TOO_MANY_REDIRECTS/
const page = await browser.open('{{site}}/leaf');
await page.request.get('/around')
// --- an answer that does not come in time
//! error: CALL_TIMEOUT
//! message: /^apiRequestContext\.get: Timeout 300ms exceeded/
const page = await browser.open('{{site}}/leaf');
await page.request.get('/hold/api', { timeout: 300 })
// --- a body that does not end in time
//! result: [true,true]
const page = await browser.open('{{site}}/leaf');
const before = (await browser.pages()).length;
const { code } = await page.request.get('/half/api', { timeout: 500 }).catch((error) => error);
[code === 'CALL_TIMEOUT', (await browser.pages()).length === before]
// --- a body that is too large
//! error: RESULT_TOO_LARGE
//! message: /^apiRequestContext\.get: the answer's body has more than 8388608 bytes/
const page = await browser.open('{{site}}/leaf');
await page.request.get('/endless')
// --- a server that is not there
//! error: CALL_FAILED
//! message: /^apiRequestContext\.get: net::ERR_CONNECTION_REFUSED at /
const page = await browser.open('{{site}}/leaf');
await page.request.get('{{closed}}/')
// --- a request that a page made, again
//! result: ["POST","original","page"]
const page = await browser.open('{{site}}/requests');
const [made] = await Promise.all([page.waitForRequest('**/mirror'), page.click('#post')]);
const { method, body, headers } = await (await page.request.fetch(made)).json();
[method, body, headers['x-mine']]
// --- of the whole context
//! result: [200,"apiRequestContext.get: there is no page. Open one first: await browser.open(url)."]
const answered = [];
const page = await browser.open('{{site}}/leaf');
answered.push((await page.context().request.get('{{site}}/things')).status());
for (const each of await browser.pages()) await each.close();
answered.push(await browser.request.get('{{site}}/things').catch(({ message }) => message));
answered
// --- many at once
//! result: [12,true]
const page = await browser.open('{{site}}/leaf');
const before = (await browser.pages()).length;
const answers = await Promise.all(Array.from({ length: 12 }, (_, n) => page.request.get(`/mirror?n=${n}`)));
const numbers = await Promise.all(answers.map(async (answer) => (await answer.json()).path.split('=')[1]));
[new Set(numbers).size, (await browser.pages()).length === before]
// --- json that is none
//! error: /CALL_FAILED|SCRIPT_ERROR/
//! message: /^(Error: )?apiResponse\.json: the answer is no JSON; it is text\/html/
const page = await browser.open('{{site}}/leaf');
await (await page.request.get('/leaf')).json()
// --- what a script may not set
//! result: ["INVALID_ARGUMENT","INVALID_ARGUMENT","INVALID_ARGUMENT","INVALID_ARGUMENT"]
const page = await browser.open('{{site}}/leaf');
const wrong = [{ headers: { Host: 'other' } }, { headers: { 'a b': '1' } }, { headers: { x: 'a\r\nb: c' } }, { method: 'CONNECT' }];
const codes = [];
for (const options of wrong) codes.push(await page.request.fetch('/mirror', options).catch(({ code }) => code));
codes
// --- only http and https
//! result: ["POLICY_REFUSED","POLICY_REFUSED","POLICY_REFUSED","POLICY_REFUSED","POLICY_REFUSED","CALL_FAILED"]
const page = await browser.open('{{site}}/leaf');
const codes = [];
for (const url of ['file:///etc/passwd', 'chrome://version/', 'view-source:{{site}}/leaf', 'data:,x', 'about:blank', '{{site}}/redirect?to=file:///etc/passwd']) codes.push(await page.request.get(url).catch(({ code }) => code));
codes
// --- an option that there is not
//! error: /INVALID_ARGUMENT|SCRIPT_ERROR/
//! message: /apiRequestContext\.get: there is no option body\. There are: /
const page = await browser.open('{{site}}/leaf');
await page.request.get('/things', { body: 'x' })
