// Requests that a script answers itself.

/** Accessor for the promise that resolves when a route was answered. */
let whenAnswered;

/** A request that is paused until the script answers it. */
class Route {
  #page;
  #event;
  #request;
  #others;
  #isAnswered = false;
  #tellAnswered;
  #whenAnswered;

  static {
    whenAnswered = (route) => route.#whenAnswered;
  }

  constructor(page, event, request, others) {
    this.#page = page;
    this.#event = event;
    this.#request = request;
    this.#others = others;
    this.#whenAnswered = new Promise((resolve) => {
      this.#tellAnswered = resolve;
    });
  }

  request() {
    return this.#request;
  }

  continue(options) {
    const args = pick({}, options, ["url", "method", "postData", "headers"]);
    const { postData } = args;
    if (typeof postData === "object" && !ArrayBuffer.isView(postData)) args.postData = JSON.stringify(postData);
    return this.#answer("continue", args);
  }

  /** Passes the request on to the handler that was added before this one. */
  async fallback(options) {
    if (this.#others.length === 0) return this.continue(options);
    const [next, ...others] = this.#others;
    this.#others = others;
    return next.handle(this, this.#request);
  }

  /** The server's response, for `fulfill({ response })`. */
  fetch(options) {
    const { postData, url, ...others } = options ?? {};
    const changed = postData === undefined ? others : { ...others, data: postData };
    const { request } = this.#page;
    if (url === undefined) return request.fetch(this.#request, changed);
    const { cookie, ...headers } = this.#request.headers();
    return request.fetch(url, { method: this.#request.method(), headers, ...changed });
  }

  abort(errorCode = "failed") {
    return this.#answer("abort", { errorCode });
  }

  async fulfill(options = {}) {
    refusePath("route.fulfill", options);
    const { response, json, contentType } = options;
    const headers = lowered(options.headers ?? response?.headers());
    let body = options.body ?? (json === undefined ? await response?.body() : JSON.stringify(json));
    if (contentType !== undefined) headers["content-type"] = contentType;
    else if (json !== undefined) headers["content-type"] ??= "application/json";
    if (body === undefined) body = "";
    if (response !== undefined) {
      delete headers["content-length"];
      delete headers["content-encoding"];
    }
    allowOrigin(headers, this.#event);
    return this.#answer("fulfill", { status: options.status ?? response?.status() ?? 200, headers, body });
  }

  toJSON() {
    return this.#request.toJSON();
  }

  async #answer(action, args) {
    const method = `route.${action}`;
    if (this.#isAnswered) {
      throw failure(method, "Route is already handled!", "INVALID_ARGUMENT", "Answer each route once.");
    }
    this.#isAnswered = true;
    const page = this.#page;
    const { call } = stateOf(page).session;
    // Not by `Session.send`: the call that the gate waits for may itself be blocked by this request.
    try {
      await call.routeAnswer({ page: page.id, route: this.#event.route, action, ...args });
      this.#tellAnswered();
    } catch (error) {
      // The request is still paused.
      this.#isAnswered = false;
      throw explain(method, error);
    }
  }
}

/**
 * As in Playwright, a page may read the script's response to a cross-origin request. The origin is in the headers of
 * the paused request: those with which it began may lack it.
 */
const allowOrigin = (headers, paused) => {
  const { origin } = lowered(paused.headers);
  if (origin === undefined || headers["access-control-allow-origin"] !== undefined) return;
  if (new URL(paused.url).origin === origin) return;
  headers["access-control-allow-origin"] = origin;
  headers["access-control-allow-credentials"] = "true";
  headers.vary = headers.vary === undefined ? "Origin" : `${headers.vary}, Origin`;
};

/** The handlers of a page that match a URL, the newest first. */
const handlersOf = (page, url) => stateOf(page).routes.filter((route) => route.test(url));

const routeBegun = (page, event) => {
  const [first, ...others] = handlersOf(page, event.url);
  const request = event.requestId === undefined ? new Request(page, event) : requestBegun(page, event);
  // As in Playwright: a listener may have seen the request before, when it had fewer headers, such as no `Origin`.
  requestState(request).headers = event.headers;
  const route = new Route(page, event, request, others);
  if (first === undefined) {
    route.continue().catch(() => {});
    return;
  }
  // As for any listener, an exception of a handler is an unhandled rejection.
  void first.handle(route, request);
};

/** Adds a handler, and tells the host which requests to pause. */
const addRoute = (page, url, handler, options) => {
  const method = "page.route";
  checkHandler(method, handler);
  const state = stateOf(page);
  let left = options?.times ?? Infinity;
  const entry = {
    url,
    handler,
    test: urlTest(method, url, state.url),
    pattern: typeof url === "function" ? { glob: "**" } : urlPattern(url, state.url),
    async handle(route, request) {
      if (--left <= 0) {
        state.routes = state.routes.filter((other) => other !== entry);
        // Not before: removing the last route continues the paused requests.
        whenAnswered(route).then(() => forgetRoutes(page, method, 1)).catch(() => {});
      }
      return handler(route, request);
    },
  };
  state.routes.unshift(entry);
  state.session.events.listen(page, ["route"]);
  return sendRoutes(page, method).catch((error) => {
    // The host refused the route, so it pauses nothing for it.
    state.routes = state.routes.filter((other) => other !== entry);
    state.session.events.unlisten(["route"]);
    throw error;
  });
};

const dropRoutes = (page, method, isMeant) => {
  const state = stateOf(page);
  const left = state.routes.filter((route) => !isMeant(route));
  const dropped = state.routes.length - left.length;
  state.routes = left;
  return dropped === 0 ? Promise.resolve() : forgetRoutes(page, method, dropped);
};

/** Tells the host the remaining routes, after `count` were removed. */
const forgetRoutes = (page, method, count) => {
  const told = sendRoutes(page, method);
  for (let each = 0; each < count; each++) stateOf(page).session.events.unlisten(["route"]);
  return told;
};

const sendRoutes = (page, method, isBroad = false) => {
  const { routes, session } = stateOf(page);
  const patterns = routes.map(({ url, pattern }, index) => {
    const id = String(index);
    return isBroad && url instanceof RegExp ? { id, glob: "**" } : { id, ...pattern };
  });
  const told = session.send(method, "route", { page: page.id, patterns }, takeNothing, page);
  if (isBroad || !routes.some(({ url }) => url instanceof RegExp)) return told;
  // The host supports a subset of JavaScript's regular expressions. If it refuses one, all requests are paused and
  // matched here.
  return told.catch((error) => {
    if (error.code !== "INVALID_ARGUMENT") throw error;
    return sendRoutes(page, method, true);
  });
};

guard("route", Route, ["request"]);
