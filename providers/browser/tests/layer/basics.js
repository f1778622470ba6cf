// Test cases of the layer. Each begins with its name, followed by the script and, in a comment, the expected result or
// error and the calls in order, except `events`. `answers` has the answers of calls: one answer, or a list whose last
// one repeats. `emits` are events before the answer, `later` after it, `wait` is the answer's delay in milliseconds,
// `bytes` a value of bytes. Calls that are not listed return null, and `open` returns the page P1.

// case: open, goto, title, url
// answers: {"goto":{"value":{"url":"http://x.test/b","status":200,"statusText":"OK","headers":{"A":"b"},"requestId":"r1"},"url":"http://x.test/b"},"evaluate":{"value":"T"}}
const page = await browser.open("http://x.test/a", { waitUntil: "load", timeout: 500 });
const before = page.url();
const response = await page.goto("/b");
return [before, page.url(), response.status(), response.ok(), response.headers(), await page.title(), page];
/*
{
"result": ["http://x.test/a","http://x.test/b",200,true,{"a":"b"},"T",{"page":"P1","url":"http://x.test/b"}],
"calls": [
  ["open",{"url":"http://x.test/a","waitUntil":"load","timeoutMs":500}],
  ["goto",{"url":"http://x.test/b","page":"P1"}],
  ["evaluate",{"function":"document.title","isFunction":false,"page":"P1"}]
]
}
*/
// case: a locator's chain
const page = await browser.open();
const row = page.getByRole("row", { name: "Ada", exact: true }).filter({ hasText: /x/i, has: page.locator("b") });
await row.getByLabel("it's").nth(2).click({ timeout: 1000, button: "right" });
return [row, String(page.locator("#a").first().or(page.getByText("q")).and(page.getByTestId("t")).last())];
/*
{
"result": ["getByRole('row', { name: 'Ada', exact: true }).filter({ hasText: /x/i }).filter({ has: locator('b') })","locator('#a').first().or(getByText('q')).and(getByTestId('t')).last()"],
"calls": [
  ["open",{}],
  ["click",{"button":"right","page":"P1","target":{"steps":[{"by":"role","role":"row","name":{"text":"Ada","exact":true}},{"by":"hasText","text":{"regex":"x","flags":"i"}},{"by":"has","steps":[{"by":"selector","value":"b"}]},{"by":"label","text":{"text":"it's"}},{"by":"nth","index":2}]},"timeoutMs":1000}]
]
}
*/
// case: forms of a page's methods
const page = await browser.open();
await page.fill("#user", "ada");
await page.fill({ "#user": "ada", "@e5": true, "#n": 3 });
await page.click("button");
await page.click("@e7");
await page.press("#user", "Enter");
await page.type("#user", "x", { delay: 10 });
await page.check("#c");
await page.uncheck("#c", { strict: true });
await page.selectOption("select", ["a", { label: "b" }, { index: 2 }]);
await page.dragAndDrop("#a", "#b");
await page.hover("#a");
await page.dblclick("#a");
await page.setInputFiles("input", { name: "a.txt", mimeType: "text/plain", buffer: "hi" });
await page.dispatchEvent("#a", "click");
await page.keyboard.press("Enter");
await page.keyboard.type("abc");
await page.mouse.click(1, 2);
await page.mouse.wheel(0, 100);
/*
{
"calls": [
  ["open",{}],
  ["fill",{"value":"ada","page":"P1","target":{"steps":[{"by":"selector","value":"#user"},{"by":"nth","index":0}]}}],
  ["fillForm",{"fields":[{"target":{"steps":[{"by":"selector","value":"#user"},{"by":"nth","index":0}]},"value":"ada"},{"target":{"steps":[{"by":"selector","value":"@e5"}]},"value":true},{"target":{"steps":[{"by":"selector","value":"#n"},{"by":"nth","index":0}]},"value":"3"}],"page":"P1"}],
  ["click",{"page":"P1","target":{"steps":[{"by":"selector","value":"button"},{"by":"nth","index":0}]}}],
  ["click",{"page":"P1","target":{"steps":[{"by":"selector","value":"@e7"}]}}],
  ["press",{"key":"Enter","page":"P1","target":{"steps":[{"by":"selector","value":"#user"},{"by":"nth","index":0}]}}],
  ["type",{"text":"x","delay":10,"page":"P1","target":{"steps":[{"by":"selector","value":"#user"},{"by":"nth","index":0}]}}],
  ["check",{"checked":true,"page":"P1","target":{"steps":[{"by":"selector","value":"#c"},{"by":"nth","index":0}]}}],
  ["check",{"checked":false,"page":"P1","target":{"steps":[{"by":"selector","value":"#c"}]}}],
  ["select",{"options":[{"valueOrLabel":"a"},{"label":"b"},{"index":2}],"page":"P1","target":{"steps":[{"by":"selector","value":"select"},{"by":"nth","index":0}]}}],
  ["drag",{"source":{"steps":[{"by":"selector","value":"#a"},{"by":"nth","index":0}]},"target":{"steps":[{"by":"selector","value":"#b"},{"by":"nth","index":0}]},"page":"P1"}],
  ["hover",{"page":"P1","target":{"steps":[{"by":"selector","value":"#a"},{"by":"nth","index":0}]}}],
  ["click",{"clickCount":2,"page":"P1","target":{"steps":[{"by":"selector","value":"#a"},{"by":"nth","index":0}]}}],
  ["upload",{"files":[{"name":"a.txt","buffer":{"bytes":[104,105]},"mimeType":"text/plain"}],"page":"P1","target":{"steps":[{"by":"selector","value":"input"},{"by":"nth","index":0}]}}],
  ["dispatchEvent",{"type":"click","page":"P1","target":{"steps":[{"by":"selector","value":"#a"},{"by":"nth","index":0}]}}],
  ["keyboard",{"op":"press","key":"Enter","page":"P1"}],
  ["keyboard",{"op":"type","text":"abc","page":"P1"}],
  ["mouse",{"op":"click","x":1,"y":2,"page":"P1"}],
  ["mouse",{"op":"wheel","dx":0,"dy":100,"page":"P1"}]
]
}
*/
// case: reading
// answers: {"read":{"value":"v"},"readAll":{"value":2},"waitFor":{},"snapshot":{"value":{"text":"- button [ref=e1]","nodes":1}},"extract":[{"value":"# T"},{"value":{"rows":[{"a":"1"}],"headers":["a"]}}],"screenshot":{"bytes":[1,2,3]}}
const page = await browser.open();
const out = [];
out.push(await page.textContent("h1"), await page.getAttribute("a", "href"), await page.isVisible("p"));
out.push(await page.locator("li").count(), await page.locator("li").all(), await page.$("q"), (await page.$$("q")).length);
out.push(await page.locator("h1").textContent({ timeout: 5 }), await page.locator("h1").isChecked());
await page.locator("h1").waitFor();
out.push(await page.waitForSelector("#x", { state: "hidden" }), await page.waitForSelector("#x"));
out.push(await page.snapshot({ interactive: true }), await page.markdown(), await page.table("#t"));
const shot = await page.screenshot({ fullPage: true });
out.push(shot.length, shot.toString("base64"));
return out;
/*
{
"result": ["v","v","v",2,["locator('li').nth(0)","locator('li').nth(1)"],"locator('q').first()",2,"v","v",null,"locator('#x').first()","- button [ref=e1]","# T",[{"a":"1"}],3,"AQID"],
"calls": [
  ["open",{}],
  ["read",{"what":"textContent","page":"P1","target":{"steps":[{"by":"selector","value":"h1"},{"by":"nth","index":0}]}}],
  ["read",{"what":"attribute","name":"href","page":"P1","target":{"steps":[{"by":"selector","value":"a"},{"by":"nth","index":0}]}}],
  ["read",{"what":"visible","page":"P1","target":{"steps":[{"by":"selector","value":"p"},{"by":"nth","index":0}]}}],
  ["readAll",{"what":"count","page":"P1","target":{"steps":[{"by":"selector","value":"li"}]}}],
  ["readAll",{"what":"count","page":"P1","target":{"steps":[{"by":"selector","value":"li"}]}}],
  ["readAll",{"what":"count","page":"P1","target":{"steps":[{"by":"selector","value":"q"}]}}],
  ["readAll",{"what":"count","page":"P1","target":{"steps":[{"by":"selector","value":"q"}]}}],
  ["read",{"what":"textContent","page":"P1","target":{"steps":[{"by":"selector","value":"h1"}]},"timeoutMs":5}],
  ["read",{"what":"checked","page":"P1","target":{"steps":[{"by":"selector","value":"h1"}]}}],
  ["waitFor",{"state":"visible","page":"P1","target":{"steps":[{"by":"selector","value":"h1"}]}}],
  ["waitFor",{"state":"hidden","page":"P1","target":{"steps":[{"by":"selector","value":"#x"},{"by":"nth","index":0}]}}],
  ["waitFor",{"state":"visible","page":"P1","target":{"steps":[{"by":"selector","value":"#x"},{"by":"nth","index":0}]}}],
  ["snapshot",{"interactive":true,"page":"P1"}],
  ["extract",{"as":"markdown","page":"P1"}],
  ["extract",{"as":"table","target":{"steps":[{"by":"selector","value":"#t"},{"by":"nth","index":0}]},"page":"P1"}],
  ["screenshot",{"fullPage":true,"page":"P1"}]
]
}
*/
// case: functions for the page
// answers: {"evaluate":{"value":4}}
const page = await browser.open();
const helper = { double(x) { return x * 2 }, async later(x) { return x }, *gen() { yield 1 }, ["a b"](x) { return x } };
await page.evaluate((x) => x * 2, 2);
await page.evaluate("1 + 1");
await page.evaluate("() => 1");
await page.evaluate("(() => 1)()");
await page.evaluate(helper.double, 1);
await page.evaluate(helper.later);
await page.evaluate(helper.gen);
await page.evaluate(helper["a b"]);
await page.evaluate(async function named(a) { return a });
await page.$eval("#x", (element, n) => element.id + n, 3);
await page.$$eval("p", (all) => all.length);
await page.locator("p").evaluateAll((all) => all.length);
await page.frame("inner").evaluate(() => 1);
await page.frame("inner").evaluate("document.title");
await page.addInitScript((x) => { window.x = x }, 5);
await page.waitForFunction(() => window.ready, null, { polling: 100, timeout: 0 });
/*
{
"calls": [
  ["open",{}],
  ["evaluate",{"function":"(x) => x * 2","isFunction":true,"arg":2,"page":"P1"}],
  ["evaluate",{"function":"1 + 1","isFunction":false,"page":"P1"}],
  ["evaluate",{"function":"() => 1","isFunction":true,"page":"P1"}],
  ["evaluate",{"function":"(() => 1)()","isFunction":false,"page":"P1"}],
  ["evaluate",{"function":"function double(x) { return x * 2 }","isFunction":true,"arg":1,"page":"P1"}],
  ["evaluate",{"function":"async function later(x) { return x }","isFunction":true,"page":"P1"}],
  ["evaluate",{"function":"function* gen() { yield 1 }","isFunction":true,"page":"P1"}],
  ["evaluate",{"function":"(...args) => ({ [\"a b\"](x) { return x } })[\"a b\"](...args)","isFunction":true,"page":"P1"}],
  ["evaluate",{"function":"async function named(a) { return a }","isFunction":true,"page":"P1"}],
  ["evaluate",{"function":"(element, n) => element.id + n","isFunction":true,"arg":3,"page":"P1","target":{"steps":[{"by":"selector","value":"#x"},{"by":"nth","index":0}]},"timeoutMs":1000}],
  ["evaluate",{"function":"(all) => all.length","isFunction":true,"all":true,"page":"P1","target":{"steps":[{"by":"selector","value":"p"}]}}],
  ["evaluate",{"function":"(all) => all.length","isFunction":true,"all":true,"page":"P1","target":{"steps":[{"by":"selector","value":"p"}]}}],
  ["evaluate",{"function":"(root, arg) => (() => 1)(arg)","isFunction":true,"page":"P1","target":{"steps":[{"by":"css","value":"iframe[name=\"inner\"], frame[name=\"inner\"], iframe[id=\"inner\"]"},{"by":"nth","index":0},{"by":"frame"},{"by":"css","value":":root"}]}}],
  ["evaluate",{"function":"() => (document.title)","isFunction":true,"page":"P1","target":{"steps":[{"by":"css","value":"iframe[name=\"inner\"], frame[name=\"inner\"], iframe[id=\"inner\"]"},{"by":"nth","index":0},{"by":"frame"},{"by":"css","value":":root"}]}}],
  ["initScript",{"source":"((x) => { window.x = x })(5)","page":"P1"}],
  ["waitForFunction",{"function":"() => window.ready","isFunction":true,"arg":null,"polling":100,"timeoutMs":0,"page":"P1"}]
]
}
*/
// case: a click that fails
// answers: {"click":{"error":{"message":"Timeout 1000ms exceeded.","fields":{"code":"CALL_TIMEOUT","hint":"h","retryable":true,"details":{"a":1}}}}}
const page = await browser.open();
await page.getByRole("button").click({ timeout: 1000 });
/*
{
"error": {"name":"TimeoutError","message":"locator.click: Timeout 1000ms exceeded.","code":"CALL_TIMEOUT","hint":"h","retryable":true,"details":{"a":1}},
"calls": [
  ["open",{}],
  ["click",{"page":"P1","target":{"steps":[{"by":"role","role":"button"}]},"timeoutMs":1000}]
]
}
*/
// case: what is not supported
const page = await browser.open();
const said = [];
for (const tried of [
  () => page.tap("a"), () => page.clock.install(), () => browser.launch(), () => page.clik("a"),
  () => page.locator("a").tap(), () => page.locator("a").textContents(), () => page.frameLocator("f").click(), () => browser.goto("x"),
  () => page.getByrole("x"), () => page.frobnicate(), () => page.pressSequentially("a", "b"), () => page.context().newContext(), () => page.on("dialogue", () => {}),
  () => browser.on("request", () => {}), () => page.locator(5), () => page.keyboard.hit("x"), () => page.screenshot({ path: "a.png" }),
  () => page.setInputFiles("a", "file.txt"), () => page.evaluate(Math.max), () => page.evaluate((x) => x, page.locator("a")), () => page.fill("a", undefined),
  () => browser.pages().length, () => page.frames().find((x) => x), () => page.getByText(undefined),
]) {
  try { await tried(); said.push("nothing"); } catch (error) { said.push(`${error.message} | ${error.hint}`); }
}
return [said, (await page) === page, typeof page.then, "" + page, page.constructor.name];
/*
{
"result": [["page.tap is not supported; use page.click | browser.help(\"page\") shows what there is.","page.clock is not supported; use page.addInitScript to replace Date or timers before the page's scripts run | browser.help(\"page\") shows what there is.","browser.launch is not supported; the browser is there already and is kept or ended by the host; use browser.open(url) | browser.help(\"browser\") shows what there is.","page.clik is not supported; use page.click | browser.help(\"page\") shows what there is.","locator.tap is not supported; use locator.click | browser.help(\"locator\") shows what there is.","locator.textContents is not supported; use locator.textContent | browser.help(\"locator\") shows what there is.","frameLocator.click is not supported; name an element first: frameLocator.locator(selector).click() | browser.help(\"frameLocator\") shows what there is.","browser.goto is not supported; use const page = await browser.open(url) | browser.help(\"browser\") shows what there is.","page.getByrole is not supported; use page.getByRole | browser.help(\"page\") shows what there is.","page.frobnicate is not supported; see browser.help(\"page\") | browser.help(\"page\") shows what there is.","page.pressSequentially is not supported; use page.locator(selector).pressSequentially(text) | browser.help(\"page\") shows what there is.","browser.newContext is not supported; an execution has one context; use browser.newPage() or browser.open(url), also with { storageState } | browser.help(\"browser\") shows what there is.","page.on('dialogue') is not supported; use 'dialog' | browser.help(\"page\") shows what there is.","browser.on('request') is not supported; listen on the page: page.on('request', …) | browser.help(\"browser\") shows what there is.","page.locator: a selector must be a string or a locator, and this is of type number. Name the element as \"#id\", \"text=…\", \"@e5\", or by page.getByRole(role, { name }). | Name the element as \"#id\", \"text=…\", \"@e5\", or by page.getByRole(role, { name }).","keyboard.hit is not supported; see browser.help(\"keyboard\") | browser.help(\"keyboard\") shows what there is.","page.screenshot: there are no files to write to. Leave out path, and return the bytes from the script. | Leave out path, and return the bytes from the script.","page.setInputFiles: a file is { name, mimeType, buffer }; paths cannot be read. Scripts have no files: give the content as buffer, a string or bytes. | Scripts have no files: give the content as buffer, a string or bytes.","page.evaluate: a bound or built-in function has no source that the page could run. Pass a function that is written out, as () => document.title. | Pass a function that is written out, as () => document.title.","nothing","page.fill: the value must be a string, and this is of type undefined | browser.help(name) shows what a method takes.","browser.pages: returns a promise here. Write (await browser.pages()) instead of browser.pages(). | Write (await browser.pages()) instead of browser.pages().","page.frames: returns a promise here. Write (await page.frames()) instead of page.frames(). | Write (await page.frames()) instead of page.frames().","getByText: a text must be a string or a regular expression, and this is of type undefined | browser.help(name) shows what a method takes."],true,"undefined","page about:blank","Page"],
"calls": [
  ["open",{}],
  ["evaluate",{"function":"(x) => x","isFunction":true,"page":"P1","target":{"steps":[{"by":"selector","value":"a"}]}}],
  ["pages",{}],
  ["frames",{"page":"P1"}]
],
"unhandled": ["Cannot read properties of undefined (reading 'map')","Cannot read properties of null (reading 'map')"]
}
*/
