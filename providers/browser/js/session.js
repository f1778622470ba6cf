// One execution's view of the browser: its pages by id, and the path of every call to the host.

class Session {
  constructor(call) {
    this.call = call;
    this.pages = new Map();
    this.events = new Events(this);
    /** Listeners of the context, and the kinds that the host watches for them. */
    this.emitter = new Emitter();
    this.watched = new Set();
    /** Settings of the context for new pages and calls, and the page that was used last. */
    this.initScripts = [];
    this.credentials = undefined;
    this.geolocation = undefined;
    this.current = undefined;
    this.timeout = undefined;
    this.navigationTimeout = undefined;
  }

  /** The page of an id; the same object each time. */
  page(id, url) {
    let page = this.pages.get(id);
    if (page === undefined) {
      page = new Page(this, id);
      this.pages.set(id, page);
    }
    if (url !== undefined) stateOf(page).url = url;
    return page;
  }

  /**
   * Calls the host. The call is made synchronously, so that its error has the script's line in its stack; it is
   * deferred only while the host is being told what to watch.
   */
  send(method, verb, args, take, page) {
    const { events } = this;
    const made = events.gate === null ? this.call[verb](args) : this.sendAfter(events.gate, verb, args);
    return made.then(
      (answer) => {
        if (page !== undefined && answer !== undefined && answer !== null) note(page, answer);
        // Listeners receive the events that the call caused before its promise resolves.
        return events.polls ? events.flush().then(() => take(answer)) : take(answer);
      },
      (error) => {
        if (page !== undefined && error?.code === "CDP_TARGET_CLOSED") markClosed(page);
        explain(method, error);
        if (!events.polls) throw error;
        return events.flush().then(() => {
          throw error;
        });
      },
    );
  }

  sendAfter(gate, verb, args) {
    const place = new Error();
    return gate.then(() => this.call[verb](args)).catch((error) => {
      throw placeAt(error, place);
    });
  }
}

const takeValue = (answer) => answer?.value;
const takeNothing = () => undefined;

/** Records the state of the page that an answer reports. */
const note = (page, answer) => {
  const state = stateOf(page);
  if (typeof answer.url === "string") state.url = answer.url;
  if (answer.viewport) state.viewport = answer.viewport;
};

const markClosed = (page) => {
  const state = stateOf(page);
  if (state.isClosed) return;
  state.isClosed = true;
  state.session.events.ended(page, "close");
};

/** Copies the named options that are defined. */
const pick = (args, options, names) => {
  if (options === undefined || options === null) return args;
  for (const name of names) {
    const value = options[name];
    if (value !== undefined) args[name] = value;
  }
  return args;
};

/** The timeout of a method: its own option, its page's default, or the context's. 0 means as long as the execution. */
const timeoutOf = (page, options, isNavigation = false) => {
  const given = options?.timeout;
  if (given !== undefined) return given;
  const state = stateOf(page);
  const { session } = state;
  const navigation = isNavigation ? (state.navigationTimeout ?? session.navigationTimeout) : undefined;
  return navigation ?? state.timeout ?? session.timeout;
};

/** Adds the timeout to a call, unless the host's default applies. */
const timed = (args, page, options, isNavigation) => {
  const timeout = timeoutOf(page, options, isNavigation);
  if (timeout !== undefined) args.timeoutMs = timeout;
  return args;
};

/** Bytes that also support `toString("base64")`, as a Buffer does. */
const asBuffer = (bytes) => {
  if (!(bytes instanceof Uint8Array)) return bytes;
  Object.defineProperty(bytes, "toString", {
    value(encoding = "utf8") {
      if (encoding === "base64") return bytes.toBase64();
      if (encoding === "hex") return bytes.toHex();
      return new TextDecoder().decode(bytes);
    },
  });
  return bytes;
};

/** A function or an expression for the page, in the host's form. */
const pageFunction = (method, fn) => {
  if (typeof fn === "function") return { function: functionSource(method, fn), isFunction: true };
  if (typeof fn !== "string") {
    throw wrongArgument(method, `the first argument must be a function or a string, and this is ${typeName(fn)}`);
  }
  return { function: fn, isFunction: isFunctionText(fn) };
};

const ARROW_TEXT = /^\s*(async\s*)?(\([^()]*\)|[\w$]+)\s*=>/;
const FUNCTION_TEXT = /^\s*(async\s+)?function\b[^]*\}\s*$/;

/** Whether a text is a function and nothing else. */
const isFunctionText = (text) => ARROW_TEXT.test(text) || FUNCTION_TEXT.test(text);

/** A function's source as an expression, which the source of a method is not. */
const functionSource = (method, fn) => {
  const source = String(fn);
  if (/\{\s*\[native code\]\s*\}\s*$/.test(source)) {
    throw wrongArgument(
      method,
      "a bound or built-in function has no source that the page could run",
      "Pass a function that is written out, as () => document.title.",
    );
  }
  if (/^(async\s*)?(function\b|\(|[\w$]+\s*=>)/.test(source)) return source;
  const shorthand = /^(async\s+)?(\*\s*)?[\w$]+\s*\(/.exec(source);
  if (shorthand === null) return `(...args) => ({ ${source} })[${JSON.stringify(fn.name)}](...args)`;
  const [, isAsync = "", star = ""] = shorthand;
  return `${isAsync}function${star.trim()} ${source.slice(isAsync.length + star.length)}`;
};

/**
 * Adds the argument of a function for the page. Locators in it are passed separately, and become elements in the
 * page.
 */
const withArgument = (method, args, arg) => {
  if (arg === undefined) return args;
  const handles = [];
  args.arg = withoutHandles(method, arg, [], [], handles);
  if (handles.length > 0) args.handles = handles;
  return args;
};

/** The depth to which locators are searched in an argument. */
const HANDLE_DEPTH_MAX = 100;

/**
 * Replaces each locator in an argument by null, and collects it in `handles`. Returns the same value if there are
 * none.
 */
const withoutHandles = (method, value, at, around, handles) => {
  if (typeof value !== "object" || value === null || around.includes(value) || at.length > HANDLE_DEPTH_MAX) return value;
  if (value instanceof Locator) {
    handles.push({ at, target: { steps: stepsOf(value) } });
    return null;
  }
  if (value instanceof Finder) {
    throw wrongArgument(method, "a page or frame cannot be passed to the page", "Evaluate in it: frame.evaluate(fn, arg).");
  }
  const isList = Array.isArray(value);
  if (!isList && Object.getPrototypeOf(value) !== Object.prototype) return value;
  let copy = value;
  const look = (key) => {
    const inner = value[key];
    if (typeof inner !== "object" || inner === null) return;
    const left = withoutHandles(method, inner, [...at, String(key)], [...around, value], handles);
    if (left === inner) return;
    if (copy === value) copy = isList ? [...value] : { ...value };
    copy[key] = left;
  };
  if (isList) for (let index = 0; index < value.length; index++) look(index);
  else Object.keys(value).forEach(look);
  return copy;
};
