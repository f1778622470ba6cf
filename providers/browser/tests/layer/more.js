// Test cases of the layer. Each begins with its name, followed by the script and, in a comment, the expected result or
// error and the calls in order, except `events`. `answers` has the answers of calls: one answer, or a list whose last
// one repeats. `emits` are events before the answer, `later` after it, `wait` is the answer's delay in milliseconds,
// `bytes` a value of bytes. Calls that are not listed return null, and `open` returns the page P1.

// case: a navigation that comes with the click
// answers: {"click":{"emits":[{"type":"request","page":"P1","requestId":"9","url":"http://x.test/b","method":"GET","resourceType":"document","headers":{}},{"type":"response","page":"P1","requestId":"9","url":"http://x.test/b","status":200,"statusText":"OK","headers":{}},{"type":"framenavigated","page":"P1","frame":"P1","url":"http://x.test/b"}]}}
const page = await browser.open("http://x.test/a");
const [response] = await Promise.all([page.waitForNavigation({ url: "**/b" }), page.click("a")]);
return [response, page.url()];
/*
{
"result": [{"url":"http://x.test/b","status":200,"statusText":"OK"},"http://x.test/b"],
"calls": [
  ["open",{"url":"http://x.test/a"}],
  ["watch",{"page":"P1","types":["request","response","close","crash","framenavigated"]}],
  ["click",{"page":"P1","target":{"steps":[{"by":"selector","value":"a"},{"by":"nth","index":0}]}}],
  ["waitForLoad",{"state":"load","page":"P1"}]
]
}
*/
// case: regular expressions that the host has not
// answers: {"waitForURL":{"error":{"message":"look-around","fields":{"code":"INVALID_ARGUMENT"}}},"waitForFunction":{"value":"http://x.test/done"},"route":[{"error":{"message":"look-around","fields":{"code":"INVALID_ARGUMENT"}}},{}]}
const page = await browser.open("http://x.test/");
await page.waitForURL(/done(?!x)/, { timeout: 0, waitUntil: "commit" });
await page.route(/api(?=\/)/, (route) => route.abort());
/*
{
"calls": [
  ["open",{"url":"http://x.test/"}],
  ["waitForURL",{"url":{"regex":"done(?!x)","flags":""},"waitUntil":"commit","timeoutMs":0,"page":"P1"}],
  ["waitForFunction",{"function":"(seen) => location.href !== seen && location.href","isFunction":true,"arg":"","timeoutMs":0,"page":"P1"}],
  ["watch",{"page":"P1","types":["route","close","crash"]}],
  ["route",{"page":"P1","patterns":[{"id":"0","regex":"api(?=\\/)","flags":""}]}],
  ["route",{"page":"P1","patterns":[{"id":"0","glob":"**"}]}]
]
}
*/
// case: times
const page = await browser.open("about:blank");
page.setDefaultTimeout(100);
page.setDefaultNavigationTimeout(200);
await page.click("a");
await page.goto("http://x.test/");
await page.locator("a").click({ timeout: 5 });
await page.waitForLoadState();
await page.waitForLoadState("networkidle", { timeout: 1 });
browser.setDefaultTimeout(7);
const other = await browser.newPage();
await page.reload();
await page.goBack({ waitUntil: "commit" });
await page.goForward();
/*
{
"calls": [
  ["open",{"url":"about:blank"}],
  ["click",{"page":"P1","target":{"steps":[{"by":"selector","value":"a"},{"by":"nth","index":0}]},"timeoutMs":100}],
  ["goto",{"url":"http://x.test/","timeoutMs":200,"page":"P1"}],
  ["click",{"page":"P1","target":{"steps":[{"by":"selector","value":"a"}]},"timeoutMs":5}],
  ["waitForLoad",{"state":"load","timeoutMs":200,"page":"P1"}],
  ["waitForLoad",{"state":"networkidle","timeoutMs":1,"page":"P1"}],
  ["open",{"timeoutMs":7}],
  ["history",{"delta":0,"timeoutMs":200,"page":"P1"}],
  ["history",{"delta":-1,"waitUntil":"commit","timeoutMs":200,"page":"P1"}],
  ["history",{"delta":1,"timeoutMs":200,"page":"P1"}]
]
}
*/
// case: a page whose settings fail is closed, and is not the current one
// answers: {"open":[{"page":"P1","url":"http://x.test/"},{"page":"P2","url":"about:blank"}],"viewport":{"error":{"message":"too large","fields":{"code":"INVALID_ARGUMENT"}}},"closePage":{},"cookies":{"value":[]}}
const page = await browser.open("http://x.test/");
const { code } = await browser.open("http://x.test/b", { viewport: { width: 1e9, height: 1 } }).catch((error) => error);
await browser.cookies();
return [code, browser.page("P2").isClosed()];
/*
{
"result": ["INVALID_ARGUMENT",true],
"calls": [
  ["open",{"url":"http://x.test/"}],
  ["open",{}],
  ["viewport",{"width":1000000000,"height":1,"page":"P2"}],
  ["closePage",{"page":"P2"}],
  ["cookies",{"op":"get","page":"P1"}]
]
}
*/
// case: an answer that a page of another origin may read, with a header of the script's own
// answers: {"goto":{"value":null,"emits":[{"type":"request","page":"P1","requestId":"1","url":"http://y.test/a","method":"GET","headers":{},"resourceType":"Fetch"},{"type":"route","page":"P1","route":"f1","requestId":"1","url":"http://y.test/a","method":"GET","headers":{"Origin":"http://x.test"},"resourceType":"Fetch"}]}}
const page = await browser.open("http://x.test/");
page.on("request", () => {});
await page.route("**", (route) => route.fulfill({ body: "a", headers: { Vary: "Accept" } }));
await page.goto("http://x.test/");
await page.close();
/*
{
"calls": [
  ["open",{"url":"http://x.test/"}],
  ["watch",{"page":"P1","types":["request","close","crash","route"]}],
  ["route",{"page":"P1","patterns":[{"id":"0","glob":"**"}]}],
  ["goto",{"url":"http://x.test/","page":"P1"}],
  ["routeAnswer",{"page":"P1","route":"f1","action":"fulfill","status":200,"headers":{"vary":"Accept, Origin","access-control-allow-origin":"http://x.test","access-control-allow-credentials":"true"},"body":"a"}],
  ["closePage",{"page":"P1"}]
]
}
*/
// case: addresses relative to the page's
// answers: {"goto":{"value":null,"emits":[{"type":"route","page":"P1","route":"f1","requestId":"1","url":"http://x.test/a/results?q=1","method":"GET","headers":{},"resourceType":"Fetch"},{"type":"route","page":"P1","route":"f2","requestId":"2","url":"http://x.test/a/resultsXq=1","method":"GET","headers":{},"resourceType":"Fetch"}]}}
const page = await browser.open("http://x.test/a/b?c");
await page.route("results?q=1", (route) => route.abort());
await page.waitForURL("../{d,e}/*?f=[g]");
await page.waitForURL("http://x.test");
await page.waitForURL("*://x.test/**/h");
await page.goto("http://x.test/a/b?c");
await page.close();
/*
{
"calls": [
  ["open",{"url":"http://x.test/a/b?c"}],
  ["watch",{"page":"P1","types":["route","close","crash"]}],
  ["route",{"page":"P1","patterns":[{"id":"0","glob":"http://x.test/a/results?q=1"}]}],
  ["waitForURL",{"url":{"glob":"http://x.test/{d,e}/*?f=[g]"},"page":"P1"}],
  ["waitForURL",{"url":{"glob":"http://x.test/"},"page":"P1"}],
  ["waitForURL",{"url":{"glob":"*://x.test/**/h"},"page":"P1"}],
  ["goto",{"url":"http://x.test/a/b?c","page":"P1"}],
  ["routeAnswer",{"page":"P1","route":"f1","action":"abort","errorCode":"failed"}],
  ["routeAnswer",{"page":"P1","route":"f2","action":"continue"}],
  ["closePage",{"page":"P1"}]
]
}
*/
// case: a frame of which the host knows no parent is not the main frame
// answers: {"frames":{"value":[{"frame":"P1","parent":null,"name":"","url":"http://x.test/"},{"frame":"F2","parent":null,"name":"lost","url":"http://y.test/"}]}}
const page = await browser.open("http://x.test/");
return (await page.frames()).map((frame) => [frame === page.mainFrame(), frame.url()]);
/*
{
"result": [[true,"http://x.test/"],[false,"http://y.test/"]],
"calls": [
  ["open",{"url":"http://x.test/"}],
  ["frames",{"page":"P1"}]
]
}
*/
// case: frames
// answers: {"frames":{"value":[{"frame":"P1","parent":null,"name":"","url":"http://x.test/"},{"frame":"F2","parent":"P1","name":"inner","url":"http://x.test/inner"}]},"evaluate":{"value":1},"read":{"value":"t"}}
const page = await browser.open("http://x.test/");
const [main, inner] = await page.frames();
await inner.click("button");
await inner.getByText("x").click();
await inner.evaluate((x) => x, 1);
const byUrl = await page.frame({ url: /inner/ });
await page.frame("named").fill("#a", "b");
await page.frame("named").fill({ "#a": "b" });
const text = await page.frameLocator("#f").frameLocator("iframe").getByRole("cell").first().textContent();
await main.click("#a");
return [main === page.mainFrame(), main.url(), inner.name(), inner.url(), byUrl.name(), text, await page.frame({ url: "**/none" }),
  inner, String(page.frameLocator("#f").getByText("a")), page.locator("iframe").contentFrame().owner(), String(inner.locator("b"))];
/*
{
"result": [true,"http://x.test/","inner","http://x.test/inner","inner","t",null,{"frame":"frame('inner')","url":"http://x.test/inner"},"locator('#f').contentFrame().getByText('a')","locator('iframe')","frame('inner').locator('b')"],
"calls": [
  ["open",{"url":"http://x.test/"}],
  ["frames",{"page":"P1"}],
  ["click",{"page":"P1","target":{"steps":[{"by":"frame","frame":"F2"},{"by":"selector","value":"button"},{"by":"nth","index":0}]}}],
  ["click",{"page":"P1","target":{"steps":[{"by":"frame","frame":"F2"},{"by":"text","text":{"text":"x"}}]}}],
  ["evaluate",{"function":"(root, arg) => ((x) => x)(arg)","isFunction":true,"arg":1,"page":"P1","target":{"steps":[{"by":"frame","frame":"F2"},{"by":"css","value":":root"}]}}],
  ["frames",{"page":"P1"}],
  ["fill",{"value":"b","page":"P1","target":{"steps":[{"by":"css","value":"iframe[name=\"named\"], frame[name=\"named\"], iframe[id=\"named\"]"},{"by":"nth","index":0},{"by":"frame"},{"by":"selector","value":"#a"},{"by":"nth","index":0}]}}],
  ["fillForm",{"fields":[{"target":{"steps":[{"by":"css","value":"iframe[name=\"named\"], frame[name=\"named\"], iframe[id=\"named\"]"},{"by":"nth","index":0},{"by":"frame"},{"by":"selector","value":"#a"},{"by":"nth","index":0}]},"value":"b"}],"page":"P1"}],
  ["read",{"what":"textContent","page":"P1","target":{"steps":[{"by":"selector","value":"#f"},{"by":"frame"},{"by":"selector","value":"iframe"},{"by":"frame"},{"by":"role","role":"cell"},{"by":"nth","index":0}]}}],
  ["click",{"page":"P1","target":{"steps":[{"by":"selector","value":"#a"},{"by":"nth","index":0}]}}],
  ["frames",{"page":"P1"}]
]
}
*/
// case: the context
// answers: {"cookies":{"value":[{"name":"a","domain":"x","path":"/","value":"1"},{"name":"b","domain":"x","path":"/","value":"2"}]},"pages":{"pages":[{"page":"P1","url":"u","title":""}]},"storageState":{"value":{"cookies":[],"origins":[]}},"open":[{"page":"P1","url":"u"},{"page":"P2","url":"about:blank"}]}
const page = await browser.open("http://x.test/");
const context = page.context();
const cookies = await context.cookies("http://x.test");
await context.addCookies([{ name: "a", value: "1", url: "http://x.test" }]);
await context.clearCookies({ name: "a" });
await context.clearCookies({ name: /b/ });
await context.clearCookies();
await context.addInitScript({ content: "window.a = 1" });
const other = await context.newPage();
await browser.open("http://x.test/2", { waitUntil: "commit" });
await browser.close();
return [cookies.length, await context.storageState(), context.browser() === browser, browser.contexts()[0] === context, browser.isConnected()];
/*
{
"result": [2,{"cookies":[],"origins":[]},true,true,true],
"calls": [
  ["open",{"url":"http://x.test/"}],
  ["cookies",{"op":"get","urls":["http://x.test"],"page":"P1"}],
  ["cookies",{"op":"set","cookies":[{"name":"a","value":"1","url":"http://x.test"}],"page":"P1"}],
  ["cookies",{"op":"clear","filter":{"name":"a"},"page":"P1"}],
  ["cookies",{"op":"get","page":"P1"}],
  ["cookies",{"op":"clear","filter":{"name":"b","domain":"x","path":"/"},"page":"P1"}],
  ["cookies",{"op":"clear","page":"P1"}],
  ["pages",{}],
  ["initScript",{"source":"window.a = 1","page":"P1"}],
  ["open",{}],
  ["initScript",{"source":"window.a = 1","page":"P2"}],
  ["open",{"waitUntil":"commit"}],
  ["initScript",{"source":"window.a = 1","page":"P2"}],
  ["goto",{"url":"http://x.test/2","waitUntil":"commit","page":"P2"}],
  ["storageState",{"page":"P2"}]
]
}
*/
// case: states of logins
// answers: {"open":{"page":"P1","url":"u"},"saveState":{"value":{"cookies":[],"origins":[]}}}
const page = await browser.open("http://x.test/", { storageState: "shop" });
const given = { cookies: [], origins: [{ origin: "http://x.test", localStorage: [{ name: "a", value: "1" }] }] };
await browser.newPage({ storageState: given });
const saved = await page.context().storageState({ path: "shop" });
await browser.forgetState("shop");
const wrong = [];
for (const call of [
  async () => browser.storageState({ path: 7 }),
  async () => browser.forgetState(),
  async () => browser.open("http://x.test/", { storageState: 7 }),
]) wrong.push(await call().then(() => "done", (error) => `${error.code} ${error.message.split(".")[0]}`));
return [saved, wrong];
/*
{
"result": [{"cookies":[],"origins":[]},["INVALID_ARGUMENT browser","INVALID_ARGUMENT browser","INVALID_ARGUMENT browser"]],
"calls": [
  ["open",{}],
  ["loadState",{"page":"P1","state":"shop"}],
  ["goto",{"url":"http://x.test/","page":"P1"}],
  ["open",{}],
  ["loadState",{"page":"P1","state":{"cookies":[],"origins":[{"origin":"http://x.test","localStorage":[{"name":"a","value":"1"}]}]}}],
  ["saveState",{"name":"shop","page":"P1"}],
  ["forgetState",{"name":"shop"}],
  ["open",{}],
  ["closePage",{"page":"P1"}]
]
}
*/
// case: events of two pages are told apart
// answers: {"open":[{"page":"P1","url":"u"},{"page":"P2","url":"u"}],"evaluate":{"emits":[{"type":"console","page":"P1","level":"log","text":"one"},{"type":"console","page":"P2","level":"log","text":"two"}]}}
const [first, second] = [await browser.open(), await browser.open()];
const seen = [];
first.on("console", (message) => seen.push([1, message.text()]));
second.on("console", (message) => seen.push([2, message.text(), message.page() === second]));
await second.evaluate("1");
return seen;
/*
{
"result": [[1,"one"],[2,"two",true]],
"calls": [
  ["open",{}],
  ["open",{}],
  ["watch",{"page":"P1","types":["console","close","crash"]}],
  ["watch",{"page":"P2","types":["console","close","crash"]}],
  ["evaluate",{"function":"1","isFunction":false,"page":"P2"}]
]
}
*/
// case: values that the host replaces
const page = await browser.open();
const secret = { secret: "password" };
await page.fill("#a", secret);
await page.fill({ "#a": secret, "#b": false });
await page.locator("#a").pressSequentially(secret);
await page.getByLabel("n").fill(5);
await page.keyboard.insertText("x");
/*
{
"calls": [
  ["open",{}],
  ["fill",{"value":{"secret":"password"},"page":"P1","target":{"steps":[{"by":"selector","value":"#a"},{"by":"nth","index":0}]}}],
  ["fillForm",{"fields":[{"target":{"steps":[{"by":"selector","value":"#a"},{"by":"nth","index":0}]},"value":{"secret":"password"}},{"target":{"steps":[{"by":"selector","value":"#b"},{"by":"nth","index":0}]},"value":false}],"page":"P1"}],
  ["type",{"text":{"secret":"password"},"page":"P1","target":{"steps":[{"by":"selector","value":"#a"}]}}],
  ["fill",{"value":"5","page":"P1","target":{"steps":[{"by":"label","text":{"text":"n"}}]}}],
  ["keyboard",{"op":"insertText","text":"x","page":"P1"}]
]
}
*/
// case: pictures and paper
// answers: {"screenshot":{"bytes":[1]},"pdf":{"bytes":[2]}}
const page = await browser.open();
await page.screenshot({ markup: true, type: "jpeg", quality: 5 });
await page.locator("a").screenshot();
await page.pdf({ format: "A4", landscape: true, margin: { top: "1in", left: "2.54cm" }, printBackground: true });
await page.setViewportSize({ width: 10, height: 20 });
return [page.viewportSize(), (await page.pdf({ width: 96, height: "192px" })).length];
/*
{
"result": [{"width":10,"height":20},1],
"calls": [
  ["open",{}],
  ["screenshot",{"type":"jpeg","quality":5,"markup":["clickable","typeable"],"page":"P1"}],
  ["screenshot",{"page":"P1","target":{"steps":[{"by":"selector","value":"a"}]}}],
  ["pdf",{"options":{"landscape":true,"printBackground":true,"paperWidth":8.27,"paperHeight":11.7,"marginTop":1,"marginRight":0,"marginBottom":0,"marginLeft":1},"page":"P1"}],
  ["viewport",{"width":10,"height":20,"page":"P1"}],
  ["pdf",{"options":{"paperWidth":1,"paperHeight":2,"marginTop":0,"marginRight":0,"marginBottom":0,"marginLeft":0},"page":"P1"}]
]
}
*/
// case: beyond Playwright
// answers: {"snapshot":{"value":{"text":"T","nodes":1,"truncated":false}},"extract":{"value":"x"},"network":{"value":[]},"console":{"value":[]}}
const page = await browser.open();
const out = [await page.snapshot({ interactive: true, target: "#a" }), await page.locator("#b").snapshot({ diff: true }), await page.text(), await page.markdown("#m")];
out.push(await page.network("api", { limit: 3 }), await page.network(/x/i), await page.network({ status: 404 }), await page.network(), await page.console({ limit: 2 }));
await page.locator("@e5").click();
await page.locator("e6").click();
return out;
/*
{
"result": ["T","T","x","x",[],[],[],[],[]],
"calls": [
  ["open",{}],
  ["snapshot",{"interactive":true,"target":{"steps":[{"by":"selector","value":"#a"},{"by":"nth","index":0}]},"page":"P1"}],
  ["snapshot",{"diff":true,"page":"P1","target":{"steps":[{"by":"selector","value":"#b"}]}}],
  ["extract",{"as":"text","page":"P1"}],
  ["extract",{"as":"markdown","target":{"steps":[{"by":"selector","value":"#m"},{"by":"nth","index":0}]},"page":"P1"}],
  ["network",{"limit":3,"filter":"api","page":"P1"}],
  ["network",{"filter":{"regex":"x","flags":"i"},"page":"P1"}],
  ["network",{"filter":{"status":404},"page":"P1"}],
  ["network",{"page":"P1"}],
  ["console",{"limit":2,"page":"P1"}],
  ["click",{"page":"P1","target":{"steps":[{"by":"selector","value":"@e5"}]}}],
  ["click",{"page":"P1","target":{"steps":[{"by":"selector","value":"e6"}]}}]
]
}
*/
// case: a locator in a locator
const page = await browser.open();
const row = page.locator("tr", { hasText: "Ada", hasNotText: /bob/, hasNot: page.getByRole("img") });
await row.locator(page.getByRole("button", { name: "OK", disabled: false, level: 2 })).click();
await page.click(page.locator("b"));
await page.locator("a").dragTo(page.locator("b"), { force: true, targetPosition: { x: 1, y: 2 } });
await page.locator("a").filter({ visible: true }).evaluate((element, n) => n, 1);
await page.locator("a").clear();
await page.locator("a").scrollIntoViewIfNeeded();
await page.locator("a").selectText();
await page.locator("a").boundingBox();
await page.locator("a").ariaSnapshot({ timeout: 3 });
await page.locator("a").dispatchEvent("click", { bubbles: true });
await page.locator("a").selectOption(null);
await page.locator("a").waitFor({ state: "detached", timeout: 9 });
return [row, row.page() === page, String(page.locator("it's \"quoted\"\n")), String(page.getByPlaceholder("p", { exact: true })), String(page.getByAltText(/a/)), String(page.getByTitle("t"))];
/*
{
"result": ["locator('tr').filter({ hasText: 'Ada' }).filter({ hasNotText: /bob/ }).filter({ hasNot: getByRole('img') })",true,"locator('it\\'s \"quoted\"\\n')","getByPlaceholder('p', { exact: true })","getByAltText(/a/)","getByTitle('t')"],
"calls": [
  ["open",{}],
  ["click",{"page":"P1","target":{"steps":[{"by":"selector","value":"tr"},{"by":"hasText","text":{"text":"Ada"}},{"by":"hasText","text":{"regex":"bob","flags":""},"not":true},{"by":"has","steps":[{"by":"role","role":"img"}],"not":true},{"by":"role","role":"button","name":{"text":"OK"},"disabled":false,"level":2}]}}],
  ["click",{"page":"P1","target":{"steps":[{"by":"selector","value":"b"}]}}],
  ["drag",{"source":{"steps":[{"by":"selector","value":"a"}]},"target":{"steps":[{"by":"selector","value":"b"}]},"targetPosition":{"x":1,"y":2},"force":true,"page":"P1"}],
  ["evaluate",{"function":"(element, n) => n","isFunction":true,"arg":1,"page":"P1","target":{"steps":[{"by":"selector","value":"a"},{"by":"visible","visible":true}]}}],
  ["element",{"op":"clear","page":"P1","target":{"steps":[{"by":"selector","value":"a"}]}}],
  ["element",{"op":"scrollIntoView","page":"P1","target":{"steps":[{"by":"selector","value":"a"}]}}],
  ["element",{"op":"selectText","page":"P1","target":{"steps":[{"by":"selector","value":"a"}]}}],
  ["read",{"what":"box","page":"P1","target":{"steps":[{"by":"selector","value":"a"}]}}],
  ["read",{"what":"aria","page":"P1","target":{"steps":[{"by":"selector","value":"a"}]},"timeoutMs":3}],
  ["dispatchEvent",{"type":"click","init":{"bubbles":true},"page":"P1","target":{"steps":[{"by":"selector","value":"a"}]}}],
  ["select",{"options":[],"page":"P1","target":{"steps":[{"by":"selector","value":"a"}]}}],
  ["waitFor",{"state":"detached","page":"P1","target":{"steps":[{"by":"selector","value":"a"}]},"timeoutMs":9}]
]
}
*/
// case: help
const known = browser.help().split("\n");
return [known.length > 5, known[known.length - 1], browser.help("page.click"), browser.help("waitForURL"), browser.help("dialog"), browser.help("tap"),
  browser.help("page.clock"), browser.help("pge"), browser.help("page.goBack"), browser.help("locator").split("\n").length > 30];
/*
{
"result": [true,"More: browser.help(name) with \"page\", \"locator\", \"frame\", \"frameLocator\", \"dialog\", \"consoleMessage\", \"request\", \"response\", \"route\", \"apiRequestContext\", \"apiResponse\", \"download\", \"selectPopup\", \"fileChooser\", or a method.","page.click(selector, { button, clickCount, modifiers, position, delay, force, trial, timeout })","page.waitForURL(glob | regexp | (url) => boolean, { waitUntil, timeout }): \"**/account\", or a path of the page's site","dialog.accept(text), dismiss(), type(), message(), defaultValue(), page()","tap is not supported; use page.click.","page.clock is not supported; use page.addInitScript to replace Date or timers before the page's scripts run.","There is no pge; see browser.help(\"page\").","page.reload(options), goBack(options), goForward(options) → response or null",true],
"calls": [

]
}
*/
// case: a call that fails behind the gate
// answers: {"click":{"error":{"message":"strict mode violation: locator('a') resolved to 2 elements:\n    1) <a></a>","fields":{"code":"MULTIPLE_MATCHES","hint":"Narrow it.","retryable":false}}}}
const page = await browser.open();
page.on("console", () => {});
await page.locator("a").click();
/*
{
"error": {"name":"CallError","message":"locator.click: strict mode violation: locator('a') resolved to 2 elements:\n    1) <a></a>","code":"MULTIPLE_MATCHES","hint":"Narrow it.","retryable":false},
"calls": [
  ["open",{}],
  ["watch",{"page":"P1","types":["console","close","crash"]}],
  ["click",{"page":"P1","target":{"steps":[{"by":"selector","value":"a"}]}}]
]
}
*/
// case: an error of the page
// answers: {"evaluate":{"error":{"message":"ReferenceError: wanted is not defined\n    at <anonymous>:1:1","fields":{"code":"JS_EXCEPTION","hint":""}}}}
const page = await browser.open();
const wanted = 1;
await page.evaluate(() => wanted);
/*
{
"error": {"name":"CallError","message":"page.evaluate: ReferenceError: wanted is not defined\n    at <anonymous>:1:1","code":"JS_EXCEPTION","hint":"The function runs in the page and sees no variable of the script: pass values as the argument after the function."},
"calls": [
  ["open",{}],
  ["evaluate",{"function":"() => wanted","isFunction":true,"page":"P1"}]
]
}
*/
// case: a page that is gone
// answers: {"click":{"error":{"message":"the page is closed","fields":{"code":"CDP_TARGET_CLOSED"}}}}
const page = browser.page("P9");
const closed = [];
page.on("close", () => closed.push(1));
const error = await page.click("a").catch((error) => error);
await page.close();
const late = await page.waitForEvent("load").catch((error) => error);
return [error.message, page.isClosed(), closed, late.message];
/*
{
"result": ["page.click: the page is closed",true,[1],"page.waitForEvent: Target page, context or browser has been closed"],
"calls": [
  ["watch",{"page":"P9","types":["close","crash"]}],
  ["click",{"page":"P9","target":{"steps":[{"by":"selector","value":"a"},{"by":"nth","index":0}]}}],
  ["watch",{"page":"P9","types":["close","crash","load"]}]
]
}
*/
// case: a wait that only begins, and a handler that is added twice
// answers: {"evaluate":{"emits":[{"type":"load","page":"P1"},{"type":"domcontentloaded","page":"P1"}]}}
const page = await browser.open();
const seen = [];
const handler = (which) => seen.push(which === page);
page.on("load", handler).addListener("domcontentloaded", handler);
const load = page.waitForEvent("load", (which) => which === page);
await page.evaluate("1");
await load;
page.removeListener("load", handler).off("domcontentloaded", handler);
await page.evaluate("1");
return seen;
/*
{
"result": [true,true],
"calls": [
  ["open",{}],
  ["watch",{"page":"P1","types":["load","close","crash","domcontentloaded"]}],
  ["evaluate",{"function":"1","isFunction":false,"page":"P1"}],
  ["evaluate",{"function":"1","isFunction":false,"page":"P1"}]
]
}
*/
// case: pages with a viewport
const page = await browser.open("http://x.test/", { viewport: { width: 400, height: 300 } });
const said = [];
for (const tried of [() => browser.newPage({ userAgent: "x" }), () => page.getByRole("button", "OK"), () => page.frame("f").click("@e3")]) {
  try { await tried(); } catch (error) { said.push(error.message); }
}
return [page.viewportSize(), said];
/*
{
"result": [{"width":400,"height":300},["browser.newPage: there is no option userAgent. There are: waitUntil, timeout, viewport, referer, httpCredentials, storageState.","getByRole: the options are of type string. Write getByRole('button', { name: 'OK' })."]],
"calls": [
  ["open",{}],
  ["viewport",{"width":400,"height":300,"page":"P1"}],
  ["goto",{"url":"http://x.test/","page":"P1"}],
  ["click",{"page":"P1","target":{"steps":[{"by":"selector","value":"@e3"}]}}]
]
}
*/
// case: what nobody listens to any more is not polled for
// answers: {"click":{"emits":[{"type":"response","page":"P1","requestId":"1","url":"http://x.test/","status":200,"headers":{}}]},"evaluate":{"emits":[{"type":"console","page":"P1","level":"log","text":"a"},{"type":"response","page":"P1","requestId":"2","url":"http://x.test/","status":200,"headers":{}}]}}
const page = await browser.open();
const lines = [];
page.on("console", (message) => lines.push(message.text()));
const first = page.waitForResponse("**");
await page.click("a");
await first;
await page.evaluate("1");
const second = page.waitForResponse((response) => response.status() === 200);
await page.click("a");
return [lines, (await second) !== (await first), await second];
/*
{
"result": [["a"],true,{"url":"http://x.test/","status":200,"statusText":""}],
"calls": [
  ["open",{}],
  ["watch",{"page":"P1","types":["console","close","crash","request","response"]}],
  ["click",{"page":"P1","target":{"steps":[{"by":"selector","value":"a"},{"by":"nth","index":0}]}}],
  ["evaluate",{"function":"1","isFunction":false,"page":"P1"}],
  ["watch",{"page":"P1","types":["console","close","crash","request","response"]}],
  ["click",{"page":"P1","target":{"steps":[{"by":"selector","value":"a"},{"by":"nth","index":0}]}}]
]
}
*/
// case: an element that is not found in time
// answers: {"click":{"error":{"message":"Timeout 100ms exceeded.\nwaiting for locator('#a')","fields":{"code":"ELEMENT_NOT_FOUND","hint":"Look.","retryable":false}}}}
const page = await browser.open();
await page.click("#a", { timeout: 100 });
/*
{
"error": {"name":"TimeoutError","message":"page.click: Timeout 100ms exceeded.\nwaiting for locator('#a')","code":"ELEMENT_NOT_FOUND","hint":"Look.","retryable":false},
"calls": [
  ["open",{}],
  ["click",{"page":"P1","target":{"steps":[{"by":"selector","value":"#a"},{"by":"nth","index":0}]},"timeoutMs":100}]
]
}
*/
// case: a new page that both the page and the context listen for
// answers: {"click":{"emits":[{"type":"popup","page":"P1","popup":"P2","url":"u"}]}}
const page = await browser.open();
const [popup, other] = await Promise.all([page.waitForEvent("popup"), browser.waitForEvent("page"), page.click("a")]);
return [popup === other, (await popup.opener()) === page];
/*
{
"result": [true,true],
"calls": [
  ["open",{}],
  ["watch",{"page":"P1","types":["popup","close","crash"]}],
  ["watch",{"types":["page","close","crash"]}],
  ["click",{"page":"P1","target":{"steps":[{"by":"selector","value":"a"},{"by":"nth","index":0}]}}]
]
}
*/
// case: a page that crashes
// answers: {"click":{"emits":[{"type":"crash","page":"P1"}]}}
const page = await browser.open();
const wait = page.waitForEvent("download").catch((error) => error.code);
const [crashed] = await Promise.all([page.waitForEvent("crash"), page.click("a")]);
return [crashed === page, await wait, page.isClosed()];
/*
{
"result": [true,"CDP_TARGET_CLOSED",false],
"calls": [
  ["open",{}],
  ["watch",{"page":"P1","types":["download","close","crash"]}],
  ["click",{"page":"P1","target":{"steps":[{"by":"selector","value":"a"},{"by":"nth","index":0}]}}]
]
}
*/
// case: a secret is no key and no option, and nothing else stands for one
const handle = { secret: "SHOP", toJSON: () => "[secret SHOP]" };
const page = browser.page("P1");
const told = [];
for (const wrong of [() => page.press("#a", handle), () => page.fill("#a", {}), () => page.selectOption("#a", handle)]) {
  try {
    await wrong();
  } catch (error) {
    told.push(error.code, error.message);
  }
}
return told;
/*
{
"result": ["INVALID_ARGUMENT","page.press: a secret is no key. Fill the field with it: fill(selector, secret(name)).","INVALID_ARGUMENT","page.fill: the value must be a string, and this is of type object","INVALID_ARGUMENT","page.selectOption: an option is a string, or an object with value, label or index"],
"calls": []
}
*/
// case: what is wrong with an argument rejects, and its stack has no place in the layer
const page = await browser.open();
const frame = page.mainFrame();
const a = page.locator("a");
const said = [];
for (const tried of [
  () => browser.open("http://", { httpCredentials: { username: "a", password: "b" } }), () => browser.newPage({ size: 1 }),
  () => browser.addCookies("x"), () => browser.storageState({ path: 7 }), () => browser.forgetState(),
  () => browser.grantPermissions("geolocation"), () => browser.addInitScript(5), () => browser.waitForEvent("request"),
  () => browser.setHTTPCredentials({ username: "a" }), () => page.addInitScript({ path: "a.js" }), () => page.screenshot({ path: "a" }),
  () => page.pdf({ format: "A99" }), () => page.waitForURL(5), () => page.waitForLoadState("done"), () => page.waitForFunction(5),
  () => page.waitForRequest(5), () => page.waitForResponse(null), () => page.waitForEvent("nothing"), () => page.route(5, () => {}),
  () => page.route("**", 5), () => page.frame({ url: 5 }), () => page.snapshot({ target: 5 }), () => page.markdown(5), () => page.$(5),
  () => page.$$(5), () => page.$eval(5, () => 1), () => page.$$eval("a", 5), () => page.evaluate(5), () => page.dragAndDrop("a", 5),
  () => page.click(5), () => page.fill({ a: [] }), () => page.waitForSelector("a", { state: "there" }), () => a.dragTo("b"),
  () => a.fill(), () => a.setInputFiles("a.txt"), () => a.$(5), () => a.evaluate(5), () => frame.$$(5), () => frame.evaluate(5),
  () => frame.frameElement(), () => page.request.get("/a"), () => page.request.post("http://a.test", { data: 1, form: {} }),
]) {
  try {
    await tried().then(
      () => said.push(`${tried} does not reject`),
      (error) => {
        const isPlaced = error.stack.startsWith(`${error.name}: ${error.message}\n`) && error.stack.includes("(script.js:");
        if (!isPlaced || error.stack.includes("(codemode:") || error.code === undefined) said.push(`${tried}: ${error.stack}`);
      },
    );
  } catch (error) {
    said.push(`${tried} throws ${error}`);
  }
}
return said;
/*
{
"result": [],
"calls": [
  ["open",{}]
]
}
*/
// case: the help of what frames have in common with pages, and of what has another name in Playwright
return ["frame.click", "frame.url", "elementHandle.hover", "frame.snapshot", "context.cookies", "elementHandle.nothing"].map(browser.help)
  .concat(browser.help("elementHandle") === browser.help("locator"));
/*
{
"result": ["frame.click(selector, { button, clickCount, modifiers, position, delay, force, trial, timeout })","frame.evaluate(function | source, arg); actions, $eval, waitForSelector, waitForFunction as of a page; name(), url(), content(), page(), frameElement() → locator of the iframe","locator.hover({ position, modifiers, force, trial, timeout })","There is no frame.snapshot; see browser.help().","browser.cookies(urls) → list, without urls all; addCookies(list); clearCookies({ name, domain, path })","There is no elementHandle.nothing; see browser.help().",true],
"calls": []
}
*/
// case: an option that means nothing is taken, and is not sent
const page = await browser.open();
const gone = { noWaitAfter: true };
await page.hover("a", gone);
await page.check("a", gone);
await page.press("a", "Enter", gone);
await page.locator("a").pressSequentially("b", gone);
await page.fill("a", "b", gone);
await page.selectOption("a", "b", gone);
await page.locator("a").dragTo(page.locator("b"), gone);
await page.click("a", gone);
/*
{
"calls": [
  ["open",{}],
  ["hover",{"page":"P1","target":{"steps":[{"by":"selector","value":"a"},{"by":"nth","index":0}]}}],
  ["check",{"checked":true,"page":"P1","target":{"steps":[{"by":"selector","value":"a"},{"by":"nth","index":0}]}}],
  ["press",{"key":"Enter","page":"P1","target":{"steps":[{"by":"selector","value":"a"},{"by":"nth","index":0}]}}],
  ["type",{"text":"b","page":"P1","target":{"steps":[{"by":"selector","value":"a"}]}}],
  ["fill",{"value":"b","page":"P1","target":{"steps":[{"by":"selector","value":"a"},{"by":"nth","index":0}]}}],
  ["select",{"options":[{"valueOrLabel":"b"}],"page":"P1","target":{"steps":[{"by":"selector","value":"a"},{"by":"nth","index":0}]}}],
  ["drag",{"source":{"steps":[{"by":"selector","value":"a"}]},"target":{"steps":[{"by":"selector","value":"b"}]},"page":"P1"}],
  ["click",{"noWaitAfter":true,"page":"P1","target":{"steps":[{"by":"selector","value":"a"},{"by":"nth","index":0}]}}]
]
}
*/
// case: a wait for a request that is late names it
const page = await browser.open();
const late = (wait) => wait.catch((error) => error.message);
return [
  await late(page.waitForRequest("**/things", { timeout: 5 })), await late(page.waitForResponse(/api/, { timeout: 5 })),
  await late(page.waitForRequest(() => false, { timeout: 5 })), await late(page.waitForFunction(() => 1, 0, { polling: "mutation" })),
  await late(page.waitForSelector("a", { visibility: "hidden" })),
];
/*
{
"result": ["page.waitForRequest: Timeout 5ms exceeded while waiting for event \"request\" of '**/things'","page.waitForResponse: Timeout 5ms exceeded while waiting for event \"response\" of /api/","page.waitForRequest: Timeout 5ms exceeded while waiting for event \"request\" that the function accepts","page.waitForFunction: Unknown polling option: mutation","page.waitForSelector: options.visibility is not supported, did you mean options.state?"],
"calls": [
  ["open",{}],
  ["watch",{"page":"P1","types":["request","close","crash"]}],
  ["watch",{"page":"P1","types":["request","close","crash","response"]}],
  ["watch",{"page":"P1","types":["request","close","crash","response"]}]
]
}
*/
