// What an object of the layer answers when a script asks for a method that it does not have.
// A proxy ends the chain of prototypes: what exists never meets it and costs nothing.

/** Names that the language and its tools ask any object for. */
const NEVER_METHODS = new Set([
  "then", "toJSON", "constructor", "name", "message", "stack", "cause", "code", "length", "nodeType", "inspect",
]);

/** How many letters must change to make one word of another. */
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

/** The name of a list that is nearest to another one, if one is near. */
const nearest = (name, names) => {
  const wanted = name.toLowerCase();
  let [best, least] = [undefined, Math.max(1, Math.floor(name.length / 3)) + 1];
  for (const candidate of names) {
    const steps = distance(wanted, candidate.toLowerCase());
    if (steps < least) [best, least] = [candidate, steps];
  }
  return best;
};

/** The methods of an object of the layer, those of its classes' bases included. */
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

/** Stands for a member that does not exist: calling it, or a member of it, throws. */
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

// Methods are called by a key of their own: by `apply` they would be seen in stacks as frames of the language.

/** A method whose promise rejects where its call would have thrown. */
const rejecting = (name, key) =>
  ({
    [name](...args) {
      try {
        return this[key](...args);
      } catch (error) {
        return Promise.reject(leaving(error));
      }
    },
  })[name];

/** A method that goes on behind its call: its errors have the place of the call, if they have none in the script. */
const placing = (name, key) =>
  ({
    [name](...args) {
      const place = new Error();
      return this[key](...args).catch((error) => {
        throw leaving(error, place);
      });
    },
  })[name];

/**
 * Lets the instances of a class, known to scripts by a label, say what they do not have. Its methods answer promises, which
 * reject for whatever is wrong, also with an argument; but those named in `atOnce` answer at once, and throw.
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

/** What answers at once on whatever has it. */
const AT_ONCE = ["toString", "toJSON", "page", "url", "headers"];
const OF_EMITTERS = ["on", "addListener", "once", "off", "removeListener", "removeAllListeners"];
const OF_TIMEOUTS = ["setDefaultTimeout", "setDefaultNavigationTimeout"];

const LIST_MEMBERS = [
  "0", "1", "2", "length", "at", "find", "findLast", "filter", "map", "forEach", "some", "every", "slice", "pop",
  "shift", Symbol.iterator,
];

/** A promise of a list that Playwright returns at once: using it as a list says what is missing. */
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
