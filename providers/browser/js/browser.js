// The global `browser`: the browser and its only context, under Playwright's names.

const OPEN_OPTIONS = ["waitUntil", "timeout", "viewport", "referer", "httpCredentials", "storageState"];

class Browser {
  #session;

  constructor(session) {
    this.#session = session;
  }

  /** Opens a new page at a URL. */
  async open(url, options) {
    const args = pick(url === undefined || url === null ? {} : { url: String(url) }, options, ["waitUntil"]);
    return this.#opened("open", args, options);
  }

  async newPage(options) {
    return this.#opened("newPage", {}, options);
  }

  pages() {
    const session = this.#session;
    const take = ({ pages }) => pages.map(({ page, url }) => session.page(page, url));
    return promisedList("browser.pages", this.#send("pages", "pages", {}, take));
  }

  /** The page of an id, which is `page.id` or an id in an earlier script's answer. */
  page(id) {
    if (id instanceof Page) return id;
    if (typeof id === "string") return this.#session.page(id);
    if (typeof id?.page === "string") return this.#session.page(id.page, id.url);
    const first = "(await browser.pages())[0] is the first page.";
    throw wrongArgument("browser.page", "the id of a page must be a string", first);
  }

  help(name) {
    return helpText(name);
  }

  /** Does nothing: the host closes or keeps the browser according to the session's mode. */
  async close() {}

  isConnected() {
    return true;
  }

  contexts() {
    return [this];
  }

  browser() {
    return this;
  }

  async cookies(urls) {
    const args = { op: "get" };
    if (urls !== undefined) args.urls = Array.isArray(urls) ? urls : [urls];
    return this.#sendByPage("cookies", "cookies", args);
  }

  async addCookies(cookies) {
    if (!Array.isArray(cookies)) throw wrongArgument("browser.addCookies", "the cookies must be an array");
    return this.#sendByPage("addCookies", "cookies", { op: "set", cookies }, takeNothing);
  }

  async clearCookies(filter) {
    const clear = (args) => this.#sendByPage("clearCookies", "cookies", { op: "clear", ...args }, takeNothing);
    if (filter === undefined) return clear({});
    const conditions = Object.entries(filter);
    if (!conditions.some(([, value]) => value instanceof RegExp)) return clear({ filter });
    const fits = (text, wanted) => (wanted instanceof RegExp ? text.search(wanted) >= 0 : text === wanted);
    const isMeant = (cookie) => conditions.every(([key, wanted]) => fits(cookie[key], wanted));
    for (const cookie of (await this.cookies()).filter(isMeant)) {
      await clear({ filter: pick({}, cookie, ["name", "domain", "path"]) });
    }
  }

  /** Requests of the script, with the context's cookies. */
  get request() {
    return new APIRequest(this.#session, undefined);
  }

  /** Sets the credentials for HTTP authentication, in all existing pages and in pages that this script opens. */
  async setHTTPCredentials(credentials) {
    const given = credentialsOf("browser.setHTTPCredentials", credentials, undefined);
    this.#session.credentials = given;
    await inAllPages(this, (page) => sendCredentials(page, "browser.setHTTPCredentials", given));
  }

  /** Grants exactly these permissions, to one origin or to all. */
  async grantPermissions(permissions, options) {
    if (!Array.isArray(permissions)) throw wrongArgument("browser.grantPermissions", "the permissions must be an array");
    return this.#sendByPage("grantPermissions", "permissions", pick({ permissions }, options, ["origin"]), takeNothing);
  }

  async clearPermissions() {
    return this.#sendByPage("clearPermissions", "permissions", {}, takeNothing);
  }

  /** Sets the geolocation of all existing pages and of pages that this script opens; null clears it. */
  async setGeolocation(geolocation) {
    this.#session.geolocation = geolocation ?? undefined;
    await inAllPages(this, (page) => sendGeolocation(page, geolocation));
  }

  /** The login state. If `path`, a name, is given, the host also saves the state of all pages. */
  async storageState(options) {
    const name = options?.path;
    if (name === undefined) return this.#sendByPage("storageState", "storageState", {});
    return this.#sendByPage("storageState", "saveState", { name: stateName("browser.storageState", name) });
  }

  /** Removes the login state saved under a name. */
  forgetState(name) {
    return this.#send("forgetState", "forgetState", { name: stateName("browser.forgetState", name) }, takeNothing);
  }

  /** Adds the script to all existing pages and to pages that this script opens. */
  async addInitScript(script, arg) {
    const source = initSource("browser.addInitScript", script, arg);
    this.#session.initScripts.push(source);
    await inAllPages(this, (page) => page.addInitScript(source));
  }

  setDefaultTimeout(ms) {
    this.#session.timeout = Number(ms);
  }

  setDefaultNavigationTimeout(ms) {
    this.#session.navigationTimeout = Number(ms);
  }

  on(name, handler) {
    return this.#listen("on", name, handler, false);
  }

  addListener(name, handler) {
    return this.#listen("addListener", name, handler, false);
  }

  once(name, handler) {
    return this.#listen("once", name, handler, true);
  }

  off(name, handler) {
    removeListener(this.#session.emitter, name, handler);
    return this;
  }

  removeListener(name, handler) {
    return this.off(name, handler);
  }

  waitForEvent(name, options) {
    const method = "browser.waitForEvent";
    this.#check(method, name);
    const session = this.#session;
    const { predicate: accepts, timeout = session.timeout } = waitOptions(options);
    const about = { method, name, kinds: ["page"], accepts, timeout, what: 'event "page"' };
    return waitForEvent(session, null, session.emitter, about);
  }

  toString() {
    return "browser";
  }

  toJSON() {
    return "browser";
  }

  #listen(method, name, handler, once) {
    this.#check(`browser.${method}`, name);
    checkHandler(`browser.${method}`, handler);
    addListener(this.#session, null, this.#session.emitter, name, ["page"], handler, once);
    return this;
  }

  #check(method, name) {
    if (name === "page") return;
    throw unsupported(`${method}(${quoted(name)})`, `listen on the page: page.on(${quoted(name)}, …)`);
  }

  #opened(name, args, options) {
    const wrong = Object.keys(options ?? {}).find((key) => !OPEN_OPTIONS.includes(key));
    if (wrong !== undefined) {
      throw wrongArgument(`browser.${name}`, `there is no option ${wrong}`, `There are: ${OPEN_OPTIONS.join(", ")}.`);
    }
    const session = this.#session;
    const timeout = options?.timeout ?? session.navigationTimeout ?? session.timeout;
    if (timeout !== undefined) args.timeoutMs = timeout;
    const take = (answer) => {
      const page = session.page(answer.page, answer.url);
      note(page, answer);
      return page;
    };
    const { initScripts, credentials, geolocation } = session;
    const isPlain = initScripts.length === 0 && credentials === undefined && geolocation === undefined &&
      options?.viewport === undefined && options?.httpCredentials === undefined && options?.storageState === undefined;
    const opened = isPlain ? this.#send(name, "open", args, take) : this.#openedInSteps(name, args, options, take);
    return opened.then((page) => (session.current = page));
  }

  /** Opens a blank page, applies the settings that must precede its URL, then navigates. */
  async #openedInSteps(name, { url, ...args }, options, take) {
    const own = credentialsOf(`browser.${name}`, options?.httpCredentials, url);
    const page = await this.#send(name, "open", args, take);
    try {
      await this.#applySettings(name, page, own, options);
    } catch (error) {
      await page.close().catch(() => {});
      throw error;
    }
    if (url !== undefined) await page.goto(url, options);
    return page;
  }

  async #applySettings(name, page, own, options) {
    const session = this.#session;
    if (options?.viewport) await page.setViewportSize(options.viewport);
    for (const source of session.initScripts) await page.addInitScript(source);
    const given = own ?? session.credentials;
    if (given !== undefined) await sendCredentials(page, `browser.${name}`, given);
    if (session.geolocation !== undefined) await sendGeolocation(page, session.geolocation);
    if (options?.storageState !== undefined) await this.#loadState(name, page, options.storageState);
  }

  /** Loads a saved state by name, or an object in the form that `storageState` returns. */
  #loadState(name, page, state) {
    const method = `browser.${name}`;
    if (typeof state !== "object" || state === null) state = stateName(method, state);
    return this.#session.send(method, "loadState", { page: page.id, state }, takeNothing, page);
  }

  /** Sends a verb about the whole context through some page; retries with another one if that page closes meanwhile. */
  async #sendByPage(name, verb, args, take = takeValue) {
    const method = `browser.${name}`;
    for (;;) {
      const page = await anyPage(this.#session, method);
      try {
        return await this.#session.send(method, verb, { ...args, page: page.id }, take, page);
      } catch (error) {
        if (error?.code !== "CDP_TARGET_CLOSED" || !page.isClosed()) throw error;
      }
    }
  }

  #send(name, verb, args, take = takeValue) {
    return this.#session.send(`browser.${name}`, verb, args, take, undefined);
  }
}

/** The page through which context verbs are sent: the last used one, or the newest one that shows a site. */
const anyPage = async (session, method) => {
  const { current } = session;
  if (current !== undefined && !current.isClosed()) return current;
  const pages = (await session.browser.pages()).filter((page) => !page.isClosed());
  const page = pages.findLast((page) => /^https?:/.test(page.url())) ?? pages[0];
  if (page === undefined) throw wrongArgument(method, "there is no page", "Open one first: await browser.open(url).");
  return page;
};

/** Applies a function to each existing page. Pages that close meanwhile are skipped. */
const inAllPages = async (browser, act) => {
  for (const page of await browser.pages()) {
    await act(page).catch((error) => {
      if (error?.code !== "CDP_TARGET_CLOSED") throw error;
    });
  }
};

/** Credentials in the host's form. Those of `open` apply to the URL's origin, unless they name one. */
const credentialsOf = (method, credentials, url) => {
  if (credentials === undefined || credentials === null) return undefined;
  const { username, password, origin } = credentials;
  if (username === undefined || password === undefined) {
    throw wrongArgument(method, "httpCredentials must be { username, password, origin? }");
  }
  const isOpened = typeof url === "string" && /^https?:/.test(url);
  if (isOpened && !URL.canParse(url)) throw wrongArgument(method, `${quoted(url)} is no url`, WHOLE_URL);
  const of = origin ?? (isOpened ? new URL(url).origin : undefined);
  return { username, password, ...(of === undefined ? {} : { origin: of }) };
};

const stateName = (method, name) => {
  if (typeof name === "string") return name;
  throw wrongArgument(method, "the name of a saved state must be a string", 'As in storageState({ path: "shop" }).');
};

const sendCredentials = (page, method, credentials) => {
  const args = { page: page.id, credentials: credentials ?? null };
  return stateOf(page).session.send(method, "credentials", args, takeNothing, page);
};

const sendGeolocation = (page, geolocation) => {
  const args = { page: page.id, geolocation: geolocation ?? null };
  return stateOf(page).session.send("browser.setGeolocation", "geolocation", args, takeNothing, page);
};

guard("browser", Browser, ["help", "isConnected", "contexts", "browser", ...OF_TIMEOUTS, ...OF_EMITTERS]);

/**
 * Creates the namespace's global from the raw namespace. This expression is evaluated once; the function is called
 * once per execution.
 */
const layer = (call, name, failWith) => {
  fail = failWith;
  const session = new Session(call);
  session.browser = new Browser(session);
  return session.browser;
};
