// File choosers that pages open, on `tests/site/upload.html`; the server says which bytes it got.

// --- a chooser is waited for, and given a file
//! result: [false,"a.txt text/plain 5","a.txt text/plain 5 ea8f163db3868292"]
const page = await browser.open('{{site}}/upload');
const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.click('label')]);
await chooser.setFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: 'hello' });
const seen = await page.textContent('#log');
await page.getByRole('button', { name: 'Send' }).click();
[chooser.isMultiple(), seen, await page.locator('li').first().textContent()]
// --- armed long before the click
//! result: "later.bin"
const page = await browser.open('{{site}}/upload');
const waiting = page.waitForEvent('filechooser');
await page.fill('#text', 'first something else');
await page.click('label');
await (await waiting).setFiles({ name: 'later.bin', buffer: new Uint8Array([1]) });
(await page.textContent('#log')).split(' ')[0]
// --- several files, their bytes as they are
//! result: [true,["a.bin application/octet-stream 256 4a495ba42461748e","b.txt text/plain 0 af1349b9f5f9a1a6"]]
const page = await browser.open('{{site}}/upload');
const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.click('#files')]);
const bytes = Uint8Array.from({ length: 256 }, (_, n) => n);
await chooser.setFiles([{ name: 'a.bin', mimeType: 'application/octet-stream', buffer: bytes }, { name: 'b.txt', mimeType: 'text/plain', buffer: '' }]);
await page.getByRole('button', { name: 'Send' }).click();
[chooser.isMultiple(), (await page.locator('li').allTextContents()).filter((line) => /^[ab]\./.test(line))]
// --- several where one is taken
//! error: NOT_INTERACTABLE
//! message: /^fileChooser\.setFiles: .*multiple/
const page = await browser.open('{{site}}/upload');
const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.click('label')]);
await chooser.setFiles([{ name: 'a', buffer: 'x' }, { name: 'b', buffer: 'y' }])
// --- a chooser that the page opens by a script, of an input that is not in the document
//! result: "made.txt 3"
const page = await browser.open('{{site}}/upload');
await page.evaluate(() => {
  const button = document.createElement('button');
  button.id = 'made';
  button.textContent = 'made';
  button.onclick = () => {
    const input = Object.assign(document.createElement('input'), { type: 'file' });
    input.onchange = () => (document.querySelector('#log').textContent = `${input.files[0].name} ${input.files[0].size}`);
    input.click();
  };
  document.body.append(button);
});
const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.click('#made')]);
await chooser.setFiles({ name: 'made.txt', buffer: 'abc' });
await page.getByText('made.txt').waitFor();
await page.textContent('#log')
// --- a listener, for each chooser
//! result: ["a.txt text/plain 1","b.txt text/plain 1"]
const page = await browser.open('{{site}}/upload');
const seen = [];
let count = 0;
page.on('filechooser', async (chooser) => {
  await chooser.setFiles({ name: `${'ab'[count++]}.txt`, mimeType: 'text/plain', buffer: 'x' });
  seen.push(await page.textContent('#log'));
});
for (const wanted of [1, 2]) {
  await page.click('label');
  while (seen.length < wanted) await page.waitForTimeout(10);
}
seen
// --- a chooser that nobody waits for blocks nothing
//! result: ["Upload","typed"]
const page = await browser.open('{{site}}/upload');
await page.click('label');
await page.fill('#text', 'typed');
[await page.title(), await page.inputValue('#text')]
// --- a path is no file
//! error: /INVALID_ARGUMENT|SCRIPT_ERROR/
//! message: /^(Error: )?fileChooser\.setFiles: .*paths cannot be read/
const page = await browser.open('{{site}}/upload');
const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.click('label')]);
await chooser.setFiles('/etc/passwd')
// --- a chooser of another page, or none
//! error: /INVALID_ARGUMENT|NOT_INTERACTABLE|CDP_PROTOCOL_ERROR|ELEMENT_NOT_FOUND/
const page = await browser.open('{{site}}/upload');
const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.click('label')]);
await page.goto('{{site}}/news');
await chooser.setFiles({ name: 'a', buffer: 'x' })
// --- a chooser that a raw click opened in a document that came after another one
//! result: ["a.txt","b.txt"]
const page = await browser.open('{{site}}/upload');
const named = [];
for (const name of ['a.txt', 'b.txt']) {
  const box = await page.evaluate(() => { const { x, y } = document.querySelector('#files').getBoundingClientRect(); return { x: x + 20, y: y + 10 }; });
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), page.mouse.click(box.x, box.y)]);
  await chooser.setFiles({ name, mimeType: 'text/plain', buffer: 'x' });
  named.push(await page.evaluate(() => document.querySelector('#files').files[0].name));
  await page.reload();
}
named
