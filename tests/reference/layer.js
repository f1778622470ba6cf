// Finds the verbs that the methods of the `browser` layer call: every method of every object is called with each of these
// lists of arguments, and the calls are recorded. The layer refuses a list that does not fit a method, without a call.
const argumentsFor = (object) => [
  [],
  ["#a"],
  ["#a", "b"],
  ["https://a.test/"],
  ["https://a.test/", { viewport: { width: 1, height: 1 }, httpCredentials: { username: "a", password: "b" }, storageState: "a" }],
  ["#a", { name: "a.txt", buffer: "a" }],
  ["#a", "#b", {}],
  [{ "#a": "b" }],
  [{ name: "a.txt", buffer: "a" }],
  [{ username: "a", password: "b", origin: "https://a.test" }],
  [{ width: 1, height: 1 }],
  [{ path: "a" }],
  [{ url: /a/ }],
  [["geolocation"]],
  [() => true],
  [/a/, () => true],
  ["#a", () => true],
  ["request", () => true],
  ["dialog", () => true],
  ["page", () => true],
  [1, 1],
  // A locator is dragged onto a locator.
  [object],
];
const URL_HERE = "https://a.test/";
const answers = () => ({
  open: { page: "P1", url: URL_HERE },
  pages: { pages: [{ page: "P1", url: URL_HERE, title: "", opener: "P2" }] },
  watch: { next: 0 },
  frames: { value: [{ frame: "F1", name: "f", url: URL_HERE, parent: "P1" }] },
  readAll: { value: 1 },
  snapshot: { value: { text: "" } },
  fetch: { value: { answer: { url: URL_HERE, status: 200, statusText: "OK", headers: [] }, body: new Uint8Array() } },
});

/** A layer on a host that writes down what is called, and the events that the host tells. */
const makeHost = () => {
  const calls = [];
  const events = [];
  let waiting = [];
  const news = ({ since = 0, types }) => events.filter(({ seq, type }) => seq >= since && types.includes(type));
  const call = new Proxy({}, {
    get: (_, verb) => async (args) => {
      calls.push([verb, Object.keys(args)]);
      if (verb !== "events") return answers()[verb] ?? { value: null, url: URL_HERE };
      while (news(args).length === 0 && args.timeoutMs !== 0) await new Promise((resolve) => waiting.push(resolve));
      return { events: news(args), next: events.length };
    },
  });
  const push = (event) => {
    events.push({ seq: events.length, page: "P1", ...event });
    for (const wake of waiting.splice(0)) wake();
  };
  const fail = (error, code, hint) => Object.assign(error, { code, hint });
  return { browser: layer(call, "browser", fail), calls, push };
};

const opened = ({ browser }) => browser.open(URL_HERE);
const told = (name, event) => async (host) => {
  const page = await opened(host);
  const coming = page.waitForEvent(name);
  await settled();
  host.push({ type: name, url: URL_HERE, requestId: "R1", ...event });
  return coming;
};
const settled = () => new Promise((resolve) => setTimeout(resolve, 1));

/** By their names in the help: how a script gets each object. */
const OBJECTS = {
  browser: async (host) => (await opened(host), host.browser),
  "browser.request": async (host) => (await opened(host), host.browser.request),
  page: opened,
  "page.request": async (host) => (await opened(host)).request,
  "page.keyboard": async (host) => (await opened(host)).keyboard,
  "page.mouse": async (host) => (await opened(host)).mouse,
  locator: async (host) => (await opened(host)).locator("#a"),
  frame: async (host) => (await (await opened(host)).frames())[0],
  frameLocator: async (host) => (await opened(host)).frameLocator("#a"),
  dialog: async (host) => {
    const page = await opened(host);
    const coming = new Promise((resolve) => page.once("dialog", resolve));
    await settled();
    host.push({ type: "dialog", kind: "alert", message: "" });
    return coming;
  },
  consoleMessage: told("console", { level: "log", text: "" }),
  request: told("request", { method: "GET" }),
  response: told("response", { status: 200 }),
  route: async (host) => {
    const page = await opened(host);
    const coming = new Promise((resolve) => page.route("**", resolve));
    await settled();
    host.push({ type: "route", route: "T1", url: URL_HERE, method: "GET", headers: {} });
    return coming;
  },
  apiRequestContext: async (host) => (await opened(host)).request,
  apiResponse: async (host) => (await opened(host)).request.get(URL_HERE),
  download: told("download", { download: "D1", suggestedFilename: "a" }),
  selectPopup: told("select", { id: "S1", multiple: true, options: [] }),
  fileChooser: told("filechooser", { chooser: "C1", multiple: true }),
};
const NO_METHODS = ["constructor", "toString", "toJSON"];

/** The names of an object's members, and which of them are methods. */
const membersOf = (object) => {
  const members = new Map();
  for (let at = object; at !== null && at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at))) {
      if (!NO_METHODS.includes(name)) members.set(name, members.get(name) || typeof value === "function");
    }
  }
  return members;
};

/** What a method calls. */
const callsOf = async (make, name) => {
  const host = makeHost();
  const object = await make(host);
  await settled();
  const before = host.calls.length;
  for (const list of argumentsFor(object)) {
    try {
      Promise.resolve(object[name](...list)).catch(() => {});
    } catch {
      // Refused: this list of arguments does not fit the method.
    }
  }
  await settled();
  const listens = host.calls.slice(before).some(([verb]) => verb === "watch");
  if (listens) {
    // Deliver the event that it listens for.
    host.push({ type: "framenavigated", frame: "P1", url: URL_HERE });
    await settled();
  }
  // With earlier listeners, events are read in addition to the verb that is called.
  return host.calls.slice(before).filter(([verb]) => listens || verb !== "events");
};

const verbs = {};
const fields = {};
for (const [label, make] of Object.entries(OBJECTS)) {
  const members = membersOf(await make(makeHost()));
  verbs[label] = Object.fromEntries([...members.keys()].map((name) => [name, []]));
  const methods = [...members].filter(([, isMethod]) => isMethod).map(([name]) => name);
  await Promise.all(methods.map(async (name) => {
    const calls = await callsOf(make, name);
    verbs[label][name] = [...new Set(calls.map(([verb]) => verb))];
    for (const [verb, keys] of calls) fields[verb] = [...new Set([...(fields[verb] ?? []), ...keys])];
  }));
}

/** The members that a line of help is about: the one that it begins with, and those that it shows which have no line. */
const shownIn = (label, line, withLines) => {
  const [, first, second] = /^([\w$]+)(?:\.([\w$]+))?/.exec(line) ?? [];
  const object = second === undefined ? label : `${label}.${first}`;
  const own = second ?? first;
  if (verbs[object]?.[own] === undefined) return [];
  const before = second === undefined ? "(?<![\\w$.])" : "(?<![\\w$])";
  const isCalled = (name) => new RegExp(`${before}${name.replace(/\W/g, "\\$&")}\\(`).test(line);
  const isShown = (name) => name === own || (!withLines.includes(name) && isCalled(name));
  return Object.keys(verbs[object]).filter(isShown).map((name) => verbs[object][name]);
};

const { browser } = makeHost();
const labels = ["browser", ...[...browser.help().split("\n").at(-1).matchAll(/"(\w+)"/g)].map(([, label]) => label)];
const lines = labels.flatMap((label) => {
  const texts = browser.help(label).split("\n").map((text) => text.slice(label.length + 1));
  const withLines = texts.map((text) => /^[\w$]*/.exec(text)[0]);
  return texts.map((text) => {
    const shown = shownIn(label, text, withLines);
    return { text: `${label}.${text}`, members: shown.length, verbs: [...new Set(shown.flat())] };
  });
});
return { lines, fields };
