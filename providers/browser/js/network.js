// Requests and responses for listeners and waits: Playwright's objects, built from the host's events.

/** The number of a page's requests that are remembered; the oldest are evicted. */
const REQUESTS_MAX = 1_000;

/** Accessor for the later facts of a request: `{ failure, response, from, to, headers }`. */
let requestState;

class Request {
  #page;
  #event;
  #state = { failure: null, response: null, from: null, to: null, headers: null };

  static {
    requestState = (request) => request.#state;
  }

  constructor(page, event) {
    this.#page = page;
    this.#event = event;
  }

  url() {
    return this.#event.url;
  }

  method() {
    return this.#event.method ?? "GET";
  }

  resourceType() {
    return (this.#event.resourceType ?? "other").toLowerCase();
  }

  isNavigationRequest() {
    return this.resourceType() === "document";
  }

  headers() {
    return lowered(this.#state.headers ?? this.#event.headers);
  }

  async allHeaders() {
    return this.headers();
  }

  async headerValue(name) {
    return this.headers()[name.toLowerCase()] ?? null;
  }

  postData() {
    const { postData } = this.#event;
    return postData === undefined || postData === null || typeof postData === "string"
      ? (postData ?? null)
      : new TextDecoder().decode(postData);
  }

  postDataJSON() {
    const text = this.postData();
    if (text === null) return null;
    if (!/x-www-form-urlencoded/.test(this.headers()["content-type"] ?? "")) return JSON.parse(text);
    return Object.fromEntries(new URLSearchParams(text));
  }

  postDataBuffer() {
    const text = this.postData();
    return text === null ? null : new TextEncoder().encode(text);
  }

  /** Null, or `{ errorText }`. */
  failure() {
    return this.#state.failure === null ? null : { errorText: this.#state.failure };
  }

  async response() {
    const state = this.#state;
    const isOver = () => state.response !== null || state.failure !== null;
    if (isOver()) return state.response;
    const coming = waitForPageEvent(this.#page, "request.response", "response", (response) => response.request() === this);
    // It may have arrived before the listener was added.
    await Promise.race([coming.catch(() => undefined), recall(this.#page, this.#event)]);
    return isOver() ? state.response : coming;
  }

  redirectedFrom() {
    return this.#state.from;
  }

  redirectedTo() {
    return this.#state.to;
  }

  frame() {
    return this.#page.mainFrame();
  }

  toJSON() {
    return { method: this.method(), url: this.url(), resourceType: this.resourceType() };
  }
}

class Response {
  #page;
  #event;
  #request;

  constructor(page, event, request) {
    this.#page = page;
    this.#event = event;
    this.#request = request;
  }

  url() {
    return this.#event.url;
  }

  status() {
    return this.#event.status;
  }

  statusText() {
    return this.#event.statusText ?? "";
  }

  ok() {
    const status = this.status();
    return status === 0 || (status >= 200 && status < 300);
  }

  headers() {
    return lowered(this.#event.headers);
  }

  async allHeaders() {
    return this.headers();
  }

  async headerValue(name) {
    return this.headers()[name.toLowerCase()] ?? null;
  }

  request() {
    return this.#request;
  }

  frame() {
    return this.#page.mainFrame();
  }

  fromServiceWorker() {
    return Boolean(this.#event.fromServiceWorker);
  }

  body() {
    return this.#content("body", asBuffer);
  }

  text() {
    return this.#content("text", (bytes) => new TextDecoder().decode(bytes));
  }

  json() {
    return this.#content("json", (bytes) => JSON.parse(new TextDecoder().decode(bytes)));
  }

  /** Null when the response is complete, or the error. */
  finished() {
    return this.#content("finished", () => null).catch((error) => error);
  }

  toJSON() {
    return { url: this.url(), status: this.status(), statusText: this.statusText() };
  }

  #content(name, make) {
    const page = this.#page;
    const args = { page: page.id, requestId: this.#event.requestId };
    const take = (answer) => make(answer.value);
    return stateOf(page).session.send(`response.${name}`, "responseBody", args, take, page);
  }
}

const lowered = (headers) => {
  const lower = {};
  for (const [name, value] of Object.entries(headers ?? {})) lower[name.toLowerCase()] = value;
  return lower;
};

const remember = (page, id, request) => {
  const { requests } = stateOf(page);
  requests.delete(id);
  requests.set(id, request);
  if (requests.size > REQUESTS_MAX) requests.delete(requests.keys().next().value);
  return request;
};

/** The request of an event that begins one. A redirect reuses the id with another URL. */
const requestBegun = (page, event) => {
  const before = stateOf(page).requests.get(event.requestId);
  const isKnown = before !== undefined && requestState(before).response === null;
  if (isKnown && before.url() === event.url && before.method() === event.method) return before;
  const request = new Request(page, event);
  if (before !== undefined) {
    requestState(request).from = before;
    requestState(before).to = request;
  }
  return remember(page, event.requestId, request);
};

/** The request of a later event. Its beginning may have preceded the first listener. */
const requestOf = (page, event) =>
  stateOf(page).requests.get(event.requestId) ?? remember(page, event.requestId, new Request(page, event));

/**
 * Reads the events of a request again that preceded the first listener on its page; later ones are delivered to
 * listeners.
 */
const recall = async (page, { requestId, seq }) => {
  if (seq === undefined) return;
  await stateOf(page).session.events.gate;
  const args = { page: page.id, types: ["response", "requestfailed"], since: seq, timeoutMs: 0 };
  const { events } = await stateOf(page).session.call.events(args);
  for (const event of events) {
    if (event.requestId !== requestId) continue;
    if (event.type === "response") responseBegun(page, event);
    else requestState(requestOf(page, event)).failure = event.errorText ?? "failed";
  }
};

const responseBegun = (page, event) => {
  const request = requestOf(page, event);
  const response = new Response(page, event, request);
  requestState(request).response = response;
  return response;
};

/** Creates the response of a navigation from a verb's answer. */
const navigationResponse = (page) => (answer) => {
  const value = answer?.value;
  if (value === undefined || value === null) return null;
  const known = stateOf(page).requests.get(value.requestId);
  const request = known ?? new Request(page, { ...value, headers: {}, resourceType: "document" });
  const response = requestState(request).response ?? new Response(page, value, request);
  requestState(request).response = response;
  return response;
};

guard("request", Request, [
  "method", "resourceType", "isNavigationRequest", "postData", "postDataJSON", "postDataBuffer", "failure", "redirectedFrom",
  "redirectedTo", "frame",
]);
guard("response", Response, ["status", "statusText", "ok", "request", "frame", "fromServiceWorker"]);
