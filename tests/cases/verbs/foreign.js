// Programs that nobody here wrote (`tests/foreign`), driven as a model would drive them.

// --- TodoMVC on React: adding, checking, filters, clearing
//! result: {"all":["3items left","write a letter","feed the cat","buy milk"],"active":["2items left","write a letter","buy milk"],"completed":["2items left","feed the cat"],"rest":["2items left","write a letter","buy milk"],"clear":0}
const page = await browser.open('http://todomvc-react.{{foreign}}/');
const box = page.getByPlaceholder('What needs to be done?');
for (const task of ['buy milk', '  feed the cat  ', 'write a letter', '   ']) {
  await box.fill(task);
  await box.press('Enter');
}
const items = page.locator('.todo-list li');
const shown = async () => [await page.locator('.todo-count').textContent(), ...(await items.allTextContents())];
const all = await shown();
await items.filter({ hasText: 'cat' }).getByRole('checkbox').check();
await page.getByText('Active', { exact: true }).click();
const active = await shown();
await page.getByText('Completed', { exact: true }).click();
const completed = await shown();
await page.getByText('All', { exact: true }).click();
await page.getByRole('button', { name: 'Clear completed' }).click();
({ all, active, completed, rest: await shown(), clear: await page.getByRole('button', { name: 'Clear completed' }).count() })
// --- TodoMVC on React: editing by a double click, leaving it, and the button that only a hover shows
//! result: {"before":false,"hovered":true,"left":["write two letters","feed both cats"],"count":"2items left"}
const page = await browser.open('http://todomvc-react.{{foreign}}/');
const box = page.getByPlaceholder('What needs to be done?');
for (const task of ['buy milk', 'feed the cat', 'write a letter']) {
  await box.pressSequentially(task);
  await page.keyboard.press('Enter');
}
const items = page.locator('.todo-list').getByRole('listitem');
await page.getByText('feed the cat').dblclick();
await items.nth(1).getByRole('textbox').fill('feed both cats');
await page.keyboard.press('Enter');
await page.getByText('write a letter').dblclick();
await page.locator('.editing .edit').fill('write two letters');
await page.locator('.editing .edit').blur();
const milk = items.filter({ hasText: 'milk' });
const remove = milk.locator('button.destroy');
const before = await remove.isVisible();
await milk.hover();
const hovered = await remove.isVisible();
await remove.click();
({ before, hovered, left: await items.allTextContents(), count: await page.locator('.todo-count').innerText() })
// --- TodoMVC on React: all at once, and back
//! result: {"all":[true,true],"none":[false,false],"button":true}
const page = await browser.open('http://todomvc-react.{{foreign}}/');
for (const task of ['buy milk', 'feed the cat']) {
  await page.getByPlaceholder('What needs to be done?').fill(task);
  await page.keyboard.press('Enter');
}
const checked = () => page.locator('.todo-list .toggle').evaluateAll((boxes) => boxes.map((box) => box.checked));
await page.locator('.toggle-all').check();
const [all, button] = [await checked(), await page.getByRole('button', { name: 'Clear completed' }).isVisible()];
await page.locator('.toggle-all').uncheck();
({ all, none: await checked(), button })
// --- TodoMVC on React: by snapshots and their refs
//! result: ["- banner:\n  - heading \"todos\" [level=1] [ref=e1]\n  - textbox \"What needs to be done?\" [focused] [ref=e2]\n- checkbox [ref=e3]\n- list:\n  - listitem:\n    - checkbox [ref=e4]\n    - text: feed the cat\n  - listitem:\n    - checkbox [ref=e5]\n    - text: buy milk\n- strong: 2\n- text: items left\n- list:\n  - listitem:\n    - generic [ref=e6] [cursor=pointer]: All\n  - listitem:\n    - generic [ref=e7] [cursor=pointer]: Active\n  - listitem:\n    - generic [ref=e8] [cursor=pointer]: Completed","+   - textbox \"What needs to be done?\" [ref=e2]\n+     - checkbox [checked] [focused] [ref=e5]\n+     - button \"×\" [ref=e9]\n+ - strong: 1\n+ - text: item left\n+ - button \"Clear completed\" [ref=e10]\n-   - textbox \"What needs to be done?\" [focused] [ref=e2]\n-     - checkbox [ref=e5]\n- - strong: 2\n- - text: items left","- list:\n  - listitem:\n    - checkbox [ref=e4]\n    - text: feed the cat"]
const page = await browser.open('http://todomvc-react.{{foreign}}/');
const refs = (outline, words) => [...outline.matchAll(new RegExp(`${words}.*\\[ref=(e\\d+)\\]`, 'g'))].map(([, ref]) => `@${ref}`);
const [box] = refs(await page.snapshot(), 'textbox "What needs');
for (const task of ['buy milk', 'feed the cat']) {
  await page.fill(box, task);
  await page.press(box, 'Enter');
}
const outline = await page.snapshot();
const [, , milk] = refs(outline, 'checkbox');
await page.check(milk);
const changes = await page.snapshot({ diff: true });
const [, active] = refs(outline, 'generic');
await page.click(active);
[outline, changes, await page.locator('.todo-list').snapshot()]
// --- TodoMVC on Vue: adding, checking, filters that are addresses, and what is still there after a reload
//! result: {"completed":["feed the cat"],"kept":["buy milk","feed the cat","write two letters"],"checked":[false,true,false],"rest":["buy milk","write two letters"]}
const page = await browser.open('http://todomvc-vue.{{foreign}}/');
const box = page.getByPlaceholder('What needs to be done?');
for (const task of ['buy milk', 'feed the cat', 'write a letter']) {
  await box.fill(task);
  await box.press('Enter');
  await page.getByRole('listitem').filter({ hasText: task }).waitFor();
}
const left = (count) => page.locator('#todo-count', { hasText: new RegExp(`^\\s*${count} items? left`) }).waitFor();
const todos = page.locator('#todo-list > li');
await left(3);
await todos.filter({ hasText: 'cat' }).getByRole('checkbox').check();
await left(2);
await page.getByRole('link', { name: 'Completed' }).click();
await page.waitForURL('**/#/completed');
await todos.filter({ hasText: 'milk' }).waitFor({ state: 'hidden' });
const completed = await todos.allInnerTexts();
await page.goBack();
await todos.filter({ hasText: 'milk' }).waitFor();
await todos.filter({ hasText: 'letter' }).locator('label').dblclick();
await todos.filter({ hasText: 'letter' }).locator('.edit').fill('write two letters');
await page.keyboard.press('Enter');
await page.getByText('write two letters').waitFor();
await page.waitForFunction(() => localStorage['todos-vuejs'].includes('write two letters'));
await page.reload();
const kept = await todos.locator('label').allTextContents();
const checked = await todos.locator('.toggle').evaluateAll((boxes) => boxes.map((box) => box.checked));
await page.getByRole('button', { name: 'Clear completed (1)' }).click();
await todos.filter({ hasText: 'cat' }).waitFor({ state: 'detached' });
await page.waitForFunction(() => JSON.parse(localStorage['todos-vuejs']).length === 2);
({ completed, kept, checked, rest: await todos.locator('label').allTextContents() })
// --- TodoMVC on Vue: all at once, an edit that is given up, and the button that only a hover shows
//! result: ["feed the cat"]
const page = await browser.open('http://todomvc-vue.{{foreign}}/');
const box = page.getByPlaceholder('What needs to be done?');
for (const task of ['buy milk', 'feed the cat']) {
  await box.fill(task);
  await box.press('Enter');
}
const todos = page.locator('#todo-list li');
await todos.nth(1).waitFor();
await page.locator('#toggle-all').check();
await page.locator('#todo-count', { hasText: '0 items left' }).waitFor();
await todos.getByRole('checkbox', { checked: true }).nth(1).waitFor();
await page.getByText('buy milk').dblclick();
await page.locator('.editing .edit').fill('buy nothing');
await page.keyboard.press('Escape');
await page.getByText('buy milk').waitFor();
await todos.first().hover();
await todos.first().locator('.destroy').click();
await page.getByText('buy milk').waitFor({ state: 'detached' });
await todos.locator('label').allTextContents()
// --- react-admin: a login without anything, with a wrong password, with the right one, and a logout
//! result: {"missing":2,"seen":"text","refused":"Unauthorized","user":"Jane Doe","after":"#/login","kept":null}
const page = await browser.open('http://react-admin.{{foreign}}/');
await page.getByRole('button', { name: 'Sign in' }).click();
await page.getByText('Required').nth(1).waitFor();
const missing = await page.getByText('Required').count();
await page.getByLabel('Username').fill('janedoe');
await page.getByRole('textbox', { name: 'Password' }).fill('byron');
await page.getByRole('button', { name: 'Show password' }).click();
const seen = await page.getByLabel('Password *').getAttribute('type');
await page.getByRole('button', { name: 'Sign in' }).click();
const refused = await page.getByRole('alert').filter({ hasText: 'Unauthorized' }).innerText();
await page.getByLabel('Password *').fill('password');
await page.keyboard.press('Enter');
await page.waitForURL('**/#/posts');
const user = await page.getByRole('button', { name: 'Profile' }).getByRole('img').getAttribute('alt');
await page.getByRole('button', { name: 'Profile' }).click();
await page.getByRole('menuitem', { name: 'Logout' }).click();
await page.getByRole('button', { name: 'Sign in' }).waitFor();
({ missing, seen, refused, user, after: new URL(page.url()).hash, kept: await page.evaluate(() => localStorage.getItem('user')) })
// --- react-admin: the whole table, of several pages, sorted, with more rows on a page
//! result: {"first":[0,1,2,3,4,5,6,7,8,9],"second":[{"column 1":"","Id":"10","Title":"Post 11","Content":"Content 11"},{"column 1":"","Id":"11","Title":"Post 12","Content":"Content 12"}],"down":[11,10,9,8,7,6,5,4,3,2],"all":[11,10,9,8,7,6,5,4,3,2,1,0],"address":"#/posts?filter={}&order=DESC&page=1&perPage=25&sort=id"}
const page = await browser.open('http://react-admin.{{foreign}}/');
await page.getByLabel('Username').fill('janedoe');
await page.getByRole('textbox', { name: 'Password' }).fill('password');
await page.getByRole('button', { name: 'Sign in' }).click();
const body = page.locator('tbody');
await body.getByRole('row').nth(9).waitFor();
const ids = async () => (await page.table()).map(({ Id }) => Number(Id));
const first = await ids();
await page.getByRole('button', { name: 'Go to next page' }).click();
await page.getByText('11-12 of 12').waitFor();
await body.getByRole('row', { name: 'Post 11' }).waitFor();
const second = await page.table();
await page.getByRole('button', { name: 'Sort by id descending' }).click();
await page.getByRole('columnheader', { name: 'Sort by id ascending' }).waitFor();
await body.getByRole('row').first().filter({ hasText: 'Post 12' }).waitFor();
const down = await ids();
await page.getByRole('combobox', { name: 'Rows per page' }).click();
await page.getByRole('option', { name: '25' }).click();
await body.getByRole('row').nth(11).waitFor();
({ first, second, down, all: await ids(), address: decodeURIComponent(new URL(page.url()).hash) })
// --- react-admin: rows that are chosen are deleted together, and come back
//! result: {"without":["Post 1","Post 3","Post 5","Post 6","Post 7","Post 8","Post 9","Post 10"],"with":["Post 1","Post 2","Post 3","Post 4","Post 5","Post 6","Post 7","Post 8","Post 9","Post 10"]}
const page = await browser.open('http://react-admin.{{foreign}}/');
await page.getByLabel('Username').fill('janedoe');
await page.getByRole('textbox', { name: 'Password' }).fill('password');
await page.getByRole('button', { name: 'Sign in' }).click();
await page.getByRole('row', { name: 'Post 2' }).getByRole('checkbox').check();
await page.getByRole('row', { name: 'Post 4' }).getByRole('checkbox').check();
await page.getByText('2 items selected').waitFor();
await page.getByRole('button', { name: 'Delete' }).click();
// It stays as long as the mouse is over it.
await page.getByRole('alert').filter({ hasText: '2 elements deleted' }).hover();
await page.getByText('1-10 of 10').waitFor();
const without = await page.locator('tbody tr td:nth-child(3)').allTextContents();
await page.getByRole('button', { name: 'Undo' }).click();
await page.getByText('1-10 of 12').waitFor();
await page.getByRole('row', { name: 'Post 4' }).waitFor();
({ without, with: await page.locator('tbody tr td:nth-child(3)').allTextContents() })
// --- react-admin: a form with a field that completes what is typed, and what the table says afterwards
//! result: {"before":true,"options":["Post 12"],"taken":"Post 12","row":["","3","Post 12","Comment four"],"told":"Element updated\nUNDO"}
const page = await browser.open('http://react-admin.{{foreign}}/');
await page.getByLabel('Username').fill('janedoe');
await page.getByRole('textbox', { name: 'Password' }).fill('password');
await page.getByRole('button', { name: 'Sign in' }).click();
await page.getByRole('menuitem', { name: 'Comments' }).click();
await page.getByRole('row', { name: 'Comment 4' }).getByRole('cell', { name: 'Comment 4' }).click();
await page.waitForURL('**/#/comments/3/show');
await page.getByRole('link', { name: 'Edit' }).click();
const save = page.getByRole('button', { name: 'Save' });
const before = await save.isDisabled();
await page.getByRole('textbox', { name: 'Content' }).fill('Comment four');
const post = page.getByRole('combobox', { name: 'Post' });
await post.waitForFunction((field) => field.value === 'Post 2');
await post.fill('12');
await page.getByRole('listbox').waitForFunction((list) => list.textContent === 'Post 12');
const options = await page.getByRole('option').allTextContents();
await page.getByRole('option', { name: 'Post 12' }).click();
const taken = await post.inputValue();
await save.click();
const told = await page.getByRole('alert').filter({ hasText: 'updated' }).innerText();
await page.waitForURL('**/#/comments');
const row = page.getByRole('row', { name: 'Comment four' });
await row.getByRole('link', { name: 'Post 12' }).waitFor();
({ before, options, taken, row: await row.getByRole('cell').allTextContents(), told })
// --- react-admin: by snapshots and their refs
//! result: {"form":"- textbox \"Id\": 2\n- paragraph\n- textbox \"Title\": Post 3\n- paragraph\n- textbox \"Content\": Content 3\n- paragraph\n- toolbar:\n  - button \"Save\" [disabled]\n  - button \"Delete\" [cursor=pointer]","rows":[{"column 1":"","Id":"1","Title":"Post 2","Content":"Content 2"},{"column 1":"","Id":"2","Title":"The third post","Content":"Content 3"},{"column 1":"","Id":"3","Title":"Post 4","Content":"Content 4"}]}
const page = await browser.open('http://react-admin.{{foreign}}/');
await page.getByRole('button', { name: 'Sign in' }).waitFor();
const ref = async (words) => '@' + new RegExp(`${words}.*\\[ref=(e\\d+)\\]`).exec(await page.snapshot({ interactive: true }))[1];
await page.fill(await ref('textbox "Username"'), 'johndoe');
await page.fill(await ref('textbox "Password"'), 'password');
await page.click(await ref('button "Sign in"'));
await page.getByRole('row', { name: 'Post 3' }).waitFor();
await page.click(await ref('row "[^"]*Post 3 '));
await page.waitForURL('**/#/posts/2/show');
await page.getByRole('link', { name: 'Edit' }).waitFor();
await page.click(await ref('link "Edit"'));
await page.getByRole('textbox', { name: 'Title' }).waitFor();
const form = await page.locator('form').snapshot();
await page.fill(await ref('textbox "Title"'), 'The third post');
await page.getByRole('button', { name: 'Save', disabled: false }).waitFor();
await page.click(await ref('button "Save"'));
await page.getByRole('cell', { name: 'The third post' }).waitFor();
({ form: form.replace(/ \[ref=e\d+\]/g, ''), rows: (await page.table()).slice(1, 4) })
// --- RapiDoc: credentials, a form of an API in nested shadow roots, and what the API was sent
//! result: {"priority":"high","method":"POST","path":"/mirror","authorization":"Basic YWRhOmxvdmVsYWNl","body":"title=The+lamp+is+broken&priority=high&description=It+is+dark%2C+and+5+%3E+4+%26+so+on."}
const page = await browser.open('http://rapidoc.{{foreign}}/');
await page.getByPlaceholder('username').fill('ada');
await page.getByPlaceholder('password').fill('lovelace');
await page.getByRole('button', { name: 'SET' }).click();
await page.getByText('1 API key applied').waitFor();
await page.getByText('File an issue').click();
const form = page.locator('api-request');
await form.locator('[data-pname="title"]').fill('The lamp is broken');
await form.locator('[data-pname="description"]').fill('It is dark, and 5 > 4 & so on.');
await form.getByText('high').click();
const priority = await form.locator('[data-pname="priority"]').inputValue();
await form.getByRole('button', { name: 'TRY' }).click();
await page.getByText('Response Status: OK:200').waitFor();
const sent = JSON.parse(await form.locator('pre code', { hasText: '"method"' }).innerText());
({ priority, method: sent.method, path: sent.path, authorization: sent.headers.authorization, body: sent.body })
// --- RapiDoc: by snapshots and their refs
//! result: {"outline":"- text: REQUEST QUERY-STRING PARAMETERS * text string\n- textbox [ref=e1]\n- text: state enum\n- textbox [ref=e2]\n- text: Allowed:\n- generic [ref=e3] [cursor=pointer]: open\n- text: ┃\n- generic [ref=e4] [cursor=pointer]: closed\n- text: ┃\n- generic [ref=e5] [cursor=pointer]: all\n- text: limit integer\n- textbox [ref=e6]\n- text: Default: 10 API Server http:/// Authentication Required (None Applied)\n- button \"FILL EXAMPLE\" [ref=e7] [cursor=pointer]\n- button \"CLEAR\" [ref=e8] [cursor=pointer]\n- button \"TRY\" [ref=e9] [cursor=pointer]","state":"closed","path":"/mirror?text=lamp&state=closed&limit=3"}
//! key: first-refs
const page = await browser.open('http://rapidoc.{{foreign}}/');
await page.getByText('Search issues').click();
const form = page.locator('api-request');
await form.getByRole('button', { name: 'TRY' }).waitFor();
const outline = await form.snapshot();
const refs = (words) => [...outline.matchAll(new RegExp(`${words}.*\\[ref=(e\\d+)\\]`, 'g'))].map(([, ref]) => `@${ref}`);
const [text, state, limit] = refs('textbox');
await page.fill(text, 'lamp');
await page.click(refs('generic')[1]);
await page.fill(limit, '3');
await page.click(refs('button "TRY"')[0]);
await page.getByText('Response Status: OK:200').waitFor();
const sent = JSON.parse(await form.locator('pre code', { hasText: '"method"' }).innerText());
({ outline: outline.replaceAll('rapidoc.{{foreign}}', ''), state: await page.inputValue(state), path: sent.path })
