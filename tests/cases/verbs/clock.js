// Pages that stand still, on `tests/site/moving.html`.

// --- nothing of a frozen page runs: timers, frames, requests, listeners, animations
//! result: [{"paused":true,"enabled":true},true,true,true,true,false]
const page = await browser.open('{{site}}/moving');
const { paused, enabled } = await page.freeze();
const [first, second] = [await page.text(), await page.screenshot()];
await page.waitForTimeout(150);
const [third, fourth] = [await page.text(), await page.screenshot()];
const same = (a, b) => a.length === b.length && a.every((byte, at) => byte === b[at]);
const state = await page.isFrozen();
await page.thaw();
await page.waitForFunction((first) => Number(document.body.dataset.ticks) > first + 5, Number(/ticks (\d+)/.exec(first)[1]));
[{ paused, enabled }, first === third, same(second, fourth), state, first !== await page.text(), await page.isFrozen()]
// --- what can be read of a frozen page, and what waits for it
//! result: ["Moving","Count","NOT_INTERACTABLE","NOT_INTERACTABLE","NOT_INTERACTABLE","NOT_INTERACTABLE","the page is frozen: none of its scripts runs",true,"clicked 1"]
const page = await browser.open('{{site}}/moving');
await page.freeze();
const code = (promise) => promise.then(() => 'done', ({ code }) => code);
const refused = [await code(page.click('button')), await code(page.keyboard.press('a')), await code(page.evaluate('1')), await code(page.fill('input', 'a'))];
const { message } = await page.mouse.click(1, 1).catch((error) => error);
const isMarked = (await page.screenshot({ markup: ['clickable'], cursor: { x: 5, y: 5 } })).length > 1000;
const [heading, label] = [await page.locator('h1').textContent(), await page.getByRole('button').innerText()];
await page.thaw();
await page.click('button');
[heading, label, ...refused, message.split(': ').slice(1).join(': '), isMarked, await page.textContent('#clicks')]
// --- time stands still for the clock, and begins where it is told to
//! result: [1700000000000,true,true,true]
const page = await browser.open('{{site}}/moving');
const { baseMs, nowMs } = await page.freeze({ time: 1_700_000_000_000 });
await page.waitForTimeout(60);
const second = await page.freeze({ time: 5 });
await page.thaw();
await page.waitForFunction((ticks) => Number(document.body.dataset.ticks) > ticks, await page.evaluate(() => Number(document.body.dataset.ticks)));
const third = await page.freeze();
await page.thaw();
[baseMs, nowMs >= baseMs && nowMs < baseMs + 60_000, second.nowMs === nowMs, third.nowMs > nowMs]
// --- a frozen page goes where it is sent, and runs there
//! result: ["leaf",false,1,true]
const page = await browser.open('{{site}}/moving');
await page.freeze();
await page.goto('{{other}}/leaf?leaf');
const at = new URL(page.url()).search.slice(1);
const state = await page.isFrozen();
const one = await page.evaluate('1');
await page.freeze();
await page.reload();
await page.freeze();
await page.freeze();
await page.goBack();
await page.waitForFunction(() => Number(document.body.dataset.ticks) > 3);
[at, state, one, (await page.thaw()).paused === false]
// --- frames of this process and of another one stand still with the page
//! result: [true,true,true]
const page = await browser.open('{{site}}/moving?frames');
for (const name of ['near', 'far']) await page.frameLocator(`[name=${name}]`).getByText(/ticks [1-9]/).waitFor();
await page.freeze();
const read = async () => [await page.frameLocator('[name=near]').locator('#ticks').textContent(), await page.frameLocator('[name=far]').locator('#ticks').textContent()].join();
const before = await read();
await page.waitForTimeout(100);
const after = await read();
await page.thaw();
const runs = async (name, before) => { await page.frameLocator(`[name=${name}]`).locator('body').evaluate((body) => new Promise((resolve) => { const from = Number(body.dataset.ticks); const look = () => (Number(body.dataset.ticks) > from ? resolve() : setTimeout(look, 5)); look(); })); return true; };
[before === after, await runs('near'), await runs('far')]
// --- a script of the page that does not end in time; what was begun does not happen later
//! result: ["CALL_TIMEOUT",false,"goes on",true]
const page = await browser.open('{{site}}/moving');
await page.evaluate(() => {
  setTimeout(() => {
    const until = performance.now() + 3000;
    while (performance.now() < until);
    document.querySelector('#clicks').textContent = 'goes on';
  }, 0);
});
const { code } = await page.freeze({ timeout: 300 }).catch((error) => error);
const state = await page.isFrozen();
await page.getByText('goes on').waitFor();
const ticks = await page.evaluate(() => Number(document.body.dataset.ticks));
await page.waitForFunction((ticks) => Number(document.body.dataset.ticks) > ticks, ticks);
[code, state, await page.textContent('#clicks'), (await page.freeze()).paused]
// --- a dialog is answered first
//! result: ["DIALOG_OPEN",true]
const page = await browser.open('{{site}}/moving');
const coming = page.waitForEvent('dialog');
page.on('dialog', () => {});
await page.evaluate(() => { setTimeout(() => alert('first'), 0); });
const dialog = await coming;
const { code } = await page.freeze().catch((error) => error);
await dialog.accept();
[code, (await page.freeze()).paused]
// --- a frozen page is closed as any other
//! result: [true,1]
const page = await browser.open('{{site}}/moving');
const other = await browser.open('{{site}}/leaf');
await page.freeze();
await page.close();
[page.isClosed(), await other.evaluate('1')]
// --- a statement of the page that asks for a debugger does not stop it
//! result: 7
const page = await browser.open('{{site}}/moving');
await page.freeze();
await page.thaw();
await page.evaluate('debugger; 7')
// --- a script ends while its page is frozen
//! key: frozen
//! result: true
const page = await browser.open('{{site}}/moving');
(await page.freeze()).paused
// --- and the next one with the same browser finds it running
//! key: frozen
//! result: [false,"Moving",true]
const page = (await browser.pages()).find((page) => page.url().endsWith('/moving'));
const state = await page.isFrozen();
const ticks = await page.evaluate(() => Number(document.body.dataset.ticks));
await page.waitForFunction((ticks) => Number(document.body.dataset.ticks) > ticks, ticks);
const moved = await page.evaluate(() => new Promise((resolve) => { const box = document.querySelector('#box'); const from = box.getBoundingClientRect().x; const look = () => (box.getBoundingClientRect().x !== from ? resolve(true) : requestAnimationFrame(look)); look(); }));
[state, await page.title(), moved]
