// Servers that have the browser itself ask for a name and a password: `/private` is for ada.

// --- a page is opened with them
//! result: ["for ada",200]
//! key: own-1
const page = await browser.open('{{site}}/private', { httpCredentials: { username: 'ada', password: 'lovelace' } });
[await page.textContent('p'), (await page.reload()).status()]
// --- without them the page shows what the server says
//! result: [401,"Unauthorized","Unauthorized",true]
//! key: own-2
const page = await browser.open('{{site}}/leaf');
const response = await page.goto('{{site}}/private');
[response.status(), response.statusText(), await page.title(), page.url() === '{{site}}/private']
// --- wrong ones: the server is asked once more, and no further
//! result: [401,"Unauthorized"]
//! key: own-3
const page = await browser.open('{{site}}/leaf', { httpCredentials: { username: 'ada', password: 'wrong' } });
const response = await page.goto('{{site}}/private');
[response.status(), await page.title()]
// --- those of a page that was opened are for its origin
//! result: [200,401]
//! key: own-4
const page = await browser.open('{{site}}/private', { httpCredentials: { username: 'ada', password: 'lovelace' } });
const own = (await page.reload()).status();
[own, (await page.goto('{{other}}/private')).status()]
// --- those of the context: pages that there are, and pages to come
//! result: ["for ada",401,"for ada",401]
//! key: own-5
const before = await browser.open('{{site}}/leaf');
await before.context().setHTTPCredentials({ username: 'ada', password: 'lovelace' });
await before.goto('{{site}}/private');
const texts = [await before.textContent('p')];
// Chromium gives what a site took to the same site again.
await before.context().setHTTPCredentials(null);
texts.push((await before.goto('{{other}}/private')).status());
await before.context().setHTTPCredentials({ username: 'ada', password: 'lovelace' });
const after = await browser.open('{{other}}/private');
texts.push(await after.textContent('p'));
await after.context().setHTTPCredentials({ username: 'ada', password: 'lovelace', origin: 'http://example.invalid' });
[...texts, (await (await browser.open()).goto('{{site}}/status/401')).status()]
// --- for the origin that is named
//! result: [200,401]
//! key: own-6
const page = await browser.open('{{site}}/leaf');
await browser.setHTTPCredentials({ username: 'ada', password: 'lovelace', origin: '{{other}}' });
[(await page.goto('{{other}}/private')).status(), (await page.goto('{{site}}/private')).status()]
// --- what the page itself asks for, and what the script does
//! result: ["for ada","for ada"]
//! key: own-7
const page = await browser.open('{{site}}/leaf', { httpCredentials: { username: 'ada', password: 'lovelace' } });
const text = await page.evaluate(() => fetch('/private').then((answer) => answer.text()));
const words = (text) => /for ada/.exec(text)?.[0];
[words(text), words(await (await page.request.get('{{site}}/private')).text())]
// --- the script's own request without them
//! result: 401
//! key: own-8
const page = await browser.open('{{site}}/leaf');
(await page.request.get('/private')).status()
// --- a popup gets those of the page that opened it, and a popup of that one
//! result: ["for ada",200,"for ada","for ada",401]
//! key: own-13
const page = await browser.open('{{site}}/leaf', { httpCredentials: { username: 'ada', password: 'lovelace' } });
const opened = async (page, how) => {
  const popup = page.waitForEvent('popup');
  await page.evaluate(how);
  await (await popup).waitForURL('**/private');
  return popup;
};
const words = (page) => page.textContent('p');
const direct = await opened(page, () => void window.open('/private'));
const again = await direct.reload();
const later = await opened(direct, () => void (window.open('about:blank').location = '/private'));
const link = await opened(page, () => {
  document.body.insertAdjacentHTML('beforeend', '<a href="/private" target="_blank">private</a>');
  document.querySelector('a').click();
});
[await words(direct), again.status(), await words(later), await words(link), (await direct.goto('{{other}}/private')).status()]
// --- a popup of a page without them
//! result: 401
//! key: own-14
const page = await browser.open('{{site}}/leaf');
await browser.open('{{site}}/leaf', { httpCredentials: { username: 'ada', password: 'lovelace' } });
const popup = page.waitForEvent('popup');
await page.evaluate(() => void window.open('/leaf'));
(await (await popup).goto('{{site}}/private')).status()
// --- together with routes
//! result: ["for ada",["/private"]]
//! key: own-9
const page = await browser.open('{{site}}/leaf', { httpCredentials: { username: 'ada', password: 'lovelace' } });
const asked = [];
await page.route('**/private', (route, request) => { asked.push(new URL(request.url()).pathname); return route.continue(); });
await page.goto('{{site}}/private');
[await page.textContent('p'), asked]
// --- they are in no answer
//! result: [false,false,false]
//! key: own-10
const page = await browser.open('{{site}}/private', { httpCredentials: { username: 'ada', password: 'lovelace' } });
await page.network();
await page.reload();
const told = [await page.network(), await page.har(), await cdp.getDebugLog()];
told.map((told) => /lovelace|YWRhOmxvdmVsYWNl/.test(JSON.stringify(told)))
// --- what is no origin
//! error: INVALID_ARGUMENT
//! message: /the origin of httpCredentials must be as https:/
//! key: own-11
await browser.open('{{site}}/leaf', { httpCredentials: { username: 'ada', password: 'lovelace', origin: 'leaf' } })
// --- without a password
//! error: /INVALID_ARGUMENT|SCRIPT_ERROR/
//! message: /browser\.open: httpCredentials must be/
//! key: own-12
await browser.open('{{site}}/leaf', { httpCredentials: { username: 'ada' } })
