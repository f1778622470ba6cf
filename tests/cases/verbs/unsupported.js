// What Playwright has and this has not: it fails by name, with what to write instead.

// --- each by its name
//! result: ["page.evaluateHandle is not supported; use evaluate, which returns plain data","page.goBackwards is not supported; see browser.help(\"page\")","locator.tap is not supported; use locator.click","browser.newContext is not supported; an execution has one context; use browser.newPage() or browser.open(url), also with { storageState }","page.accessibility is not supported; use page.snapshot() or page.locator('body').ariaSnapshot()"]
const page = await browser.open('{{site}}/leaf');
const told = (fn) => { try { fn(); return 'nothing'; } catch (error) { return error.message; } };
[
  told(() => page.evaluateHandle(() => 1)), told(() => page.goBackwards()), told(() => page.locator('a').tap()),
  told(() => browser.newContext()), told(() => page.accessibility.snapshot()),
]
// --- an option that there is not
//! error: INVALID_ARGUMENT
//! message: /^(?:Error: )?browser\.open: there is no option waitFor\. There are: waitUntil/
await browser.open('{{site}}/leaf', { waitFor: 'load' })
// --- a picture into a file
//! error: INVALID_ARGUMENT
//! message: /^(?:Error: )?page\.screenshot: there are no files to write to/
const page = await browser.open('{{site}}/leaf');
await page.screenshot({ path: 'a.png' })
// --- a promise that is used as a list
//! error: INVALID_ARGUMENT
//! message: /^(?:Error: )?browser\.pages: returns a promise here\. Write \(await browser\.pages\(\)\) instead/
browser.pages().length
// --- the help
//! result: [true,true]
const text = browser.help('page');
[text.includes('goto'), text.length < 8000]
// --- a selector of another kind of thing
//! error: /INVALID_ARGUMENT|INVALID_SELECTOR/
//! message: /^(?:Error: )?page\.click: /
const page = await browser.open('{{site}}/leaf');
await page.click(42)
// --- another browser
//! error: UNSUPPORTED_OPERATION
//! message: /^(?:Error: )?browser\.launch is not supported; /
await browser.launch()
