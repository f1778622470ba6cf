// What pages ask people for, on `tests/site/asks.html`: nothing of it holds up a verb.

// --- a page that asks is refused, and goes on
//! result: [["notifications","denied"],["geolocation","refused 1"],["clipboard","NotAllowedError"],["midi","NotAllowedError"],["print","printed"],["log","logged"]]
const page = await browser.open('{{site}}/asks');
const rows = [];
for (const id of ['notifications', 'geolocation', 'clipboard', 'midi', 'print', 'log']) {
  await page.evaluate(() => { document.querySelector('#out').textContent = ''; });
  await page.click(`#${id}`);
  await page.waitForFunction(() => document.querySelector('#out').textContent !== '');
  rows.push([id, await page.textContent('#out')]);
}
rows
// --- a camera and the screen are never had
//! result: [true,true]
const page = await browser.open('{{site}}/asks');
const answers = [];
for (const id of ['camera', 'screen']) {
  await page.click(`#${id}`);
  await page.click('#log', { timeout: 5000 });
  answers.push(!/a camera|the screen/.test(await page.textContent('#out')));
}
answers
// --- what a script may grant
//! result: ["granted","52.5 13.4","read from the page"]
const page = await browser.open('{{site}}/asks');
const ask = async (id, unlike) => {
  await page.evaluate(() => { document.querySelector('#out').textContent = ''; });
  await page.click(`#${id}`);
  await page.waitForFunction(() => document.querySelector('#out').textContent !== '');
  return page.textContent('#out');
};
const context = page.context();
await context.grantPermissions(['notifications', 'geolocation', 'clipboard-read', 'clipboard-write'], { origin: '{{site}}' });
await context.setGeolocation({ latitude: 52.5, longitude: 13.4, accuracy: 10 });
const answers = [await ask('notifications'), await ask('geolocation')];
await page.evaluate(() => navigator.clipboard.writeText('from the page'));
[...answers, await ask('clipboard')]
// --- to one origin, and taken back
//! result: ["granted","denied","denied"]
const page = await browser.open('{{site}}/asks');
const state = (page) => page.evaluate(() => navigator.permissions.query({ name: 'geolocation' }).then(({ state }) => state));
await page.context().grantPermissions(['geolocation'], { origin: '{{site}}' });
const granted = await state(page);
const other = await browser.open('{{other}}/asks');
const elsewhere = await state(other);
await page.context().clearPermissions();
[granted, elsewhere === 'prompt' ? 'denied' : elsewhere, (await state(page)).replace('prompt', 'denied')]
// --- devices are the operator's to allow
//! result: ["POLICY_REFUSED","POLICY_REFUSED","POLICY_REFUSED","POLICY_REFUSED"]
const page = await browser.open('{{site}}/asks');
const codes = [];
for (const name of ['camera', 'microphone', 'midi', 'local-network-access']) {
  codes.push(await page.context().grantPermissions([name]).then(() => 'granted', ({ code }) => code));
}
codes
// --- what is no permission
//! error: INVALID_ARGUMENT
//! message: /^browser\.grantPermissions: Unknown permission: everything/
//! hint: /geolocation/
const page = await browser.open('{{site}}/asks');
await page.context().grantPermissions(['everything'])
// --- what is no place
//! error: INVALID_ARGUMENT
//! message: /^browser\.setGeolocation: latitude/
const page = await browser.open('{{site}}/asks');
await page.context().setGeolocation({ latitude: 91, longitude: 0 })
