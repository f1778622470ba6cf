// The texts of `browser.help`: one line per method.

const ELEMENT_HELP = {
  click: "click({ button, clickCount, modifiers, position, delay, force, trial, timeout })",
  dblclick: "dblclick(options): as click",
  hover: "hover({ position, modifiers, force, trial, timeout })",
  fill: "fill(value | secret(name), { force, timeout }): replaces the content of an input, textarea or contenteditable",
  type: "type(text, { delay }): key by key, after what is there",
  press: 'press(key, { delay }): "Enter", "Control+A", "ArrowDown", "a"',
  check: "check(options) and uncheck(options): checkbox, radio or switch",
  setChecked: "setChecked(checked, options)",
  selectOption: "selectOption(value | label | { value, label, index } | list) → the selected values",
  setInputFiles: "setInputFiles({ name, mimeType, buffer } | list): buffer is a string or bytes; there are no paths",
  focus: "focus()",
  dispatchEvent: "dispatchEvent(type, init)",
  textContent: "textContent() → string or null",
  innerText: "innerText() → string as rendered",
  innerHTML: "innerHTML() → string",
  inputValue: "inputValue() → string",
  getAttribute: "getAttribute(name) → string or null",
  isVisible: "isVisible() and isHidden() → boolean, without waiting",
  isEnabled: "isEnabled() and isDisabled() → boolean",
  isEditable: "isEditable() → boolean",
  isChecked: "isChecked() → boolean",
};

const FIND_HELP = {
  locator: 'locator(selector | locator, { hasText, hasNotText, has, hasNot }): CSS, "text=…", "xpath=…", "@e5" of a snapshot; a >> b',
  getByRole: "getByRole(role, { name, description, exact, checked, disabled, expanded, level, pressed, selected, includeHidden })",
  getByText: "getByText(text | regexp, { exact })",
  getByLabel: "getByLabel(text | regexp, { exact }): form controls",
  getByPlaceholder: "getByPlaceholder(text | regexp, { exact })",
  getByAltText: "getByAltText(text | regexp, { exact })",
  getByTitle: "getByTitle(text | regexp, { exact })",
  getByTestId: "getByTestId(id | regexp): data-testid",
  frameLocator: "frameLocator(selector): what is inside of an iframe",
};

const HELP = {
  browser: {
    open: 'open(url, { waitUntil: "load" | "domcontentloaded" | "networkidle" | "commit", viewport: { width, height }, httpCredentials: { username, password }, storageState: name | { cookies, origins }, timeout }) → page, in a new tab',
    newPage: "newPage({ viewport }) → page, empty",
    pages: "pages() → promise of all pages of the browser",
    page: "page(id) → the page of an id: page.id, or what pages() of an earlier script said",
    help: 'help(name) → this text; name as "page", "locator" or "page.click"',
    cookies: "cookies(urls) → list, without urls all; addCookies(list); clearCookies({ name, domain, path })",
    storageState: 'storageState({ path }) → { cookies, origins }; path is a name, as "shop": all logins of the browser are saved under it for this session key, encrypted; open(url, { storageState: "shop" }) loads them; forgetState("shop")',
    request: "request.get(url, options), post, put, patch, delete, head, fetch: as page.request",
    setHTTPCredentials: "setHTTPCredentials({ username, password, origin } | null): for servers that ask the browser itself; or open(url, { httpCredentials })",
    grantPermissions: 'grantPermissions(["geolocation", "notifications", "clipboard-read"], { origin }), clearPermissions(); devices only if the operator allows them',
    setGeolocation: "setGeolocation({ latitude, longitude, accuracy } | null)",
    addInitScript: "addInitScript(function | source, arg): runs before the scripts of each new document of any page",
    on: 'on("page", handler), once, off; waitForEvent("page", { predicate, timeout }) → page',
    setDefaultTimeout: "setDefaultTimeout(ms), setDefaultNavigationTimeout(ms): for all pages",
    close: "close(): does nothing; the host ends or keeps the browser",
  },
  page: {
    snapshot: "snapshot({ interactive, compact, depth, limit, diff, target }) → text of what there is, with refs: page.click(\"@e5\")",
    markdown: "markdown(target) → the page's content, or an element's, as Markdown",
    text: "text(target) → readable text",
    table: "table(target) → rows as objects by the table's headers, or as arrays",
    network: 'network(filter, { limit }) → what the page requested; filter: text, regexp or { method, status, url: /…/, failed: true }; console({ limit }) → what it wrote, and its errors',
    har: 'har({ filter, content: "embed" | "omit" }) → the requests as an HTTP archive (HAR 1.2), without cookies and authorization',
    request: "request.get(url, { params, headers, maxRedirects, failOnStatusCode, timeout }), post(url, { data | form | multipart }), put, patch, delete, head, fetch → response: with the page's cookies, no page is loaded",
    goto: "goto(url, { waitUntil, referer, timeout }) → response or null; a path is meant on the page's site",
    reload: "reload(options), goBack(options), goForward(options) → response or null",
    url: "url() → string, at once; title() → promise",
    content: "content() → HTML; setContent(html)",
    evaluate: "evaluate(function | source, arg) → what it returns, as plain data; it runs in the page and sees no variable of the script; locators in arg become elements",
    $eval: "$eval(selector, (element, arg) => …, arg), $$eval(selector, (elements, arg) => …, arg)",
    $: "$(selector) → locator of the first element, or null; $$(selector) → list of locators",
    addInitScript: "addInitScript(function | source, arg): runs before the scripts of each new document",
    ...FIND_HELP,
    frames: "frames() → promise of frames; mainFrame(); frame(name), await frame({ url })",
    ...Object.fromEntries(
      Object.entries(ELEMENT_HELP).map(([name, line]) => [name, line.replace("(", "(selector, ").replace("(selector, )", "(selector)")]),
    ),
    fill: 'fill(selector, value), or a whole form at once: fill({ "#user": "ada", "#news": true })',
    dragAndDrop: "dragAndDrop(source, target, { sourcePosition, targetPosition })",
    waitForSelector: 'waitForSelector(selector, { state: "visible" | "hidden" | "attached" | "detached", timeout }) → locator or null',
    waitForURL: 'waitForURL(glob | regexp | (url) => boolean, { waitUntil, timeout }): "**/account", or a path of the page\'s site',
    waitForLoadState: 'waitForLoadState("load" | "domcontentloaded" | "networkidle")',
    waitForFunction: "waitForFunction(function | source, arg, { polling, timeout }) → the value itself; arg may have locators in it",
    waitForRequest: "waitForRequest(glob | regexp | predicate, { timeout }) → request",
    waitForResponse: "waitForResponse(glob | regexp | predicate, { timeout }) → response",
    waitForEvent: 'waitForEvent(name, predicate | { predicate, timeout }): begin before the action: const p = page.waitForEvent("popup"); await page.click(…); await p',
    waitForNavigation: "waitForNavigation({ url, waitUntil, timeout }) → response or null; waitForURL is better",
    waitForTimeout: "waitForTimeout(ms): prefer waiting for what you expect",
    on: `on(name, handler), once, off; names: ${Object.keys(NEEDS).join(", ")}`,
    dialogs: 'on("dialog", (dialog) => dialog.accept(text) or dialog.dismiss()): without a listener the host dismisses dialogs',
    route: "route(glob | regexp | predicate, (route, request) => route.fulfill({ status, headers, contentType, body, json }) | route.abort() | route.continue({ url, method, headers, postData }), { times }); unroute(url)",
    screenshot: "screenshot({ fullPage, type, quality, clip, omitBackground, markup, cursor: { x, y } }) → bytes; return them to see the image",
    pdf: "pdf({ format, landscape, printBackground, … }) → bytes",
    keyboard: "keyboard.press(key), .type(text, { delay }), .insertText(text), .down(key), .up(key)",
    mouse: "mouse.click(x, y), .dblclick(x, y), .move(x, y, { steps }), .down(), .up(), .wheel(dx, dy)",
    setViewportSize: "setViewportSize({ width, height }), viewportSize()",
    freeze: "freeze({ time, timeout }) → { enabled, paused, baseMs, nowMs }: no script and no animation of the page runs until thaw(); isFrozen(). What is there can be read and pictured meanwhile",
    bringToFront: "bringToFront(), close(), isClosed(), opener(), context()",
    setDefaultTimeout: "setDefaultTimeout(ms), setDefaultNavigationTimeout(ms)",
    id: "id: for browser.page(id) in a later script",
  },
  locator: {
    ...ELEMENT_HELP,
    ...FIND_HELP,
    filter: "filter({ hasText, hasNotText, has, hasNot, visible })",
    first: "first(), last(), nth(index), and(locator), or(locator)",
    count: "count() → number; all() → list of locators; neither waits",
    allTextContents: "allTextContents(), allInnerTexts() → list of strings; they do not wait",
    clear: "clear(), blur(), selectText(), scrollIntoViewIfNeeded()",
    pressSequentially: "pressSequentially(text, { delay }): key by key",
    dragTo: "dragTo(locator, { sourcePosition, targetPosition })",
    evaluate: "evaluate((element, arg) => …, arg), evaluateAll((elements, arg) => …, arg)",
    waitFor: 'waitFor({ state: "visible" | "hidden" | "attached" | "detached", timeout })',
    boundingBox: "boundingBox() → { x, y, width, height } or null",
    screenshot: "screenshot(options) → bytes",
    ariaSnapshot: "ariaSnapshot() → text; snapshot(options) → text with refs",
    waitForFunction: "waitForFunction((element, arg) => boolean, arg, { timeout }): until it is true",
    describe: "describe(text) → the same locator, named so in messages of the script; description()",
    contentFrame: "contentFrame() → what is inside of the iframe; page()",
  },
  frame: {
    ...FIND_HELP,
    evaluate: "evaluate(function | source, arg); actions, $eval, waitForSelector, waitForFunction as of a page; name(), url(), content(), page(), frameElement() → locator of the iframe",
  },
  frameLocator: { ...FIND_HELP, owner: "owner() → locator of the iframe; first(), last(), nth(index)" },
  dialog: { accept: "accept(text), dismiss(), type(), message(), defaultValue(), page()" },
  consoleMessage: { text: "text(), type(), location(), page()" },
  request: {
    url: "url(), method(), headers(), postData(), postDataJSON(), resourceType(), isNavigationRequest(), failure(), redirectedFrom(), redirectedTo(), response()",
  },
  response: { json: "json(), text(), body(), status(), statusText(), ok(), url(), headers(), headerValue(name), request(), finished()" },
  route: { fulfill: "fulfill(options), abort(errorCode), continue(options), fallback(), request(); fetch() → response, for fulfill({ response, json })" },
  apiRequestContext: { get: "get(url, options), post, put, patch, delete, head, fetch(url | request, { method, headers, params, data, form, multipart, maxRedirects, failOnStatusCode, timeout }) → apiResponse" },
  apiResponse: { json: "json(), text(), body(), status(), statusText(), ok(), url(), headers(), headersArray()" },
  download: {
    bytes: "bytes() → up to 8 MiB; return them to have the file; suggestedFilename(), url(), failure(), cancel(), delete(), page()",
    saveAs: "saveAs(name) → { name, mimeType, bytes }: puts the file, up to 32 MiB, among the files of the answer; progress() → { state, receivedBytes, totalBytes }",
  },
  selectPopup: {
    select: 'select(index | list) → the selected values, cancel(), options() → list of { index, label, selected, disabled }, isMultiple(), page(): of page.on("select", …), which keeps lists from opening the popup that no picture shows; selectOption needs none of it',
  },
  fileChooser: { setFiles: "setFiles({ name, mimeType, buffer } | list), isMultiple(), page()" },
};

/** Names of Playwright's classes that have another name here. */
const SAME_AS = { elementHandle: "locator", jsHandle: "locator", context: "browser", browserContext: "browser" };

/** The help on an object or a method; without a name, on the browser, with a list of the other topics. */
const helpText = (name) => {
  const list = (label) => Object.values(HELP[label]).map((line) => `${label}.${line}`).join("\n");
  if (name === undefined) {
    const others = Object.keys(HELP).filter((label) => label !== "browser");
    return `${list("browser")}\nMore: browser.help(name) with ${others.map((label) => `"${label}"`).join(", ")}, or a method.`;
  }
  const wanted = String(name).replace(/\(.*$/, "");
  if (Object.hasOwn(HELP, wanted)) return list(wanted);
  if (Object.hasOwn(SAME_AS, wanted)) return list(SAME_AS[wanted]);
  const [named, method] = wanted.includes(".") ? wanted.split(".") : [undefined, wanted];
  const label = Object.hasOwn(SAME_AS, named) ? SAME_AS[named] : named;
  const labels = label !== undefined && Object.hasOwn(HELP, label) ? [label] : Object.keys(HELP);
  const lines = labels.flatMap((each) => linesOf(each, method).map((line) => `${each}.${line}`));
  // The help of methods that frames share with pages is listed with pages.
  if (label === "frame" && lines.length === 0 && Object.hasOwn(Scope.prototype, method)) {
    lines.push(...linesOf("page", method).map((line) => `frame.${line}`));
  }
  if (lines.length > 0) return lines.join("\n");
  const instead = labels.map((each) => INSTEAD[each]?.[method] ?? INSTEAD.any[method]).find((text) => text !== undefined);
  if (instead !== undefined) return `${wanted} is not supported; ${instead}.`;
  const known = labels.flatMap((each) => Object.keys(HELP[each]));
  const near = nearest(method, [...known, ...Object.keys(HELP)]);
  return `There is no ${wanted}; ${near === undefined ? "see browser.help()" : `see browser.help("${near}")`}.`;
};

/** The lines of a method: its own, else those that mention it. */
const linesOf = (label, method) => {
  const lines = HELP[label];
  if (Object.hasOwn(lines, method)) return [lines[method]];
  return Object.values(lines).filter((line) => new RegExp(`(^|[^\\w$])${method.replace(/\W/g, "\\$&")}\\(`).test(line));
};
