// Pages that hang, crash or go away: every verb ends within its time and says why.

// --- a page in an endless loop
//! result: [["page.title","CALL_TIMEOUT",true],["page.click","CALL_TIMEOUT",true],["page.evaluate","CALL_TIMEOUT",true],["page.screenshot","CALL_TIMEOUT",true],["page.snapshot","CALL_TIMEOUT",true]]
const page = await browser.open('{{site}}/busy');
page.setDefaultTimeout(400);
await page.evaluate(() => void setTimeout(() => { for (;;) ; }, 0));
const outcomes = [];
for (const verb of [() => page.title(), () => page.click('#other'), () => page.evaluate('1'), () => page.screenshot(), () => page.snapshot()]) {
  const began = Date.now();
  const error = await verb().catch((error) => error);
  outcomes.push([String(error.message).split(':')[0], error.code, Date.now() - began < 5000]);
}
outcomes
// --- a click that begins an endless loop
//! error: CALL_TIMEOUT
//! message: /(?s)^page\.click: Timeout 500ms exceeded/
const page = await browser.open('{{site}}/busy');
await page.click('#forever', { timeout: 500 })
// --- another page goes on, and the hanging one can be closed
//! result: ["Clicked",1]
const page = await browser.open('{{site}}/busy');
await page.evaluate(() => void setTimeout(() => { for (;;) ; }, 0));
const other = await browser.open('{{other}}/leaf');
await other.click('button');
await page.close();
[await other.textContent('button'), (await browser.pages()).filter(({ id }) => [page.id, other.id].includes(id)).length]
// --- a tab that crashes during a verb
//! error: CDP_TARGET_CRASHED
//! message: /crash/
const page = await browser.open('{{site}}/late');
const waiting = page.locator('#none').waitFor({ timeout: 20000 });
waiting.catch(() => null);
const sessionId = await cdp.attachToTarget(page.id);
cdp.send('Page.crash', {}, { sessionId }).catch(() => null);
await waiting
// --- a verb on a tab that has crashed, and the tab again afterwards
//! result: [true,"Leaf"]
const page = await browser.open('{{site}}/late');
const crashed = page.waitForEvent('crash');
const sessionId = await cdp.attachToTarget(page.id);
cdp.send('Page.crash', {}, { sessionId }).catch(() => null);
await crashed;
const error = await page.click('#moving', { timeout: 2000 }).catch((error) => error);
await page.goto('{{site}}/leaf');
[/crash/i.test(error.message), await page.title()]
// --- a page that was closed
//! error: CDP_TARGET_CLOSED
//! message: /(?s)^page\.title: .*closed/
//! hint: /./
const page = await browser.open('{{site}}/leaf');
await page.close();
await page.title()
// --- a tab closed by the script in the middle of a verb
//! error: CDP_TARGET_CLOSED
//! message: /(?s)^locator\.click: .*closed/
const page = await browser.open('{{site}}/late');
const click = page.locator('#disabled').click();
click.catch(() => null);
await page.locator('#moving').waitFor();
await page.close();
await click
// --- a tab that another closes in the middle of a verb
//! error: CDP_TARGET_CLOSED
//! message: /(?s)^page\.waitForFunction: .*closed/
const page = await browser.open('{{site}}/moves');
const [popup] = await Promise.all([page.waitForEvent('popup'), page.click('#popup')]);
await popup.waitForURL('**/controls');
const waiting = popup.waitForFunction(() => window.never);
waiting.catch(() => null);
await popup.locator('#user').waitFor();
await page.evaluate(() => opened.close());
await waiting
// --- a page that never ends loading can be used
//! result: "clicked"
const page = await browser.open();
await page.goto('{{site}}/half/used', { waitUntil: 'commit' });
await page.click('#first');
await page.textContent('#first')
// --- a page of five thousand elements
//! result: [5000,"Item 4999"]
const page = await browser.open('{{site}}/many');
[await page.getByRole('button').count(), await page.getByRole('button', { name: 'Item 4999' }).textContent()]
// --- a script's own time ends a wait
//! error: TIME_EXCEEDED
//! timeout_ms: 3000
const page = await browser.open('{{site}}/late');
await page.locator('#none').click({ timeout: 0 })
