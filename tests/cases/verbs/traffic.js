// What a page has asked of servers and written to its console, read afterwards.

// --- the requests of a page, and what became of them
//! result: [["GET","document",200,"text/html"],["GET","fetch",200,"application/json"],["POST","fetch",200,"text/plain"],["GET","fetch","net::ERR_CONNECTION_REFUSED"]]
const page = await browser.open('{{site}}/news');
for (const id of ['get', 'post', 'fail']) await Promise.all([page.waitForEvent(id === 'fail' ? 'requestfailed' : 'requestfinished'), page.click(`#${id}`)]);
const rows = await page.network();
rows.map(({ method, resourceType, status, mimeType, failed }) => failed === undefined ? [method, resourceType, status, mimeType] : [method, resourceType, failed])
// --- filtered by a text, by an expression, and by fields
//! result: [["/things"],["/things"],["/echo"],["/things"],["/"],[],["/news"]]
const page = await browser.open('{{site}}/news');
for (const id of ['get', 'post', 'fail']) await Promise.all([page.waitForEvent(id === 'fail' ? 'requestfailed' : 'requestfinished'), page.click(`#${id}`)]);
const paths = async (filter, options) => (await page.network(filter, options)).map(({ url }) => new URL(url).pathname);
[
  await paths('/things'), await paths(/THINGS$/i), await paths({ method: 'POST' }), await paths({ status: 200, mimeType: /json/ }),
  await paths({ failed: true }), await paths({ status: 404, url: 'things' }), await paths({ resourceType: 'document' }, { limit: 1 }),
]
// --- a redirect is two requests
//! result: [["/redirect",302],["/things",200]]
const page = await browser.open('{{site}}/requests');
await Promise.all([page.waitForResponse('**/things'), page.click('#redirected')]);
(await page.network(/redirect|things/)).map(({ url, status }) => [new URL(url).pathname, status])
// --- a frame on another site
//! result: ["/framed","/things"]
const page = await browser.open('{{site}}/requests');
await page.network();
await page.click('#other');
const frame = page.frameLocator('iframe');
await frame.locator('#ask').click();
await frame.getByText('lamp').waitFor();
(await page.network('{{other}}')).map(({ url }) => new URL(url).pathname)
// --- a filter that is none
//! error: INVALID_ARGUMENT
//! message: /^page\.network: the filter is no expression/
const page = await browser.open('{{site}}/news');
await page.network({ url: /(?=x)/ })
// --- the console as it was written, with its errors
//! result: [["log","text 1 Object"],["warning","careful"],["error","wrong"],["error","TypeError: thrown by the page"]]
const page = await browser.open('{{site}}/news');
await page.click('#console');
await page.click('#throw');
(await page.console()).map(({ level, text }) => [level, text.split('\n')[0]])
// --- with where it was written
//! result: [[true,4,true],[true,5,true]]
const page = await browser.open('{{site}}/news');
await page.click('#console');
await page.click('#throw');
const rows = await page.console();
[rows[0], rows.at(-1)].map(({ location }) => [location.url === '{{site}}/news', location.lineNumber + 1, location.columnNumber > 0])
// --- an uncaught error says where it was thrown
//! result: ["TypeError","thrown by the page",true,5]
const page = await browser.open('{{site}}/news');
const [error] = await Promise.all([page.waitForEvent('pageerror'), page.click('#throw')]);
[error.name, error.message, /\/news:5:\d+/.test(error.stack), error.location.lineNumber + 1]
// --- what is thrown and is no error
//! result: [["Error","only words"],["Error","7"]]
const page = await browser.open('{{site}}/news');
const errors = [];
page.on('pageerror', ({ name, message }) => errors.push([name, message]));
await page.evaluate(() => { setTimeout(() => { throw 'only words'; }); setTimeout(() => { throw 7; }); });
while (errors.length < 2) await page.waitForTimeout(10);
errors
// --- the console of a frame on another site
//! result: ["from the frame",["from the frame"]]
const page = await browser.open('{{site}}/requests');
await page.console();
await page.click('#other');
const waiting = page.waitForEvent('console');
await page.frameLocator('iframe').locator('#log').click();
[(await waiting).text(), (await page.console()).map(({ text }) => text)]
// --- a page that comes back out of the history's cache tells nothing twice
//! result: [["one","two","away","back"],["one","two","away","back"]]
const page = await browser.open('{{site}}/leaf');
const lines = [];
page.on('console', (message) => lines.push(message.text()));
await page.evaluate(() => { console.log('one'); });
await page.evaluate(() => { console.log('two'); });
await page.goto('{{other}}/leaf');
await page.evaluate(() => { console.log('away'); });
await page.goBack();
await page.evaluate(() => { console.log('back'); });
[lines, (await page.console()).map(({ text }) => text)]
// --- the same line twice is two lines
//! result: ["same","same"]
const page = await browser.open('{{site}}/leaf');
await page.evaluate(() => { for (let n = 0; n < 2; n++) console.log('same'); });
(await page.console()).map(({ text }) => text)
// --- the rows of a table
//! result: [{"headers":true,"rows":true},true]
const page = await browser.open('{{site}}/search?q=lamp');
const rows = await page.table();
[{ headers: 'Name' in rows[0], rows: rows.length === 10 }, rows[0].Name === await page.locator('td').first().textContent()]
