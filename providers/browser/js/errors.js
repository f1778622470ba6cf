// Errors as scripts see them: the host's own error object, with the method's name before its message.
// Knows no verb and no class of the layer.

/** Defines a property that enumeration does not show. */
const hide = (object, key, value) =>
  Object.defineProperty(object, key, { value, writable: true, enumerable: false, configurable: true });

const OUTER_VARIABLE =
  "The function runs in the page and sees no variable of the script: pass values as the argument after the function.";

/** Puts the method's name before the message of an error of the host. The same object is thrown on. */
const explain = (method, error) => {
  if (!(error instanceof Error)) return error;
  const { name, message, stack } = error;
  // That an element was not found in time has a code of its own.
  const isTimeout = error.code === "CALL_TIMEOUT" || /^Timeout \d+ms exceeded/.test(message);
  const [newName, newMessage] = [isTimeout ? "TimeoutError" : name, `${method}: ${message}`];
  hide(error, "message", newMessage);
  if (isTimeout) hide(error, "name", newName);
  const head = `${name}: ${message}`;
  if (typeof stack === "string" && stack.startsWith(head)) {
    hide(error, "stack", `${newName}: ${newMessage}${stack.slice(head.length)}`);
  }
  if (error.code === "JS_EXCEPTION" && / is not defined/.test(message) && !/argument/.test(error.hint ?? "")) {
    error.hint = OUTER_VARIABLE;
  }
  return error;
};

/** Gives an error of the layer a code and a hint: the sandbox's own function, there before any method is called. */
let fail;

/** An error of the layer, in the form of the host's. */
const failure = (method, message, code, hint) => {
  const error = new Error(message === "" ? method : `${method}: ${message}`);
  if (code === "CALL_TIMEOUT") hide(error, "name", "TimeoutError");
  return fail(placeAt(error, error), code, hint);
};

const WHOLE_URL = "Give the whole url, as https://example.test/path.";
const TAKES = "browser.help(name) shows what a method takes.";

/** An argument that is not what the method takes. What to write instead is part of the message. */
const wrongArgument = (method, message, hint = undefined) =>
  failure(method, hint === undefined ? message : `${message}. ${hint}`, "INVALID_ARGUMENT", hint ?? TAKES);

/** Something that Playwright has and this subset has not, with what to use instead. */
const unsupported = (method, instead) => {
  const hint = `browser.help("${/^\w+/.exec(method)[0]}") shows what there is.`;
  return failure(`${method} is not supported; ${instead}`, "", "UNSUPPORTED_OPERATION", hint);
};

/** The error of a page that was closed while something was waited for. */
const closedError = (method) =>
  failure(
    method,
    "Target page, context or browser has been closed",
    "CDP_TARGET_CLOSED",
    "Open another page with browser.open(url), or see browser.pages().",
  );

/** The error of a wait that the layer itself makes. */
const lateError = (method, ms, what) =>
  failure(
    method,
    `Timeout ${ms}ms exceeded while waiting for ${what}`,
    "CALL_TIMEOUT",
    "Begin to wait before the action that causes it, or give a larger timeout.",
  );

/** The frames of the script in an error's stack, one in each line, with those of the language between them. */
const framesOf = (error) => {
  const frames = String(error.stack).split("\n").filter((line) => /^\s+at /.test(line) && !line.includes("(codemode:"));
  return frames.every((line) => line.endsWith("(native)")) ? "" : frames.join("\n");
};

/** Gives an error the stack of another one, which was made where the script made its call. */
const placeAt = (error, place) => {
  if (error instanceof Error) hide(error, "stack", `${error.name}: ${error.message}\n${framesOf(place)}`);
  return error;
};

/** An error that leaves the layer: without the layer's frames, and if it has none of the script, with those of the call. */
const leaving = (error, place) => {
  if (!(error instanceof Error)) return error;
  const isOurs = String(error.stack).includes("(codemode:");
  if (framesOf(error) === "" && place !== undefined) return placeAt(error, place);
  return isOurs ? placeAt(error, error) : error;
};
