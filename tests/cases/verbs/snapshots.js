// Outlines of pages with refs, on `tests/site/outline.html` and `rerendered.html`.

// --- the whole of a page, a closed shadow root and a frame of another process in it
//! result: "- banner:\n  - heading \"Shop\" [level=1] [ref=e1]\n- navigation \"Main\" [ref=e2]:\n  - link \"Home\" [ref=e3] [cursor=pointer]:\n    - /url: /controls\n- main:\n  - textbox \"Search\" [ref=e4]: lamp\n  - button \"Go\" [ref=e5]\n  - list:\n    - listitem: One\n    - listitem:\n      - text: Two\n      - button \"Take\" [disabled] [ref=e6]\n  - checkbox \"Gift\" [checked] [ref=e7]\n  - combobox \"Size\" [ref=e8]: Large\n    - option \"Small\" [ref=e9]\n    - option \"Large\" [selected] [ref=e10]\n  - button \"Closed\" [ref=e11]\n  - iframe \"Far\" [ref=e12]:\n    - button \"Leaf\" [ref=e13]"
const page = await browser.open('{{site}}/outline');
await page.frameLocator('iframe').getByRole('button').waitFor();
(await page.snapshot()).replaceAll('{{site}}', '')
// --- what can be acted upon
//! result: "- link \"Home\" [ref=e3] [cursor=pointer]:\n  - /url: /controls\n- textbox \"Search\" [ref=e4]: lamp\n- button \"Go\" [ref=e5]\n- button \"Take\" [disabled] [ref=e6]\n- checkbox \"Gift\" [checked] [ref=e7]\n- combobox \"Size\" [ref=e8]: Large\n- option \"Small\" [ref=e9]\n- option \"Large\" [selected] [ref=e10]\n- button \"Closed\" [ref=e11]\n- iframe \"Far\" [ref=e12]\n- button \"Leaf\" [ref=e13]"
//! key: first-refs-1
const page = await browser.open('{{site}}/outline');
await page.frameLocator('iframe').getByRole('button').waitFor();
(await page.snapshot({ interactive: true })).replaceAll('{{site}}', '')
// --- only so deep
//! result: "- banner\n- navigation \"Main\" [ref=e2]\n- main"
//! key: first-refs-2
const page = await browser.open('{{site}}/outline');
await page.snapshot({ depth: 1 })
// --- of one element
//! result: "- list:\n  - listitem: One\n  - listitem:\n    - text: Two\n    - button \"Take\" [disabled] [ref=e1]"
//! key: first-refs-3
const page = await browser.open('{{site}}/outline');
await page.locator('ul').snapshot()
// --- refs name elements, in the closed root and in the frame too
//! result: ["Closed","Clicked","lamp shade"]
const page = await browser.open('{{site}}/outline');
await page.frameLocator('iframe').getByRole('button').waitFor();
const text = await page.snapshot();
const ref = (words) => '@' + new RegExp(`${words}.*\\[ref=(e\\d+)\\]`).exec(text)[1];
await page.click(ref('button "Leaf"'));
await page.fill(ref('textbox "Search"'), 'lamp shade');
[await page.textContent(ref('button "Closed"')), await page.frameLocator('iframe').getByRole('button').textContent(), await page.inputValue('[name=q]')]
// --- refs are the same in the next snapshot
//! result: [true,true]
const page = await browser.open('{{site}}/outline');
await page.frameLocator('iframe').getByRole('button').waitFor();
const first = await page.snapshot();
await page.evaluate(() => document.querySelector('main').insertAdjacentHTML('afterbegin', '<button>New</button>'));
const second = await page.snapshot();
const refs = (text) => text.split('\n').filter((line) => line.includes('[ref=') && !line.includes('"New"')).map((line) => line.trim());
[refs(first).length > 5, JSON.stringify(refs(first)) === JSON.stringify(refs(second))]
// --- what has changed
//! result: ["(nothing has changed)", "+   - button \"New\" [ref=e14]\n- - navigation \"Main\" [ref=e2]:\n-   - link \"Home\" [ref=e3] [cursor=pointer]:\n-     - /url: /controls"]
//! key: first-refs-4
const page = await browser.open('{{site}}/outline');
await page.frameLocator('iframe').getByRole('button').waitFor();
await page.snapshot();
const nothing = await page.snapshot({ diff: true });
await page.evaluate(() => {
  document.querySelector('main').insertAdjacentHTML('beforeend', '<button>New</button>');
  document.querySelector('nav').remove();
});
const changes = await page.snapshot({ diff: true });
[nothing, changes.replaceAll('{{site}}', '')]
// --- an element that was rendered again is found by role and name, and it is said
//! result: "Save of rendering 2"
//! warnings: ["/^@e\\d+ had been replaced; the one button \"Save\"/"]
const page = await browser.open('{{site}}/rerendered');
const [, ref] = /button "Save" \[ref=(e\d+)\]/.exec(await page.snapshot());
await page.evaluate(() => render('Save', 'Delete'));
await page.click(`@${ref}`);
await page.textContent('#log')
// --- an element that is gone
//! error: ELEMENT_NOT_FOUND
//! details.reason: "REF_STALE"
//! message: /(?s)^page\.click: .*Delete/
//! hint: /(?s)snapshot/
const page = await browser.open('{{site}}/rerendered');
const [, ref] = /button "Delete" \[ref=(e\d+)\]/.exec(await page.snapshot());
await page.evaluate(() => render('Save'));
await page.click(`@${ref}`, { timeout: 1000 })
// --- two that look the same now
//! error: ELEMENT_NOT_FOUND
//! message: /^page\.click: .* is stale: its button "Save" was replaced, and 2 elements look like it now/
//! hint: /(?s)snapshot/
const page = await browser.open('{{site}}/rerendered');
const [, ref] = /button "Save" \[ref=(e\d+)\]/.exec(await page.snapshot());
await page.evaluate(() => render('Save', 'Save'));
await page.click(`@${ref}`, { timeout: 1000 })
// --- an element whose name has changed is found again by its present name
//! result: ["button \"Keep\"","Keep of rendering 2"]
//! warnings: ["/^@e\\d+ had been replaced; the one button \"Keep\"/"]
const page = await browser.open('{{site}}/rerendered');
const [, ref] = /button "Save" \[ref=(e\d+)\]/.exec(await page.snapshot());
await page.evaluate(() => { [...document.querySelectorAll('button')].find(({ textContent }) => textContent === 'Save').textContent = 'Keep'; });
const line = (await page.snapshot()).split('\n').find((line) => line.includes(`[ref=${ref}]`));
await page.evaluate(() => render('Keep', 'Save'));
await page.click(`@${ref}`);
[/button "\w+"/.exec(line)[0], await page.textContent('#log')]
// --- an element that a snapshot has given a ref keeps it, if an older ref leads to it as well
//! result: [true,"Save of rendering 2",true]
//! warnings: ["/^@e\\d+ had been replaced; the one button \"Save\"/"]
const page = await browser.open('{{site}}/rerendered');
const save = async () => /button "Save".*? \[ref=(e\d+)\]/.exec(await page.snapshot())[1];
const older = await save();
await page.evaluate(() => render('Save', 'Delete'));
const newer = await save();
await page.click(`@${older}`);
[older !== newer, await page.textContent('#log'), (await save()) === newer]
// --- a ref that nobody gave
//! error: ELEMENT_NOT_FOUND
//! details.reason: "REF_NOT_FOUND"
//! message: /(?s)^page\.click: .*e999/
//! hint: /(?s)snapshot/
const page = await browser.open('{{site}}/rerendered');
await page.click('@e999', { timeout: 1000 })
// --- Playwright's own form of it
//! result: "- text: Search\n- textbox \"Search\": lamp\n- button \"Go\""
const page = await browser.open('{{site}}/outline');
await page.locator('form').ariaSnapshot()
// --- no more than so many characters, and how to read on
//! result: [true,true,"- listitem:\n  - text: Two\n  - button \"Take\" [disabled] [ref=e1]"]
//! key: first-refs-5
const page = await browser.open('{{site}}/outline');
const part = await page.locator('li').last().snapshot();
const little = await page.snapshot({ limit: 150 });
[little.length < 350, /… \d+ more lines: take a snapshot of a part with/.test(little), part]
// --- states, what fields hold, what has no role and is used
//! result: "- textbox \"User\" [required] [focused] [ref=e1]\n- textbox \"Word\" [ref=e2]: ••••••\n- slider \"Sound\" [ref=e3]: 3\n- group:\n  - generic [ref=e4]: More\n- generic [ref=e5]: Tab stop\n- generic [ref=e6]: Written here\n- generic [ref=e7] [cursor=pointer]: Click me\n- textbox \"Code\" [invalid] [ref=e8]\n- button \"Menu\" [expanded] [pressed] [ref=e9]"
//! key: first-refs-6
const page = await browser.newPage();
await page.setContent(`<label>User <input required></label><input type="password" aria-label="Word" value="secret">
  <input type="range" aria-label="Sound" value="3" max="9"><details><summary>More</summary>Folded</details><div tabindex="0">Tab stop</div>
  <div contenteditable>Written here</div><div style="cursor: pointer">Click <b>me</b></div><input aria-label="Code" aria-invalid="true">
  <button aria-expanded="true" aria-pressed="true">Menu</button>`);
await page.getByLabel('User').focus();
await page.snapshot()
// --- what is clicked and has the role of something else: items of a list and rows of a table, with names or without
//! result: ["- listitem [ref=e1] [cursor=pointer]: One\n- row \"Lamp 5.00\" [ref=e2] [cursor=pointer]\n- paragraph [ref=e8]: Written here","itemrow",["New","Read"]]
//! key: first-refs-8
const page = await browser.newPage();
await page.setContent(`<style>.hand { cursor: pointer }</style><ul><li class="hand" onclick="document.title += 'item '">One</li><li>Two</li></ul>
  <table><tr class="hand" onclick="document.title += 'row '"><td>Lamp<td>5.00</tr><tr><td>Chair<td>7.00</tr></table>
  <p contenteditable>Written here</p><p>Read</p>`);
const outline = await page.snapshot({ interactive: true });
for (const [, ref] of outline.matchAll(/ref=(e\d+)\] \[cursor=pointer/g)) await page.click(`@${ref}`);
await page.fill(`@${/paragraph.*ref=(e\d+)/.exec(outline)[1]}`, 'New');
[outline, await page.title(), await page.getByRole('paragraph').allTextContents()]
// --- ten thousand elements, and attributes that are larger than an answer may be
//! result: [true,5000,"@e4999",true]
//! warnings: ["/closed shadow roots was not looked for/"]
//! key: first-refs-7
const page = await browser.newPage();
await page.evaluate(() => {
  document.body.innerHTML = `<ul>${Array.from({ length: 5000 }, (_, at) => `<li><button>B ${at}</button></li>`).join('')}</ul>`;
  for (const button of [...document.querySelectorAll('button')].slice(100, 112)) button.title = 'x'.repeat(1_000_000);
});
const text = await page.snapshot({ interactive: true, limit: 400_000 });
const refs = [...text.matchAll(/button "B (\d+)" \[ref=(e\d+)\]/g)];
const [, name, ref] = refs[4998];
[name === '4998', refs.length, `@${ref}`, (await page.textContent(`@${ref}`)) === 'B 4998']
