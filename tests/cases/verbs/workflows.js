// Whole tasks, each one call with a short answer.

// --- a login with a wrong password, then with the right one
//! result: {"refused":"User and password do not match.","path":"/account","user":"ada"}
//! bytes_max: 400
const page = await browser.open('{{site}}/login');
await page.fill({ '[name=user]': 'ada', '[name=password]': 'byron' });
await page.getByRole('button').click();
const refused = await page.textContent('#error');
await page.fill({ '[name=user]': 'ada', '[name=password]': 'lovelace' });
await page.getByRole('button').click();
await page.waitForURL('**/account');
({ refused, path: new URL(page.url()).pathname, user: await page.textContent('#user') })
// --- a form of several pages that checks what it gets
//! result: {"faults":[["Name: must be given","Count: must be 1 to 9"],["Zip: must have five digits","Terms: must be accepted"]],"told":"3 of lamp to 12345"}
//! bytes_max: 400
const page = await browser.open('{{site}}/order');
const faults = [];
const next = async (name) => { await page.getByRole('button', { name }).click(); return page.getByRole('alert').allTextContents(); };
await page.fill({ '[name=count]': '12' });
faults.push(await next('Continue'));
await page.fill({ '[name=name]': 'lamp', '[name=count]': '3' });
await next('Continue');
await page.getByLabel('Zip').fill('12');
faults.push(await next('Order'));
await page.fill({ '[name=zip]': '12345', '[name=terms]': true });
await next('Order');
({ faults, told: await page.textContent('#told') })
// --- a search, its pages, their table
//! result: {"count":"23 found","pages":3,"rows":23,"first":{"Name":"chair 1","Price":"5.00"},"last":{"Name":"chair 45","Price":"225.00"},"sum":2645}
//! bytes_max: 400
const page = await browser.open('{{site}}/search');
await page.getByLabel('Search').fill('chair');
await page.getByLabel('Search').press('Enter');
const count = await page.textContent('#count');
const rows = await page.table();
const next = page.getByRole('link', { name: 'Next page' });
let pages = 1;
for (; await next.isVisible(); pages++) {
  await next.click();
  rows.push(...(await page.table()));
}
({ count, pages, rows: rows.length, first: rows[0], last: rows.at(-1), sum: rows.reduce((sum, { Price }) => sum + Number(Price), 0) })
// --- a file to the server, and one from it
//! result: {"sent":"a.txt text/plain 5 ea8f163db3868292","bytes":20971520,"last":[216,217,218]}
//! bytes_max: 400
const page = await browser.open('{{site}}/upload');
await page.setInputFiles('#file', { name: 'a.txt', mimeType: 'text/plain', buffer: 'hello' });
await page.getByRole('button', { name: 'Send' }).click();
const sent = await page.locator('li').first().textContent();
await page.goto('{{site}}/upload');
const [bytes, last] = await page.locator('#download').evaluate(async (link) => {
  const bytes = new Uint8Array(await (await fetch(link.href)).arrayBuffer());
  return [bytes.length, [...bytes.slice(-3)]];
});
({ sent, bytes, last })
// --- a login in a window of its own
//! result: {"refused":"User and password do not match.","before":"nobody","after":"ada","account":"ada"}
//! bytes_max: 400
const page = await browser.open('{{site}}/shop_login');
const before = await page.textContent('#user');
const [popup] = await Promise.all([page.waitForEvent('popup'), page.getByRole('button', { name: 'Log in' }).click()]);
await popup.fill({ '[name=user]': 'ada', '[name=password]': 'byron' });
await popup.getByRole('button').click();
const refused = await popup.getByRole('alert').filter({ hasText: /./ }).textContent();
const closed = popup.waitForEvent('close');
await popup.getByLabel('Password').fill('lovelace');
await popup.getByRole('button').click();
await closed;
const after = await page.textContent('#user');
await page.goto('{{site}}/account');
({ refused, before, after, account: await page.textContent('#user') })
