// Errors for members that an object of the layer does not have. A proxy ends the prototype chain: existing members
// never reach it and cost nothing.

/** Names that the language and its tools look up on any object. */
const NEVER_METHODS = new Set([
  "then", "toJSON", "constructor", "name", "message", "stack", "cause", "code", "length", "nodeType", "inspect",
]);

/** The edit distance of two words. */
const distance = (a, b) => {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
    }
    row = next;
  }
  return row[b.length];
};

/** The nearest name in a list, if one is near enough. */
const nearest = (name, names) => {
  const wanted = name.toLowerCase();
  let [best, least] = [undefined, Math.max(1, Math.floor(name.length / 3)) + 1];
  for (const candidate of names) {
    const steps = distance(wanted, candidate.toLowerCase());
    if (steps < least) [best, least] = [candidate, steps];
  }
  return best;
};

/** The methods of an object of the layer, including inherited ones. */
const methodsOf = (object) => {
  const names = new Set();
  for (let at = object; at !== null && at !== PROTOTYPE_END; at = Object.getPrototypeOf(at)) {
    for (const name of Object.getOwnPropertyNames(at)) {
      if (!NEVER_METHODS.has(name) && name !== "toString") names.add(name);
    }
  }
  return [...names];
};

const missingError = (receiver, key) => {
  const label = receiver.constructor.label ?? "browser";
  const listed = INSTEAD[label]?.[key] ?? INSTEAD.any[key];
  if (listed !== undefined) return unsupported(`${label}.${key}`, listed);
  const near = nearest(key, methodsOf(receiver));
  const instead = near === undefined ? `see browser.help("${label}")` : `use ${label}.${near}`;
  return unsupported(`${label}.${key}`, instead);
};

/** Stands for a missing member: calling it, or accessing a member of it, throws. */
const missing = (receiver, key) =>
  new Proxy(function () {}, {
    apply() {
      throw missingError(receiver, key);
    },
    get(_, member) {
      if (typeof member === "symbol" || NEVER_METHODS.has(member)) return undefined;
      throw missingError(receiver, key);
    },
  });

const PROTOTYPE_END = new Proxy({}, {
  get(target, key, receiver) {
    if (typeof key === "symbol" || key in target) return target[key];
    return NEVER_METHODS.has(key) ? undefined : missing(receiver, key);
  },
});

const AsyncFunction = (async () => {}).constructor;

// Methods are called through a symbol key: with `apply`, stacks would show native frames.

/** Wraps a method so that it rejects where it would have thrown. */
const rejecting = (name, key) =>
  ({
    [name](...args) {
      try {
        return this[key](...args);
      } catch (error) {
        return Promise.reject(stripLayerFrames(error));
      }
    },
  })[name];

/** Wraps an async method so that errors without frames of the script get the place of the call. */
const placing = (name, key) =>
  ({
    [name](...args) {
      const place = new Error();
      return this[key](...args).catch((error) => {
        throw stripLayerFrames(error, place);
      });
    },
  })[name];

/**
 * Lets the instances of a class report missing members; `label` is the class's name for scripts. Its methods return
 * promises, which reject for any error, also of an argument; those in `atOnce` are synchronous, and throw.
 */
const guard = (label, type, atOnce) => {
  type.label = label;
  for (const name of Object.getOwnPropertyNames(type.prototype)) {
    const method = Object.getOwnPropertyDescriptor(type.prototype, name).value;
    if (typeof method !== "function" || name === "constructor" || AT_ONCE.includes(name) || atOnce.includes(name)) continue;
    const key = Symbol(name);
    hide(type.prototype, key, method);
    hide(type.prototype, name, (method instanceof AsyncFunction ? placing : rejecting)(name, key));
  }
  if (Object.getPrototypeOf(type.prototype) === Object.prototype) {
    Object.setPrototypeOf(type.prototype, PROTOTYPE_END);
  }
};

/** Methods that are synchronous in every class. */
const AT_ONCE = ["toString", "toJSON", "page", "url", "headers"];
const OF_EMITTERS = ["on", "addListener", "once", "off", "removeListener", "removeAllListeners"];
const OF_TIMEOUTS = ["setDefaultTimeout", "setDefaultNavigationTimeout"];

const LIST_MEMBERS = [
  "0", "1", "2", "length", "at", "find", "findLast", "filter", "map", "forEach", "some", "every", "slice", "pop",
  "shift", Symbol.iterator,
];

/** A promise of a list that Playwright returns synchronously: using it as a list throws an explanation. */
const promisedList = (method, promise) => {
  for (const key of LIST_MEMBERS) {
    Object.defineProperty(promise, key, {
      get() {
        throw wrongArgument(method, "returns a promise here", `Write (await ${method}()) instead of ${method}().`);
      },
    });
  }
  return promise;
};
