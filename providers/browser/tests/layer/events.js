// Test cases of the layer. Each begins with its name, followed by the script and, in a comment, the expected result or
// error and the calls in order, except `events`. `answers` has the answers of calls: one answer, or a list whose last
// one repeats. `emits` are events before the answer, `later` after it, `wait` is the answer's delay in milliseconds,
// `bytes` a value of bytes. Calls that are not listed return null, and `open` returns the page P1.

// case: a popup that comes with the click
// answers: {"click":{"emits":[{"type":"popup","page":"P1","popup":"P2","url":"http://x.test/p"}]}}
const page = await browser.open();
const [popup] = await Promise.all([page.waitForEvent("popup"), page.click("a")]);
return [popup, (await popup.opener()) === page];
/*
{
"result": [{"page":"P2","url":"http://x.test/p"},true],
"calls": [
  ["open",{}],
  ["watch",{"page":"P1","types":["popup","close","crash"]}],
  ["click",{"page":"P1","target":{"steps":[{"by":"selector","value":"a"},{"by":"nth","index":0}]}}]
]
}
*/
// case: a wait that is begun before and awaited after
// answers: {"click":{"emits":[{"type":"popup","page":"P1","popup":"P2","url":"http://x.test/p"}]}}
const page = await browser.open();
const promise = page.waitForEvent("popup");
await page.click("a");
return await promise;
/*
{
"result": {"page":"P2","url":"http://x.test/p"},
"calls": [
  ["open",{}],
  ["watch",{"page":"P1","types":["popup","close","crash"]}],
  ["click",{"page":"P1","target":{"steps":[{"by":"selector","value":"a"},{"by":"nth","index":0}]}}]
]
}
*/
// case: the event comes some time after the click
// answers: {"click":{"later":[{"type":"popup","page":"P1","popup":"P2","url":"u"}]}}
const page = await browser.open();
const promise = page.waitForEvent("popup", { timeout: 1000 });
await page.click("a");
return await promise;
/*
{
"result": {"page":"P2","url":"u"},
"calls": [
  ["open",{}],
  ["watch",{"page":"P1","types":["popup","close","crash"]}],
  ["click",{"page":"P1","target":{"steps":[{"by":"selector","value":"a"},{"by":"nth","index":0}]}}]
]
}
*/
// case: events of before the wait are not told
// answers: {"click":[{"emits":[{"type":"popup","page":"P1","popup":"P2"}]},{"emits":[{"type":"popup","page":"P1","popup":"P3"}]}]}
const page = await browser.open();
await page.click("a");
const promise = page.waitForEvent("popup");
await page.click("a");
return await promise;
/*
{
"result": {"page":"P3","url":""},
"calls": [
  ["open",{}],
  ["click",{"page":"P1","target":{"steps":[{"by":"selector","value":"a"},{"by":"nth","index":0}]}}],
  ["watch",{"page":"P1","types":["popup","close","crash"]}],
  ["click",{"page":"P1","target":{"steps":[{"by":"selector","value":"a"},{"by":"nth","index":0}]}}]
]
}
*/
// case: another kind is listened to while one is polled for
// answers: {"click":[{"emits":[{"type":"popup","page":"P1","popup":"P2"},{"type":"console","page":"P1","level":"log","text":"one"}]},{"emits":[{"type":"popup","page":"P1","popup":"P3"},{"type":"console","page":"P1","level":"log","text":"two"}]}]}
const page = await browser.open();
const lines = [];
page.on("console", (message) => lines.push(message.text()));
await page.click("a");
const promise = page.waitForEvent("popup");
await page.click("a");
return [await promise, lines];
/*
{
"result": [{"page":"P3","url":""},["one","two"]],
"calls": [
  ["open",{}],
  ["watch",{"page":"P1","types":["console","close","crash"]}],
  ["click",{"page":"P1","target":{"steps":[{"by":"selector","value":"a"},{"by":"nth","index":0}]}}],
  ["watch",{"page":"P1","types":["console","close","crash","popup"]}],
  ["click",{"page":"P1","target":{"steps":[{"by":"selector","value":"a"},{"by":"nth","index":0}]}}]
]
}
*/
// case: console lines are there when the call that made them has answered
// answers: {"evaluate":[{"emits":[{"type":"console","page":"P1","level":"log","text":"a"}]},{"emits":[{"type":"console","page":"P1","level":"error","text":"b","location":{"url":"u"}},{"type":"pageerror","page":"P1","name":"TypeError","message":"bad"}]}]}
const page = await browser.open();
const seen = [];
page.on("console", (message) => seen.push([message.type(), message.text(), message.location()]));
page.once("pageerror", (error) => seen.push([error.name, error.message]));
await page.evaluate("console.log('a')");
seen.push("first");
await page.evaluate("x");
return seen;
/*
{
"result": [["log","a",{}],"first",["error","b",{"url":"u"}],["TypeError","bad"]],
"calls": [
  ["open",{}],
  ["watch",{"page":"P1","types":["console","close","crash","pageerror"]}],
  ["evaluate",{"function":"console.log('a')","isFunction":false,"page":"P1"}],
  ["evaluate",{"function":"x","isFunction":false,"page":"P1"}]
]
}
*/
// case: a listener that is removed hears nothing
// answers: {"evaluate":{"emits":[{"type":"console","page":"P1","level":"log","text":"a"}]}}
const page = await browser.open();
const seen = [];
const listener = (message) => seen.push(message.text());
page.on("console", listener);
await page.evaluate("1");
page.off("console", listener);
await page.evaluate("1");
page.on("console", listener);
await page.evaluate("1");
return seen;
/*
{
"result": ["a","a"],
"calls": [
  ["open",{}],
  ["watch",{"page":"P1","types":["console","close","crash"]}],
  ["evaluate",{"function":"1","isFunction":false,"page":"P1"}],
  ["evaluate",{"function":"1","isFunction":false,"page":"P1"}],
  ["watch",{"page":"P1","types":["console","close","crash"]}],
  ["evaluate",{"function":"1","isFunction":false,"page":"P1"}]
]
}
*/
// case: dialogs
// answers: {"click":{"emits":[{"type":"dialog","page":"P1","kind":"prompt","message":"name?","defaultValue":"x"}],"wait":5}}
const page = await browser.open();
const seen = [];
page.on("dialog", async (dialog) => {
  seen.push([dialog.type(), dialog.message(), dialog.defaultValue()]);
  await dialog.accept("ada");
});
await page.click("a");
page.removeAllListeners("dialog");
return seen;
/*
{
"result": [["prompt","name?","x"]],
"calls": [
  ["open",{}],
  ["watch",{"page":"P1","types":["dialog","close","crash"]}],
  ["dialogs",{"page":"P1","policy":"hold"}],
  ["click",{"page":"P1","target":{"steps":[{"by":"selector","value":"a"},{"by":"nth","index":0}]}}],
  ["dialog",{"page":"P1","accept":true,"text":"ada"}],
  ["dialogs",{"page":"P1","policy":"dismiss"}]
]
}
*/
// case: one dialog
// answers: {"click":{"emits":[{"type":"dialog","page":"P1","kind":"confirm","message":"sure?","defaultValue":""}],"wait":5}}
const page = await browser.open();
page.once("dialog", (dialog) => dialog.dismiss());
await page.click("a");
page.once("dialog", (dialog) => dialog.accept());
await page.click("a");
/*
{
"calls": [
  ["open",{}],
  ["watch",{"page":"P1","types":["dialog","close","crash"]}],
  ["dialogs",{"page":"P1","policy":"hold"}],
  ["click",{"page":"P1","target":{"steps":[{"by":"selector","value":"a"},{"by":"nth","index":0}]}}],
  ["dialog",{"page":"P1","accept":false}],
  ["dialogs",{"page":"P1","policy":"dismiss"}],
  ["watch",{"page":"P1","types":["dialog","close","crash"]}],
  ["dialogs",{"page":"P1","policy":"hold"}],
  ["click",{"page":"P1","target":{"steps":[{"by":"selector","value":"a"},{"by":"nth","index":0}]}}],
  ["dialog",{"page":"P1","accept":true}],
  ["dialogs",{"page":"P1","policy":"dismiss"}]
]
}
*/
// case: a wait that is too long
const page = await browser.open();
await page.waitForEvent("download", { timeout: 20 });
/*
{
"error": {"name":"TimeoutError","message":"page.waitForEvent: Timeout 20ms exceeded while waiting for event \"download\"","code":"CALL_TIMEOUT","hint":"Begin to wait before the action that causes it, or give a larger timeout.","retryable":true},
"calls": [
  ["open",{}],
  ["watch",{"page":"P1","types":["download","close","crash"]}]
]
}
*/
// case: a page that is closed while something is waited for
// answers: {"click":{"emits":[{"type":"close","page":"P1"}]}}
const page = await browser.open();
const seen = [];
page.on("close", (closed) => seen.push(closed === page));
const promise = page.waitForEvent("download").catch((error) => error);
await page.click("a");
const error = await promise;
return [seen, page.isClosed(), error.message, error.code];
/*
{
"result": [[true],true,"page.waitForEvent: Target page, context or browser has been closed","CDP_TARGET_CLOSED"],
"calls": [
  ["open",{}],
  ["watch",{"page":"P1","types":["close","crash","download"]}],
  ["click",{"page":"P1","target":{"steps":[{"by":"selector","value":"a"},{"by":"nth","index":0}]}}]
]
}
*/
// case: requests and responses
// answers: {"click":{"emits":[{"type":"request","page":"P1","requestId":"1","url":"http://x.test/api/a","method":"POST","resourceType":"XHR","headers":{"Content-Type":"application/json"},"postData":"{\"a\":1}"},{"type":"response","page":"P1","requestId":"1","url":"http://x.test/api/a","status":302,"statusText":"Found","headers":{}},{"type":"request","page":"P1","requestId":"1","url":"http://x.test/api/b","method":"GET","resourceType":"XHR","headers":{}},{"type":"response","page":"P1","requestId":"1","url":"http://x.test/api/b","status":200,"statusText":"OK","headers":{"X-A":"1"}},{"type":"requestfinished","page":"P1","requestId":"1"}]},"responseBody":{"bytes":[123,34,97,34,58,49,125]}}
const page = await browser.open("http://x.test/");
const finished = [];
page.on("requestfinished", (request) => finished.push(request));
const [request, response, byPredicate] = await Promise.all([
  page.waitForRequest("**/api/*"),
  page.waitForResponse("/api/b"),
  page.waitForResponse(async (response) => response.status() === 200),
  page.click("a"),
]);
return [request, request.postDataJSON(), request.redirectedTo().url(), response, await response.json(), await response.text(),
  response.request().redirectedFrom() === request, byPredicate === response, finished, await response.request().response() === response, response.headers()];
/*
{
"result": [{"method":"POST","url":"http://x.test/api/a","resourceType":"xhr"},{"a":1},"http://x.test/api/b",{"url":"http://x.test/api/b","status":200,"statusText":"OK"},{"a":1},"{\"a\":1}",true,true,[{"method":"GET","url":"http://x.test/api/b","resourceType":"xhr"}],true,{"x-a":"1"}],
"calls": [
  ["open",{"url":"http://x.test/"}],
  ["watch",{"page":"P1","types":["request","response","requestfinished","close","crash"]}],
  ["click",{"page":"P1","target":{"steps":[{"by":"selector","value":"a"},{"by":"nth","index":0}]}}],
  ["responseBody",{"page":"P1","requestId":"1"}],
  ["responseBody",{"page":"P1","requestId":"1"}]
]
}
*/
// case: a url that a function accepts
// answers: {"waitForFunction":[{"value":"http://x.test/a"},{"value":"http://x.test/done?ok","url":"http://x.test/done?ok"}]}
const page = await browser.open("http://x.test/a");
await page.click("a");
await page.waitForURL((url) => url.pathname === "/done", { timeout: 0 });
await page.waitForURL("/done*");
await page.waitForURL(/done/, { waitUntil: "commit", timeout: 10 });
return page.url();
/*
{
"result": "http://x.test/done?ok",
"calls": [
  ["open",{"url":"http://x.test/a"}],
  ["click",{"page":"P1","target":{"steps":[{"by":"selector","value":"a"},{"by":"nth","index":0}]}}],
  ["waitForFunction",{"function":"(seen) => location.href !== seen && location.href","isFunction":true,"arg":"","timeoutMs":0,"page":"P1"}],
  ["waitForFunction",{"function":"(seen) => location.href !== seen && location.href","isFunction":true,"arg":"http://x.test/a","timeoutMs":0,"page":"P1"}],
  ["waitForLoad",{"state":"load","timeoutMs":0,"page":"P1"}],
  ["waitForURL",{"url":{"glob":"http://x.test/done*"},"page":"P1"}],
  ["waitForURL",{"url":{"regex":"done","flags":""},"waitUntil":"commit","timeoutMs":10,"page":"P1"}]
]
}
*/
// case: routes
// answers: {"goto":{"value":null,"wait":10,"emits":[{"type":"route","page":"P1","route":"f1","requestId":"1","url":"http://x.test/api/a","method":"GET","headers":{},"resourceType":"Fetch"},{"type":"route","page":"P1","route":"f2","requestId":"2","url":"http://x.test/b.png","method":"GET","headers":{},"resourceType":"Image"},{"type":"route","page":"P1","route":"f3","requestId":"3","url":"http://x.test/other","method":"GET","headers":{},"resourceType":"Fetch"}]}}
const page = await browser.open("http://x.test/");
await page.route("**/*", (route) => route.continue({ headers: { a: "1" } }));
await page.route("**/api/**", (route) => route.fulfill({ json: { a: 1 }, status: 201 }), { times: 1 });
await page.route(/\.png$/, (route, request) => (request.resourceType() === "image" ? route.abort() : route.fallback()));
await page.route((url) => url.pathname === "/other", (route) => route.fallback());
await page.goto("http://x.test/");
await page.unroute(/\.png$/);
await page.unrouteAll();
/*
{
"calls": [
  ["open",{"url":"http://x.test/"}],
  ["watch",{"page":"P1","types":["route","close","crash"]}],
  ["route",{"page":"P1","patterns":[{"id":"0","glob":"**/*"}]}],
  ["route",{"page":"P1","patterns":[{"id":"0","glob":"**/api/**"},{"id":"1","glob":"**/*"}]}],
  ["route",{"page":"P1","patterns":[{"id":"0","regex":"\\.png$","flags":""},{"id":"1","glob":"**/api/**"},{"id":"2","glob":"**/*"}]}],
  ["route",{"page":"P1","patterns":[{"id":"0","glob":"**"},{"id":"1","regex":"\\.png$","flags":""},{"id":"2","glob":"**/api/**"},{"id":"3","glob":"**/*"}]}],
  ["goto",{"url":"http://x.test/","page":"P1"}],
  ["routeAnswer",{"page":"P1","route":"f1","action":"fulfill","status":201,"headers":{"content-type":"application/json"},"body":"{\"a\":1}"}],
  ["routeAnswer",{"page":"P1","route":"f2","action":"abort","errorCode":"failed"}],
  ["routeAnswer",{"page":"P1","route":"f3","action":"continue","headers":{"a":"1"}}],
  ["route",{"page":"P1","patterns":[{"id":"0","glob":"**"},{"id":"1","regex":"\\.png$","flags":""},{"id":"2","glob":"**/*"}]}],
  ["route",{"page":"P1","patterns":[{"id":"0","glob":"**"},{"id":"1","glob":"**/*"}]}],
  ["route",{"page":"P1","patterns":[]}]
]
}
*/
// case: pages of the context
// answers: {"click":{"emits":[{"type":"page","page":"P7","url":"u"}]},"pages":{"pages":[{"page":"P1","url":"http://a.test/","title":"A"},{"page":"P7","url":"u","title":"","opener":"P1"}]}}
const page = await browser.open();
const promise = page.context().waitForEvent("page");
await page.click("a");
const other = await promise;
const pages = await browser.pages();
return [other, pages, pages[0] === page, browser.page("P7") === other, (await other.opener()) === page, await page.opener()];
/*
{
"result": [{"page":"P7","url":"u"},[{"page":"P1","url":"http://a.test/"},{"page":"P7","url":"u"}],true,true,true,null],
"calls": [
  ["open",{}],
  ["watch",{"types":["page","close","crash"]}],
  ["click",{"page":"P1","target":{"steps":[{"by":"selector","value":"a"},{"by":"nth","index":0}]}}],
  ["pages",{}],
  ["pages",{}],
  ["pages",{}]
]
}
*/
// case: downloads and choosers
// answers: {"click":{"emits":[{"type":"download","page":"P1","download":"d1","url":"u","suggestedFilename":"a.csv"},{"type":"filechooser","page":"P1","chooser":"c1","multiple":true}]},"download":[{"bytes":[97]},{"value":null}]}
const page = await browser.open();
const [download, chooser] = await Promise.all([page.waitForEvent("download"), page.waitForEvent("filechooser"), page.click("a")]);
await chooser.setFiles([{ name: "b", buffer: new Uint8Array([1]) }]);
return [download, String(await download.bytes()), await download.failure(), chooser];
/*
{
"result": [{"url":"u","suggestedFilename":"a.csv"},"a",null,{"isMultiple":true}],
"calls": [
  ["open",{}],
  ["watch",{"page":"P1","types":["download","close","crash","filechooser"]}],
  ["click",{"page":"P1","target":{"steps":[{"by":"selector","value":"a"},{"by":"nth","index":0}]}}],
  ["chooser",{"page":"P1","chooser":"c1","files":[{"name":"b","buffer":{"bytes":[1]}}]}],
  ["download",{"download":"d1","op":"bytes"}],
  ["download",{"download":"d1","op":"failure"}]
]
}
*/
// case: what a listener throws is not lost
// answers: {"click":{"emits":[{"type":"console","page":"P1","level":"log","text":"a"}]}}
const page = await browser.open();
const seen = [];
page.on("console", () => { throw new Error("in the listener"); });
page.on("console", (message) => seen.push(message.text()));
await page.click("a");
return seen;
/*
{
"result": ["a"],
"calls": [
  ["open",{}],
  ["watch",{"page":"P1","types":["console","close","crash"]}],
  ["click",{"page":"P1","target":{"steps":[{"by":"selector","value":"a"},{"by":"nth","index":0}]}}]
],
"unhandled": ["in the listener"]
}
*/
// case: a dialog that its listener leaves unanswered
// answers: {"click":{"emits":[{"type":"dialog","page":"P1","kind":"confirm","message":"sure?","defaultValue":""}],"wait":5}}
const page = await browser.open();
page.on("dialog", () => {});
await page.click("a");
page.removeAllListeners("dialog");
await page.waitForTimeout(5);
const once = (dialog) => { page.off("dialog", once); return dialog.accept(); };
page.on("dialog", once);
await page.click("a");
await page.waitForTimeout(5);
/*
{
"calls": [
  ["open",{}],
  ["watch",{"page":"P1","types":["dialog","close","crash"]}],
  ["dialogs",{"page":"P1","policy":"hold"}],
  ["click",{"page":"P1","target":{"steps":[{"by":"selector","value":"a"},{"by":"nth","index":0}]}}],
  ["dialog",{"page":"P1","accept":false}],
  ["dialogs",{"page":"P1","policy":"dismiss"}],
  ["watch",{"page":"P1","types":["dialog","close","crash"]}],
  ["dialogs",{"page":"P1","policy":"hold"}],
  ["click",{"page":"P1","target":{"steps":[{"by":"selector","value":"a"},{"by":"nth","index":0}]}}],
  ["dialog",{"page":"P1","accept":true}],
  ["dialogs",{"page":"P1","policy":"dismiss"}]
]
}
*/
// case: a dialog that is waited for
// answers: {"click":{"emits":[{"type":"dialog","page":"P1","kind":"confirm","message":"sure?","defaultValue":""}],"wait":30}}
const page = await browser.open();
const promise = page.waitForEvent("dialog");
const click = page.click("a");
const dialog = await promise;
await page.waitForTimeout(5);
await dialog.accept();
await click;
return dialog;
/*
{
"result": {"type":"confirm","message":"sure?","defaultValue":""},
"calls": [
  ["open",{}],
  ["watch",{"page":"P1","types":["dialog","close","crash"]}],
  ["dialogs",{"page":"P1","policy":"hold"}],
  ["click",{"page":"P1","target":{"steps":[{"by":"selector","value":"a"},{"by":"nth","index":0}]}}],
  ["dialog",{"page":"P1","accept":true}],
  ["dialogs",{"page":"P1","policy":"dismiss"}]
]
}
*/
// case: a predicate is asked until it accepts an event, and not of those that come with it
// answers: {"click":{"emits":[{"type":"request","page":"P1","requestId":"1","url":"http://x.test/1","method":"GET","headers":{}},{"type":"request","page":"P1","requestId":"2","url":"http://x.test/2","method":"GET","headers":{}},{"type":"request","page":"P1","requestId":"3","url":"http://x.test/3","method":"GET","headers":{}}]}}
const page = await browser.open("http://x.test/a");
const asked = [];
const accepts = (request) => asked.push(request.url().at(-1)) === 2;
const later = page.waitForEvent("request", async (request) => request.url().endsWith("3"));
const [request] = await Promise.all([page.waitForRequest(accepts), page.click("a")]);
return [asked, request.url(), (await later).url()];
/*
{
"result": [["1","2"],"http://x.test/2","http://x.test/3"],
"calls": [
  ["open",{"url":"http://x.test/a"}],
  ["watch",{"page":"P1","types":["request","close","crash"]}],
  ["click",{"page":"P1","target":{"steps":[{"by":"selector","value":"a"},{"by":"nth","index":0}]}}]
]
}
*/
