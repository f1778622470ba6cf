// Pages that are long, or seem to be, and fields that take no typing.

// --- a page of five mebibytes
//! result: [true,true,"clicked"]
const page = await browser.open('{{site}}/large');
const rows = await page.locator('li').count();
const button = page.getByRole('button', { name: /^last/ });
const last = Number((await button.textContent()).split(' ')[1]);
await button.click();
[rows === last + 1, (await page.locator('#row1000').innerText()).startsWith('Row 1000 '), await page.locator('button').textContent()]
// --- a row in the middle of it, by its text
//! result: ["Row 2000",true]
const page = await browser.open('{{site}}/large');
const row = page.getByText(/^Row 2000 /);
await row.scrollIntoViewIfNeeded();
const box = await row.boundingBox();
[(await row.textContent()).slice(0, 8), box.y >= 0]
// --- the text of a page of fifty thousand elements
//! result: [true,"word 49999"]
const page = await browser.open();
await page.setContent('<main></main>');
await page.evaluate(() => { document.querySelector('main').innerHTML = Array.from({ length: 50000 }, (_, n) => n % 2 ? `<p>word ${n}</p>` : `<span>word ${n}</span>`).join(''); });
const text = await page.text();
[text.startsWith('word 0'), text.slice(-10)]
// --- rows that are loaded as the page is scrolled
//! result: [100,"Row 99","that is all"]
const page = await browser.open('{{site}}/endless_list');
await page.getByText('Row 0', { exact: true }).waitFor();
while (await page.textContent('#end') !== 'that is all') {
  const before = await page.locator('li').count();
  await page.locator('li').last().scrollIntoViewIfNeeded();
  await page.mouse.wheel(0, 2000);
  await page.waitForFunction((before) => document.querySelectorAll('li').length > before || document.querySelector('#end').textContent === 'that is all', before);
}
[await page.locator('li').count(), await page.locator('li').last().textContent(), await page.textContent('#end')]
// --- a list of which only what is in view is there
//! result: [true,"Row 60","Row 60"]
const page = await browser.open('{{site}}/virtual_list');
const few = await page.getByRole('listitem').count() < 20;
const row = page.getByRole('button', { name: 'Row 60', exact: true });
await page.hover('#list');
for (let turn = 0; turn < 100 && !(await row.isVisible()); turn++) {
  const at = await page.locator('#list').evaluate((list) => list.scrollTop);
  await page.mouse.wheel(0, 150);
  await page.waitForFunction((at) => document.querySelector('#list').scrollTop > at, at);
}
await row.click();
[few, await row.textContent(), await page.textContent('#chosen')]
// --- a day from a calendar, some months away
//! result: ["2027-02-14","2027-02-14"]
const page = await browser.open('{{site}}/date_picker');
await page.getByLabel('Day', { exact: true }).click();
const calendar = page.getByRole('dialog', { name: 'Choose a day' });
while (!(await calendar.locator('#month').textContent()).includes('February 2027')) await calendar.getByRole('button', { name: 'Next month' }).click();
await calendar.getByRole('button', { name: '14 February 2027' }).click();
await calendar.waitFor({ state: 'hidden' });
[await page.inputValue('#day'), await page.textContent('#told')]
// --- a field that takes no typing says so
//! error: NOT_INTERACTABLE
//! message: /(?s)^page\.fill: Timeout 300ms exceeded.*not editable/
const page = await browser.open('{{site}}/date_picker');
await page.fill('#day', '2027-02-14', { timeout: 300 })
// --- the browser's own field for days
//! result: "native 2027-02-14"
const page = await browser.open('{{site}}/date_picker');
await page.getByLabel('Native').fill('2027-02-14');
await page.textContent('#told')
