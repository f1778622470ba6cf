// Requests of scripts, which the browser sends with the context's cookies: Playwright's `page.request`.

const FETCH_OPTIONS = [
  "method", "headers", "data", "form", "multipart", "params", "failOnStatusCode", "maxRedirects", "timeout",
];

class APIRequest {
  #session;
  #page;

  /** Relative URLs are resolved against the URL of `page`; without one, against that of the last used page. */
  constructor(session, page) {
    this.#session = session;
    this.#page = page;
  }

  async get(url, options) {
    return this.#send("get", url, { ...options, method: "GET" });
  }

  async head(url, options) {
    return this.#send("head", url, { ...options, method: "HEAD" });
  }

  async post(url, options) {
    return this.#send("post", url, { ...options, method: "POST" });
  }

  async put(url, options) {
    return this.#send("put", url, { ...options, method: "PUT" });
  }

  async patch(url, options) {
    return this.#send("patch", url, { ...options, method: "PATCH" });
  }

  async delete(url, options) {
    return this.#send("delete", url, { ...options, method: "DELETE" });
  }

  /** `target` is a URL, or a request that a page made. */
  async fetch(target, options) {
    if (!(target instanceof Request)) return this.#send("fetch", target, options ?? {});
    const { cookie, ...headers } = target.headers();
    const data = target.postDataBuffer();
    const as = { method: target.method(), headers, ...(data === null ? {} : { data }) };
    return this.#send("fetch", target.url(), { ...as, ...options });
  }

  async storageState(options) {
    return this.#session.browser.storageState(options);
  }

  async dispose() {}

  toJSON() {
    return "request";
  }

  async #send(name, target, options) {
    const method = `apiRequestContext.${name}`;
    const wrong = Object.keys(options).find((key) => !FETCH_OPTIONS.includes(key));
    if (wrong !== undefined) {
      throw wrongArgument(method, `there is no option ${wrong}`, `There are: ${FETCH_OPTIONS.join(", ")}.`);
    }
    const page = this.#page ?? (await anyPage(this.#session, method));
    const headers = lowered(options.headers);
    const body = bodyOf(method, options, headers);
    const args = pick({ page: page.id, url: requestUrl(method, page, target, options.params) }, options, ["method", "maxRedirects"]);
    args.headers = Object.fromEntries(Object.entries(headers).map(([key, value]) => [key, String(value)]));
    if (body !== undefined) args.body = body;
    const take = ({ value }) => new APIResponse(value.answer, value.body);
    const response = await this.#session.send(method, "fetch", timed(args, page, options), take, page);
    if (options.failOnStatusCode && !response.ok()) {
      const hint = "Leave failOnStatusCode out, and look at response.status() and await response.text().";
      throw failure(method, `${response.status()} ${response.statusText()}`, "CALL_FAILED", hint);
    }
    return response;
  }
}

/** The server's response to a request of a script. Its body has already been received. */
class APIResponse {
  #answer;
  #body;

  constructor(answer, body) {
    this.#answer = answer;
    this.#body = asBuffer(body);
  }

  url() {
    return this.#answer.url;
  }

  status() {
    return this.#answer.status;
  }

  statusText() {
    return this.#answer.statusText;
  }

  ok() {
    return this.status() >= 200 && this.status() < 300;
  }

  headers() {
    const headers = {};
    for (const [name, value] of this.#answer.headers) {
      const key = name.toLowerCase();
      headers[key] = key in headers ? `${headers[key]}, ${value}` : value;
    }
    return headers;
  }

  headersArray() {
    return this.#answer.headers.map(([name, value]) => ({ name, value }));
  }

  async body() {
    if (this.#body === null) {
      throw failure("apiResponse.body", "Response has been disposed", "INVALID_ARGUMENT", "Read it before dispose().");
    }
    return this.#body;
  }

  async text() {
    return new TextDecoder().decode(await this.body());
  }

  async json() {
    const text = await this.text();
    try {
      return JSON.parse(text);
    } catch (error) {
      const begins = `the answer is no JSON; it is ${this.headers()["content-type"] ?? "of no type"} and begins ${quoted(text.slice(0, 80))}`;
      throw failure("apiResponse.json", begins, "CALL_FAILED", "Look at response.status() and await response.text().");
    }
  }

  async dispose() {
    this.#body = null;
  }

  toJSON() {
    return { url: this.url(), status: this.status(), statusText: this.statusText() };
  }
}

/** The URL of a request; relative ones are resolved against the page's. */
const requestUrl = (method, page, target, params) => {
  const base = stateOf(page).url;
  let url;
  try {
    url = /^https?:/.test(base) ? new URL(String(target), base) : new URL(String(target));
  } catch {
    throw wrongArgument(method, `${quoted(target)} is no url`, WHOLE_URL);
  }
  if (typeof params === "string") url.search = url.search === "" ? params : `${url.search}&${params.replace(/^[?&]/, "")}`;
  else for (const [key, value] of pairsOf(params)) url.searchParams.append(key, value);
  return url.href;
};

const pairsOf = (fields) => {
  const pairs = fields instanceof URLSearchParams ? [...fields] : Object.entries(fields ?? {});
  return pairs.filter(([, value]) => value !== undefined).map(([key, value]) => [key, String(value)]);
};

/** The body that the options specify; adds its type to the headers, unless they have one. */
const bodyOf = (method, { data, form, multipart }, headers) => {
  if ([data, form, multipart].filter((given) => given !== undefined).length > 1) {
    throw wrongArgument(method, "only one of data, form and multipart can be given");
  }
  const typed = (type, body) => {
    headers["content-type"] ??= type;
    return body;
  };
  if (form !== undefined) return typed("application/x-www-form-urlencoded", new URLSearchParams(pairsOf(form)).toString());
  if (multipart !== undefined) {
    const boundary = `----codemode${Math.random().toString(36).slice(2)}${Math.random().toString(36).slice(2)}`;
    return typed(`multipart/form-data; boundary=${boundary}`, partsOf(method, multipart, boundary));
  }
  if (data === undefined) return undefined;
  if (data instanceof ArrayBuffer) data = new Uint8Array(data);
  if (ArrayBuffer.isView(data)) return typed("application/octet-stream", data);
  if (typeof data !== "string") return typed("application/json", JSON.stringify(data));
  if (/^application\/json\b/.test(headers["content-type"] ?? "") && !isJson(data)) return JSON.stringify(data);
  return typed("application/octet-stream", data);
};

const isJson = (text) => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

/** A multipart form as bytes. */
const partsOf = (method, fields, boundary) => {
  const encoder = new TextEncoder();
  const escape = (name) => String(name).replace(/["\r\n]/g, (letter) => encodeURIComponent(letter));
  const pieces = [];
  for (const [key, value] of Object.entries(fields)) {
    const isFile = typeof value === "object" && value !== null;
    let head = `--${boundary}\r\nContent-Disposition: form-data; name="${escape(key)}"`;
    let content = isFile ? undefined : encoder.encode(String(value));
    if (isFile) {
      const [file] = filesOf(method, value);
      head += `; filename="${escape(file.name)}"\r\nContent-Type: ${String(file.mimeType || "application/octet-stream").replace(/[\r\n]/g, "")}`;
      content = file.buffer;
    }
    pieces.push(encoder.encode(`${head}\r\n\r\n`), content, encoder.encode("\r\n"));
  }
  pieces.push(encoder.encode(`--${boundary}--\r\n`));
  const body = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    body.set(piece, at);
    at += piece.length;
  }
  return body;
};

guard("apiRequestContext", APIRequest, []);
guard("apiResponse", APIResponse, ["status", "statusText", "ok", "headersArray"]);
