// The ways in which the text of a page comes to a script. Each row answers something that the value stands in.

const shown = (page) => page.evaluate(() => { rich.textContent = code.value; rich.title = code.value });
const echo = (page, init) =>
  page.evaluate((init) => fetch(`/echo?${new URLSearchParams({ it: code.value })}`, init && { ...init, body: JSON.stringify({ it: code.value }) }).then(() => 0), init);

const ROWS = {
  "inputValue": ({ page }) => page.inputValue("#code"),
  "evaluate": ({ page }) => page.evaluate(() => code.value),
  "keys, maps and sets": ({ page }) => page.evaluate(() => ({ [code.value]: [new Map([[code.value, new Set([code.value])]])] })),
  "JSON": ({ page }) => page.evaluate(() => JSON.stringify({ it: code.value })),
  "JSON in JSON": ({ page }) => page.evaluate(() => JSON.stringify(JSON.stringify({ it: code.value }))),
  "encodeURIComponent": ({ page }) => page.evaluate(() => encodeURIComponent(code.value)),
  "URLSearchParams": ({ page }) => page.evaluate(() => String(new URLSearchParams({ it: code.value }))),
  "a query": ({ page }) => page.evaluate(() => new URL(`/?${code.value}`, location).href),
  "a fragment": ({ page }) => page.evaluate(() => new URL(`/#${code.value}`, location).href),
  "base64": ({ page }) => page.evaluate(() => new TextEncoder().encode(`x${code.value}y`).toBase64()),
  "hexadecimal digits": ({ page }) => page.evaluate(() => new TextEncoder().encode(code.value).toHex()),
  "outerHTML": ({ page }) => shown(page).then(() => page.evaluate(() => rich.outerHTML)),
  "an attribute": ({ page }) => shown(page).then(() => page.getAttribute("#rich", "title")),
  "the page as text": ({ page }) => shown(page).then(() => page.text()),
  "the page as Markdown": ({ page }) => shown(page).then(() => page.markdown()),
  "the page's source": ({ page }) => shown(page).then(() => page.content()),
  "a snapshot": ({ page }) => page.snapshot(),
  "an ariaSnapshot": ({ page }) => page.locator("body").ariaSnapshot(),
  "an exception of the page": ({ page }) => page.evaluate(() => { throw new Error(code.value) }).catch((error) => error.message),
  "the page's console": async ({ page }) => {
    await page.evaluate(() => console.log("it is", code.value));
    return page.console();
  },
  "the page's title": async ({ page }) => {
    await page.evaluate(() => { document.title = code.value });
    return page.title();
  },
  "the page's address": async ({ page }) => {
    await page.evaluate(() => history.replaceState(0, "", `?${encodeURIComponent(code.value)}`));
    return page.url();
  },
  "storageState": async ({ page }) => {
    await page.evaluate(() => { localStorage.it = code.value });
    return page.context().storageState();
  },
  "cookies": async ({ page }) => {
    await page.evaluate(() => { document.cookie = `it=${encodeURIComponent(code.value)}` });
    return page.context().cookies();
  },
  "a dialog": ({ page }) =>
    new Promise((told) => {
      page.on("dialog", (dialog) => dialog.accept().then(() => told(dialog.message())));
      page.evaluate(() => alert(code.value));
    }),
  "requests": async ({ page }) => {
    await echo(page);
    return page.network();
  },
  "the body of a request": async ({ page }) => {
    const sent = page.waitForRequest(/echo/);
    await page.click("button");
    return (await sent).postData();
  },
  "the body of an answer": ({ page }) =>
    page.evaluate(() => fetch("/echo", { method: "POST", body: code.value }).then((answer) => answer.text())),
  "Runtime.evaluate": async ({ send }) => (await send("Runtime.evaluate", { expression: "code.value" })).result,
  "a preview": ({ send }) => send("Runtime.evaluate", { expression: "({ it: code.value })", generatePreview: true }),
  "exceptionDetails": ({ send }) => send("Runtime.evaluate", { expression: "throw new Error(code.value)" }),
  "DOM.getDocument": ({ page, send }) => shown(page).then(() => send("DOM.getDocument", { depth: -1 })),
  "an event of the console": async ({ page, send, sessionId }) => {
    await send("Runtime.enable");
    await page.evaluate(() => console.log(code.value));
    return (await cdp.waitForEvent("Runtime.consoleAPICalled", { sessionId })).params;
  },
  "an event of the network": async ({ page, send, sessionId }) => {
    await send("Network.enable");
    await echo(page, { method: "POST" });
    const where = { request: { method: "POST" } };
    return (await cdp.waitForEvent("Network.requestWillBeSent", { sessionId, where })).params;
  },
};

const plain = (_, it) => (it instanceof Map || it instanceof Set ? [...it] : it);
const unmasked = [];
for (const [name, row] of Object.entries(ROWS)) {
  const page = await browser.open("{{site}}/vault");
  await page.fill({ "#password": secret("SHOP"), "#code": secret("SHOP") });
  const { sessionId } = await cdp.attachToTarget(page.id);
  const got = await row({ page, sessionId, send: (method, params = {}) => cdp.send(method, params, { sessionId }) });
  const text = typeof got === "string" ? got : JSON.stringify(got, plain);
  if (!text.includes("********")) unmasked.push(`${name}: ${text.slice(0, 500)}`);
  console.log(name, text.slice(0, 200));
  await page.close();
}
[Object.keys(ROWS).length, unmasked];
