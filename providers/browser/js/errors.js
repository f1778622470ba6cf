// Errors as scripts see them: the host's own error object, with the method's name before its message. Knows no verb and
// no class of the layer.

/** Defines a non-enumerable property. */
const hide = (object, key, value) =>
  Object.defineProperty(object, key, { value, writable: true, enumerable: false, configurable: true });

const OUTER_VARIABLE =
  "The function runs in the page and sees no variable of the script: pass values as the argument after the function.";

/** Puts the method's name before the message of a host error. Returns the same object. */
const explain = (method, error) => {
  if (!(error instanceof Error)) return error;
  const { name, message, stack } = error;
  // An element that was not found in time has an error code of its own.
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

/** Adds a code and a hint to an error of the layer: a function of the sandbox, set before any method is called. */
let fail;

/** An error of the layer, in the form of the host's errors. */
const failure = (method, message, code, hint) => {
  const error = new Error(message === "" ? method : `${method}: ${message}`);
  if (code === "CALL_TIMEOUT") hide(error, "name", "TimeoutError");
  return fail(placeAt(error, error), code, hint);
};

const WHOLE_URL = "Give the whole url, as https://example.test/path.";
const TAKES = "browser.help(name) shows what a method takes.";

/** An error for a wrong argument. The message includes what to write instead. */
const wrongArgument = (method, message, hint = undefined) =>
  failure(method, hint === undefined ? message : `${message}. ${hint}`, "INVALID_ARGUMENT", hint ?? TAKES);

/** An error for a feature of Playwright that this subset lacks, with what to use instead. */
const unsupported = (method, instead) => {
  const hint = `browser.help("${/^\w+/.exec(method)[0]}") shows what there is.`;
  return failure(`${method} is not supported; ${instead}`, "", "UNSUPPORTED_OPERATION", hint);
};

/** The error of a wait whose page was closed. */
const closedError = (method) =>
  failure(
    method,
    "Target page, context or browser has been closed",
    "CDP_TARGET_CLOSED",
    "Open another page with browser.open(url), or see browser.pages().",
  );

/** The error of a timeout in the layer itself. */
const lateError = (method, ms, what) =>
  failure(
    method,
    `Timeout ${ms}ms exceeded while waiting for ${what}`,
    "CALL_TIMEOUT",
    "Begin to wait before the action that causes it, or give a larger timeout.",
  );

/** The frames of the script in an error's stack, one per line, with native frames between them. */
const framesOf = (error) => {
  const frames = String(error.stack).split("\n").filter((line) => /^\s+at /.test(line) && !line.includes("(codemode:"));
  return frames.every((line) => line.endsWith("(native)")) ? "" : frames.join("\n");
};

/** Gives an error the stack of `place`, an error that was created where the script made its call. */
const placeAt = (error, place) => {
  if (error instanceof Error) hide(error, "stack", `${error.name}: ${error.message}\n${framesOf(place)}`);
  return error;
};

/**
 * Prepares an error to leave the layer: removes the layer's frames, and if none of the script's remain, uses those
 * of the call.
 */
const stripLayerFrames = (error, place) => {
  if (!(error instanceof Error)) return error;
  const isOurs = String(error.stack).includes("(codemode:");
  if (framesOf(error) === "" && place !== undefined) return placeAt(error, place);
  return isOurs ? placeAt(error, error) : error;
};
