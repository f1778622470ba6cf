// Files that go to a page and come from it, on `tests/site/upload.html`; the server says what it got.

// --- a file input that nobody sees
//! result: ["a.txt text/plain 5","a.txt text/plain 5 ea8f163db3868292"]
const page = await browser.open('{{site}}/upload');
await page.setInputFiles('#file', { name: 'a.txt', mimeType: 'text/plain', buffer: 'hello' });
const seen = await page.textContent('#log');
await page.getByRole('button', { name: 'Send' }).click();
[seen, await page.locator('li').first().textContent()]
// --- several files, their bytes as they are
//! result: ["a.bin application/octet-stream 256","ü 👍.txt text/plain 0"]
const page = await browser.open('{{site}}/upload');
const bytes = Uint8Array.from({ length: 256 }, (_, n) => n);
await page.getByLabel('Several').setInputFiles([
  { name: 'a.bin', mimeType: 'application/octet-stream', buffer: bytes }, { name: 'ü 👍.txt', mimeType: 'text/plain', buffer: '' },
]);
await page.getByRole('button', { name: 'Send' }).click();
(await page.locator('li').allTextContents()).filter((line) => line.startsWith('a.bin') || line.includes('👍')).map((line) => line.replace(/ [0-9a-f]+$/, ''))
// --- by the label, and none
//! result: [1,0]
const page = await browser.open('{{site}}/upload');
const count = () => page.evaluate(() => document.querySelector('#file').files.length);
await page.getByText('Choose a file').setInputFiles({ name: 'a', buffer: 'x' });
const one = await count();
await page.setInputFiles('#file', []);
[one, await count()]
// --- several files where one is taken
//! error: NOT_INTERACTABLE
//! message: /(?s)^page\.setInputFiles: .*multiple/
const page = await browser.open('{{site}}/upload');
await page.setInputFiles('#file', [{ name: 'a', buffer: 'x' }, { name: 'b', buffer: 'y' }], { timeout: 1000 })
// --- what takes no files
//! error: NOT_INTERACTABLE
//! message: /(?s)^page\.setInputFiles: .*HTMLInputElement|file/
const page = await browser.open('{{site}}/upload');
await page.setInputFiles('#text', { name: 'a', buffer: 'x' }, { timeout: 1000 })
// --- a path is no file
//! error: INVALID_ARGUMENT
//! message: /page\.setInputFiles: .*paths cannot be read/
const page = await browser.open('{{site}}/upload');
await page.setInputFiles('#file', '/etc/passwd')
// --- a large file
//! result: "big.bin  3000000"
const page = await browser.open('{{site}}/upload');
await page.setInputFiles('#file', { name: 'big.bin', buffer: new Uint8Array(3_000_000).fill(7) });
await page.textContent('#log')
