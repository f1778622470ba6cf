// Dialogs, with and without a listener, on `tests/site/dialogs.html`.

// --- nobody listens: it is dismissed, and said so
//! result: "undefined;false;null;"
//! warnings: ["/alert dialog \"hello\" was dismissed/","/confirm dialog \"really\\?\" was dismissed/","/prompt dialog \"name\\?\" was dismissed/"]
const page = await browser.open('{{site}}/dialogs');
for (const kind of ['alert', 'confirm', 'prompt']) await page.click(`#${kind}`);
await page.textContent('#log')
// --- a listener answers
//! result: ["undefined;true;ada;",[["alert","hello",""],["confirm","really?",""],["prompt","name?","nobody"]]]
const page = await browser.open('{{site}}/dialogs');
const seen = [];
page.on('dialog', async (dialog) => {
  seen.push([dialog.type(), dialog.message(), dialog.defaultValue()]);
  await dialog.accept(dialog.type() === 'prompt' ? 'ada' : undefined);
});
for (const kind of ['alert', 'confirm', 'prompt']) await page.click(`#${kind}`);
[await page.textContent('#log'), seen]
// --- accepted without a text, and dismissed
//! result: ";false;"
const page = await browser.open('{{site}}/dialogs');
page.once('dialog', (dialog) => dialog.accept());
await page.click('#prompt');
page.once('dialog', (dialog) => dialog.dismiss());
await page.click('#confirm');
await page.textContent('#log')
// --- two of one click
//! result: "true;false;"
const page = await browser.open('{{site}}/dialogs');
let count = 0;
page.on('dialog', (dialog) => (count++ === 0 ? dialog.accept() : dialog.dismiss()));
await page.click('#two');
await page.textContent('#log')
// --- once is once: the second is dismissed
//! result: "true;false;"
//! warnings: ["/confirm dialog \"second\" was dismissed/"]
const page = await browser.open('{{site}}/dialogs');
page.once('dialog', (dialog) => dialog.accept());
await page.click('#two');
await page.textContent('#log')
// --- a listener of each first dialog has no effect on the second one, nor the host's answer on the next first one
//! result: true
//! warnings: ["/confirm dialog \"second\" was dismissed/","/confirm dialog \"second\" was dismissed/","/confirm dialog \"second\" was dismissed/","/confirm dialog \"second\" was dismissed/","/confirm dialog \"second\" was dismissed/","/confirm dialog \"second\" was dismissed/","/confirm dialog \"second\" was dismissed/","/confirm dialog \"second\" was dismissed/","/confirm dialog \"second\" was dismissed/","/confirm dialog \"second\" was dismissed/","/confirm dialog \"second\" was dismissed/","/confirm dialog \"second\" was dismissed/","/confirm dialog \"second\" was dismissed/","/confirm dialog \"second\" was dismissed/","/confirm dialog \"second\" was dismissed/","/confirm dialog \"second\" was dismissed/","/confirm dialog \"second\" was dismissed/","/confirm dialog \"second\" was dismissed/","/confirm dialog \"second\" was dismissed/","/confirm dialog \"second\" was dismissed/"]
const page = await browser.open('{{site}}/dialogs');
for (let round = 0; round < 20; round++) {
  page.once('dialog', (dialog) => dialog.accept());
  await page.click('#two');
}
const log = await page.textContent('#log');
log === 'true;false;'.repeat(20) || log
// --- waiting for it
//! result: ["confirm","true;"]
const page = await browser.open('{{site}}/dialogs');
const coming = page.waitForEvent('dialog');
const click = page.click('#confirm');
const dialog = await coming;
await dialog.accept();
await click;
[dialog.type(), await page.textContent('#log')]
// --- leaving a page that asks
//! result: ["Controls","beforeunload","Controls"]
const page = await browser.open('{{site}}/dialogs');
await page.click('#guard');
await page.goto('{{site}}/controls');
const first = await page.title();
await page.goto('{{site}}/dialogs');
await page.click('#guard');
let kind;
page.once('dialog', async (dialog) => {
  kind = dialog.type();
  await dialog.accept();
});
await page.click('#leave');
await page.waitForURL('**/controls');
[first, kind, await page.title()]
// --- closing a page that asks: with the question only if that is wanted, and then it is answered
//! result: [true,true]
const page = await browser.open('{{site}}/dialogs');
await page.click('#guard');
await page.close();
const other = await browser.open('{{site}}/dialogs');
await other.click('#guard');
const closed = other.waitForEvent('close');
await other.close({ runBeforeUnload: true });
await closed;
[page.isClosed(), other.isClosed()]
// --- closing a page that the listener has stay
//! result: ["beforeunload",false,"Dialogs"]
const page = await browser.open('{{site}}/dialogs');
await page.click('#guard');
const coming = page.waitForEvent('dialog');
await page.close({ runBeforeUnload: true });
const dialog = await coming;
await dialog.dismiss();
[dialog.type(), page.isClosed(), await page.title()]
// --- going elsewhere from a page that the listener has stay
//! result: ["NAVIGATION_FAILED","Dialogs"]
const page = await browser.open('{{site}}/dialogs');
await page.click('#guard');
page.once('dialog', (dialog) => dialog.dismiss());
const error = await page.goto('{{site}}/controls').catch((error) => error);
[error.code, await page.title()]
// --- staying on a page that asks
//! result: ["beforeunload","Dialogs"]
const page = await browser.open('{{site}}/dialogs');
await page.click('#guard');
const coming = page.waitForEvent('dialog');
const click = page.click('#leave');
const dialog = await coming;
await dialog.dismiss();
await click;
[dialog.type(), await page.title()]
// --- in a popup
//! result: "false;"
//! warnings: ["/confirm dialog \"in a popup\" was dismissed/"]
const page = await browser.open('{{site}}/dialogs');
const [popup] = await Promise.all([page.waitForEvent('popup'), page.click('#popup')]);
await popup.waitForFunction(() => document.querySelector('#log')?.textContent)
&& await popup.textContent('#log')
// --- in popups that open them while they are attached to
//! result: ["false;","false;","false;","false;","false;","false;"]
//! warnings: ["/was dismissed/","/was dismissed/","/was dismissed/","/was dismissed/","/was dismissed/","/was dismissed/"]
const page = await browser.open('{{site}}/dialogs');
const seen = [];
while (seen.length < 6) {
  const [popup] = await Promise.all([page.waitForEvent('popup'), page.click('#popup')]);
  await popup.waitForFunction(() => document.querySelector('#log')?.textContent);
  seen.push(await popup.textContent('#log'));
  await popup.close();
}
seen
// --- opened by a timer while another verb waits
//! result: "shown"
//! warnings: ["/alert dialog \"by a timer\" was dismissed/"]
const page = await browser.open('{{site}}/dialogs');
await page.evaluate(() => void setTimeout(() => { alert('by a timer'); document.querySelector('#log').innerHTML = '<b>shown</b>'; }, 50));
await page.locator('#log b').textContent()
// --- opened by a timer while another verb waits, with a listener
//! result: ["shown",true]
const page = await browser.open('{{site}}/dialogs');
page.on('dialog', (dialog) => dialog.accept());
await page.evaluate(() => void setTimeout(() => { window.answer = confirm('by a timer'); document.querySelector('#log').innerHTML = '<b>shown</b>'; }, 50));
[await page.locator('#log b').textContent(), await page.evaluate('answer')]
// --- opened by what is evaluated
//! result: [false,true]
//! warnings: ["/confirm dialog \"evaluated\" was dismissed/"]
const page = await browser.open('{{site}}/dialogs');
const first = await page.evaluate(() => confirm('evaluated'));
page.once('dialog', (dialog) => dialog.accept());
[first, await page.evaluate(() => confirm('again'))]
// --- printing holds nothing up
//! result: "undefined;"
const page = await browser.open('{{site}}/dialogs');
await page.click('#print');
await page.textContent('#log')
// --- a dialog is answered once
//! error: INVALID_ARGUMENT
//! message: /(?s)^dialog\.dismiss: /
const page = await browser.open('{{site}}/dialogs');
const coming = page.waitForEvent('dialog');
const click = page.click('#confirm');
const dialog = await coming;
await dialog.accept();
await click;
await dialog.dismiss()
// --- another page goes on while one has a dialog
//! result: ["clicked elsewhere","true;"]
const page = await browser.open('{{site}}/dialogs');
const coming = page.waitForEvent('dialog');
const click = page.click('#confirm');
const dialog = await coming;
const other = await browser.open('{{site}}/leaf');
await other.click('button');
const text = (await other.textContent('button')) === 'Clicked' ? 'clicked elsewhere' : 'no';
await dialog.accept();
await click;
[text, await page.textContent('#log')]
// --- one that a popup holds as its opener does, when the opener's listener is removed
//! result: ["Dialogs","false;"]
//! warnings: ["/confirm dialog \"in a popup\" was dismissed/"]
const page = await browser.open('{{site}}/dialogs');
page.on('dialog', () => {});
const [popup] = await Promise.all([page.waitForEvent('popup'), page.click('#popup')]);
const sessionId = `target:${popup.id}`;
const ask = () => cdp.send('Runtime.evaluate', { expression: '1' }, { sessionId }).catch((error) => error);
while ((await ask()).code !== 'DIALOG_OPEN');
page.removeAllListeners('dialog');
// The popup shares the process of its opener: as long as the dialog is open, neither answers.
const title = await page.evaluate('document.title');
[title, await popup.textContent('#log')]
// --- a page that is slow while another one shows a dialog
//! result: ["CALL_TIMEOUT","CALL_TIMEOUT",true]
const page = await browser.open('{{site}}/dialogs');
const coming = page.waitForEvent('dialog');
const click = page.click('#confirm');
const dialog = await coming;
const other = await browser.open('{{other}}/leaf');
other.setDefaultTimeout(300);
const slow = await other.evaluate(() => new Promise(() => {})).catch((error) => error);
const params = { expression: 'new Promise(() => {})', awaitPromise: true };
const options = { sessionId: `target:${other.id}`, timeoutMs: 300 };
const late = await cdp.send('Runtime.evaluate', params, options).catch((error) => error);
await dialog.accept();
await click;
[slow.code, late.code, late.hint.includes(page.id)]
