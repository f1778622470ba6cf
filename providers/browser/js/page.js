// Pages: navigation, events, and extensions to Playwright.

/** The layer's state of a page; the page object itself exposes only its id. */
let stateOf;

class Page extends Scope {
  #state;
  #main;

  static {
    stateOf = (page) => page.#state;
  }

  constructor(session, id) {
    super(undefined, [], "");
    this.id = id;
    this.#state = {
      session,
      url: "",
      viewport: null,
      isClosed: false,
      timeout: undefined,
      navigationTimeout: undefined,
      emitter: new Emitter(),
      /** The kinds that the host watches, and the event number from which each is delivered. */
      watched: new Set(),
      since: new Map(),
      policy: { wanted: undefined, told: undefined },
      dialog: null,
      requests: new Map(),
      routes: [],
      opener: undefined,
      keyboard: undefined,
      mouse: undefined,
    };
  }

  get keyboard() {
    return (this.#state.keyboard ??= new Keyboard(this));
  }

  get mouse() {
    return (this.#state.mouse ??= new Mouse(this));
  }

  /** Requests of the script, with the context's cookies. */
  get request() {
    return new APIRequest(this.#state.session, this);
  }

  context() {
    this.#state.session.current = this;
    return this.#state.session.browser;
  }

  goto(url, options) {
    const args = pick({ url: absoluteUrl(String(url), this.#state.url) }, options, ["referer", "waitUntil"]);
    return this.#navigate("goto", "goto", args, options);
  }

  reload(options) {
    return this.#navigate("reload", "history", pick({ delta: 0 }, options, ["waitUntil"]), options);
  }

  goBack(options) {
    return this.#navigate("goBack", "history", pick({ delta: -1 }, options, ["waitUntil"]), options);
  }

  goForward(options) {
    return this.#navigate("goForward", "history", pick({ delta: 1 }, options, ["waitUntil"]), options);
  }

  /** The URL as of the last answer about this page. */
  url() {
    return this.#state.url;
  }

  content() {
    return this.#send("content", "content", {});
  }

  setContent(html, options) {
    const args = pick({ html: String(html) }, options, ["waitUntil"]);
    return this.#send("setContent", "content", timed(args, this, options, true), takeNothing);
  }

  bringToFront() {
    return this.#send("bringToFront", "bringToFront", {}, takeNothing);
  }

  close(options) {
    if (this.#state.isClosed) return Promise.resolve();
    const take = () => {
      if (!options?.runBeforeUnload) markClosed(this);
    };
    return this.#send("close", "closePage", pick({}, options, ["runBeforeUnload"]), take);
  }

  isClosed() {
    return this.#state.isClosed;
  }

  async opener() {
    const { session, opener } = this.#state;
    if (opener !== undefined) return opener;
    const pages = await session.send("page.opener", "pages", {}, (answer) => answer.pages);
    const id = pages.find(({ page }) => page === this.id)?.opener;
    return id === undefined || id === null ? null : session.page(id);
  }

  /** Pauses the page's scripts and animations. `time` is the page's initial time, a date or milliseconds. */
  freeze(options) {
    const args = { op: "set", paused: true };
    if (options?.time !== undefined) args.initialMs = new Date(options.time).getTime();
    return this.#send("freeze", "clock", timed(args, this, options), takeValue);
  }

  thaw() {
    return this.#send("thaw", "clock", { op: "set", paused: false }, takeValue);
  }

  isFrozen() {
    return this.#send("isFrozen", "clock", { op: "get" }, (answer) => answer.value.paused);
  }

  setViewportSize(size) {
    const { width, height } = size ?? {};
    this.#state.viewport = { width, height };
    return this.#send("setViewportSize", "viewport", { width, height }, takeNothing);
  }

  /** The size that this script has set, else null. */
  viewportSize() {
    const { viewport } = this.#state;
    return viewport === null ? null : { ...viewport };
  }

  setDefaultTimeout(ms) {
    this.#state.timeout = Number(ms);
  }

  setDefaultNavigationTimeout(ms) {
    this.#state.navigationTimeout = Number(ms);
  }

  addInitScript(script, arg) {
    const source = initSource("page.addInitScript", script, arg);
    return this.#send("addInitScript", "initScript", { source }, takeNothing);
  }

  screenshot(options) {
    refusePath("page.screenshot", options);
    const take = (answer) => asBuffer(answer.value);
    return this.#send("screenshot", "screenshot", timed(shotOf(options), this, options), take);
  }

  pdf(options) {
    refusePath("page.pdf", options);
    const args = { options: printOptions("page.pdf", options ?? {}) };
    return this.#send("pdf", "pdf", timed(args, this, options), (answer) => asBuffer(answer.value));
  }

  async waitForURL(url, options) {
    const method = "page.waitForURL";
    if (typeof url === "function") return this.#waitForPredicate(method, url, options);
    const test = urlTest(method, url, this.#state.url);
    const args = pick({ url: urlPattern(url, this.#state.url) }, options, ["waitUntil"]);
    const waiting = this.#send("waitForURL", "waitForURL", timed(args, this, options, true), takeNothing);
    if (!(url instanceof RegExp)) return waiting;
    // The host supports a subset of JavaScript's regular expressions.
    return waiting.catch((error) => {
      if (error.code !== "INVALID_ARGUMENT") throw error;
      return this.#waitForPredicate(method, (at) => test(at.href), options);
    });
  }

  waitForLoadState(state = "load", options = undefined) {
    if (!LOAD_STATES.includes(state)) {
      throw wrongArgument("page.waitForLoadState", `state: expected one of (${LOAD_STATES.join("|")})`);
    }
    const args = timed({ state }, this, options, true);
    return this.#send("waitForLoadState", "waitForLoad", args, takeNothing);
  }

  async waitForNavigation(options) {
    const method = "page.waitForNavigation";
    const test = options?.url === undefined ? undefined : urlTest(method, options.url, this.#state.url);
    let response = null;
    const keep = (seen) => {
      if (seen.request().isNavigationRequest()) response = seen;
    };
    const { session, emitter } = this.#state;
    const listener = addListener(session, this, emitter, "response", NEEDS.response, keep, false);
    try {
      const accepts = (frame) => frame === this.mainFrame() && (test === undefined || test(this.#state.url));
      const timeout = timeoutOf(this, options, true);
      await waitForPageEvent(this, method, "framenavigated", accepts, timeout);
      if (options?.waitUntil !== "commit") await this.waitForLoadState(options?.waitUntil, options);
    } finally {
      listener.remove();
    }
    return response;
  }

  waitForRequest(match, options) {
    return this.#waitForNetwork("waitForRequest", "request", match, options);
  }

  waitForResponse(match, options) {
    return this.#waitForNetwork("waitForResponse", "response", match, options);
  }

  waitForEvent(name, options) {
    const { predicate, timeout } = waitOptions(options);
    const ms = timeoutOf(this, { timeout });
    return waitForPageEvent(this, "page.waitForEvent", eventName("page.waitForEvent", name), predicate, ms);
  }

  on(name, handler) {
    return this.#listen("page.on", name, handler, false);
  }

  addListener(name, handler) {
    return this.#listen("page.addListener", name, handler, false);
  }

  once(name, handler) {
    return this.#listen("page.once", name, handler, true);
  }

  off(name, handler) {
    removeListener(this.#state.emitter, name, handler);
    return this;
  }

  removeListener(name, handler) {
    return this.off(name, handler);
  }

  removeAllListeners(name) {
    const { emitter } = this.#state;
    for (const each of name === undefined ? [...emitter.listeners.keys()] : [name]) removeListener(emitter, each);
    return this;
  }

  route(url, handler, options) {
    return addRoute(this, url, handler, options);
  }

  unroute(url, handler) {
    const isMeant = (route) => String(route.url) === String(url) && (route.handler === handler || handler === undefined);
    return dropRoutes(this, "page.unroute", isMeant);
  }

  unrouteAll() {
    return dropRoutes(this, "page.unrouteAll", () => true);
  }

  mainFrame() {
    return (this.#main ??= new Frame(this, [], "", null));
  }

  frames() {
    // In the sandbox's engine an arrow function nested in another one has no `this`, if only the inner one uses it.
    const page = this;
    const take = ({ value }) => value.map((row) => (row.frame === page.id ? page.mainFrame() : frameOf(page, row)));
    return promisedList("page.frames", this.#send("frames", "frames", {}, take));
  }

  /** By name synchronously; by URL a promise of the frame or null. */
  frame(which) {
    const { name, url } = typeof which === "string" ? { name: which } : (which ?? {});
    return url === undefined ? namedFrame(this, String(name)) : frameAt(this, url);
  }

  // Extensions to Playwright.

  /** The accessibility tree as text, with refs that locators accept. */
  snapshot(options) {
    const args = pick({}, options, SNAPSHOT);
    this.#aim("snapshot", args, options?.target);
    return this.#send("snapshot", "snapshot", timed(args, this, options), (answer) => answer.value.text);
  }

  markdown(target) {
    return this.#extract("markdown", target);
  }

  text(target) {
    return this.#extract("text", target);
  }

  /** The rows of a table: objects with the headers as keys, or arrays of cells. */
  table(target = "table") {
    return this.#extract("table", target, ({ value }) => value?.rows ?? value);
  }

  /** The page's requests. */
  network(filter, options) {
    const args = pick({}, options, ["limit"]);
    if (filter !== undefined) args.filter = trafficFilter(filter);
    return this.#send("network", "network", args);
  }

  /** The page's requests as an HTTP archive. */
  har(options) {
    const { filter, content = "embed" } = options ?? {};
    const args = { bodies: content !== "omit" };
    if (filter !== undefined) args.filter = trafficFilter(filter);
    return this.#send("har", "har", args);
  }

  /** The page's console messages and uncaught errors. */
  console(options) {
    return this.#send("console", "console", pick({}, options, ["limit"]));
  }

  toJSON() {
    return { page: this.id, url: this.#state.url };
  }

  #send(name, verb, args, take = takeValue) {
    args.page = this.id;
    return this.#state.session.send(`page.${name}`, verb, args, take, this);
  }

  #navigate(name, verb, args, options) {
    return this.#send(name, verb, timed(args, this, options, true), navigationResponse(this));
  }

  #extract(as, target, take = takeValue) {
    const args = { as };
    this.#aim(as, args, target);
    return this.#send(as, "extract", args, take);
  }

  /** Adds the target element of a method, unless it is about the whole page. */
  #aim(name, args, target) {
    if (target !== undefined && target !== null) args.target = inScope(this, name, target).target;
  }

  #listen(method, name, handler, once) {
    checkHandler(method, handler);
    const event = eventName(method, name);
    addListener(this.#state.session, this, this.#state.emitter, event, NEEDS[event], handler, once);
    return this;
  }

  #waitForNetwork(name, event, match, options) {
    const method = `page.${name}`;
    let accepts = match;
    if (typeof match !== "function") {
      const test = urlTest(method, match, this.#state.url);
      accepts = (seen) => test(seen.url());
    }
    const about = typeof match === "function" ? "that the function accepts" : `of ${quoted(match)}`;
    return waitForPageEvent(this, method, event, accepts, timeoutOf(this, options), `event "${event}" ${about}`);
  }

  /** Tests each URL of the page, starting with the current one. */
  async #waitForPredicate(method, predicate, options) {
    const ms = timeoutOf(this, options, true) ?? WAIT_MS;
    const until = ms === 0 ? Infinity : Date.now() + ms;
    let url = "";
    do {
      const left = ms === 0 ? 0 : until - Date.now();
      if (left < 0) throw lateError(method, ms, `the url; the page is at ${url}`);
      const args = { function: "(seen) => location.href !== seen && location.href", isFunction: true, arg: url };
      if (left !== Infinity) args.timeoutMs = left;
      url = await this.#moved(method, args, ms, url);
    } while (!(await predicate(new URL(url))));
    if (options?.waitUntil !== "commit") await this.waitForLoadState(options?.waitUntil, options);
  }

  #moved(method, args, ms, url) {
    return this.#send("waitForURL", "waitForFunction", args).catch((error) => {
      throw error.code === "CALL_TIMEOUT" ? lateError(method, ms, `the url; the page is at ${url}`) : error;
    });
  }
}

/** The frame of a URL, or null. */
const frameAt = async (page, url) => {
  const test = urlTest("page.frame", url, page.url());
  return (await page.frames()).find((frame) => test(frame.url())) ?? null;
};

/** A traffic filter in the host's form: a text, a regular expression, or an object with these as values. */
const trafficFilter = (filter) => {
  const plain = (value) => (value instanceof RegExp ? { regex: value.source, flags: value.flags } : value);
  if (filter instanceof RegExp || typeof filter !== "object" || filter === null) return plain(filter);
  return Object.fromEntries(Object.entries(filter).map(([field, value]) => [field, plain(value)]));
};
const LOAD_STATES = ["load", "domcontentloaded", "networkidle", "commit"];

/** Validates the name of a page event. */
const eventName = (method, name) => {
  if (Object.hasOwn(NEEDS, name)) return name;
  const near = nearest(String(name), Object.keys(NEEDS));
  const instead = near === undefined ? `there are: ${Object.keys(NEEDS).join(", ")}` : `use ${quoted(near)}`;
  throw unsupported(`${method}(${quoted(name)})`, instead);
};

const waitForPageEvent = (page, method, name, accepts, timeout, what = `event "${name}"`) => {
  const { session, emitter } = stateOf(page);
  return waitForEvent(session, page, emitter, { method, name, kinds: NEEDS[name], accepts, timeout, what });
};

/** The source of a script that runs in each new document. */
const initSource = (method, script, arg) => {
  if (typeof script === "function") {
    return `(${functionSource(method, script)})(${arg === undefined ? "" : JSON.stringify(arg)})`;
  }
  refusePath(method, script);
  const source = typeof script === "string" ? script : script?.content;
  if (typeof source === "string") return source;
  throw wrongArgument(method, "the script must be a function, a string, or { content }");
};

guard("page", Page, [
  "context", "isClosed", "viewportSize", "mainFrame", "frame", ...OF_TIMEOUTS, ...OF_EMITTERS,
]);
