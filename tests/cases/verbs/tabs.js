// Many pages.

// --- two at the same time
//! result: ["Clicked","typed",true]
const [one, two] = await Promise.all([browser.open('{{site}}/leaf'), browser.open('{{site}}/fields')]);
await Promise.all([one.click('button'), two.fill('[name=name]', 'typed')]);
[await one.textContent('button'), await two.inputValue('[name=name]'), one.id !== two.id]
// --- a wait in one does not hold up the other
//! result: ["disabled;","Clicked"]
const [one, two] = await Promise.all([browser.open('{{site}}/late'), browser.open('{{site}}/leaf')]);
const click = one.click('#disabled');
await two.click('button');
await one.evaluate(() => { document.querySelector('#disabled').disabled = false; });
await click;
[await one.textContent('#log'), await two.textContent('button')]
// --- a page by its id, and all of them
//! result: ["Leaf",true,"Leaf"]
const page = await browser.open('{{site}}/leaf');
const same = browser.page(page.id);
const all = await browser.pages();
[await same.title(), all.some(({ id }) => id === page.id), await all.find(({ id }) => id === page.id).title()]
// --- two hundred
//! result: [200,200,0]
const pages = [];
// In parts, as one opens them: what opens is not what acts.
for (let n = 0; n < 20; n++) {
  pages.push(...(await Promise.all(Array.from({ length: 10 }, () => browser.open('{{site}}/leaf')))));
}
const ids = new Set(pages.map(({ id }) => id));
let clicked = 0;
for (let n = 0; n < 200; n += 20) {
  await Promise.all(pages.slice(n, n + 20).map((page) => page.click('button')));
  const texts = await Promise.all(pages.slice(n, n + 20).map((page) => page.textContent('button')));
  clicked += texts.filter((text) => text === 'Clicked').length;
}
await Promise.all(pages.map((page) => page.close()));
[ids.size, clicked, (await browser.pages()).filter(({ id }) => ids.has(id)).length]
// --- a tab behind others takes input and draws
//! result: ["two of rendering 5;",true]
const page = await browser.open('{{site}}/late');
await browser.open('{{site}}/leaf');
await page.evaluate(() => void begin.rendering(5));
await page.getByRole('button', { name: 'take two' }).click();
[await page.textContent('#log'), await page.evaluate(() => document.hasFocus())]
// --- a target of the other namespace is a page here, and the other way round
//! result: ["Leaf","Controls"]
const { targetId } = await cdp.send('Target.createTarget', { url: '{{site}}/leaf' });
const page = browser.page(targetId);
await page.getByRole('button').waitFor();
const title = await page.title();
const own = await browser.open('{{site}}/controls');
const sessionId = await cdp.attachToTarget(own.id);
const { result } = await cdp.send('Runtime.evaluate', { expression: 'document.title' }, { sessionId });
[title, result.value]
// --- the page that is asked for cookies goes meanwhile: another one is asked
//! result: [["a"],["a"],["a"],[]]
const stays = await browser.open('{{site}}/leaf');
const names = (cookies) => cookies.map(({ name }) => name);
const going = async () => {
  const page = await browser.open('{{site}}/leaf');
  await cdp.send('Target.closeTarget', { targetId: page.id });
  return page;
};
await going();
await browser.addCookies([{ name: 'a', value: '1', url: '{{site}}' }]);
const seen = [];
await going();
seen.push(names(await browser.cookies()));
await going();
seen.push(names((await browser.storageState()).cookies));
await going();
seen.push(names(await browser.cookies('{{site}}')));
await going();
await browser.clearCookies();
await going();
await browser.addInitScript('window.begun = true');
await browser.setHTTPCredentials({ username: 'ada', password: 'lovelace' });
seen.push(names(await stays.context().cookies()));
seen
