// The operations on elements, defined once: `locator.js` offers them on locators, `scope.js` on pages and frames with a
// selector as first argument. Each is `(to, ...arguments)`, where `to` has the page, the target and the method's name.

// Where `noWaitAfter` is not listed it is accepted and ignored, as in Playwright.
const HOVER = ["position", "modifiers", "force", "trial", "scroll"];
const CLICK = [...HOVER, "noWaitAfter", "button", "clickCount", "delay", "steps"];
const CHECK = ["position", "force", "trial", "scroll"];
const DRAG = ["sourcePosition", "targetPosition", "force", "trial", "steps"];
const SHOT = ["fullPage", "type", "quality", "clip", "omitBackground", "markup", "cursor"];

/** The page, method name and target of an action. */
class Action {
  constructor(page, method, target) {
    this.page = page;
    this.method = method;
    this.target = target;
  }

  send(verb, args, options, take = takeValue) {
    const { page } = this;
    args.page = page.id;
    if (this.target !== undefined) args.target = this.target;
    timed(args, page, options);
    return stateOf(page).session.send(this.method, verb, args, take, page);
  }

  read(what, options, name) {
    return this.send("read", name === undefined ? { what } : { what, name }, options);
  }
}

/** A text to type: a string, or the name of the secret instead of its handle. */
const typed = (to, value) => {
  if (typeof value === "string") return value;
  if (typeof value === "number") return String(value);
  if (isSecret(value)) return { secret: value.secret };
  throw wrongArgument(to.method, `the value must be a string, and this is ${typeName(value)}`);
};

/** Whether a value is the handle of a secret. A forged handle names a secret as well, but gains nothing by that. */
const isSecret = (value) => typeof value === "object" && value !== null && typeof value.secret === "string";

/** A key: neither a text nor a secret. */
const keyOf = (to, value) => {
  if (!isSecret(value)) return typed(to, value);
  throw wrongArgument(to.method, "a secret is no key", "Fill the field with it: fill(selector, secret(name)).");
};

/** The options to choose in a select element, in all forms that Playwright accepts. */
const choices = (to, values) => {
  if (values === null || values === undefined) return [];
  return (Array.isArray(values) ? values : [values]).map((value) => {
    if (typeof value === "string") return { valueOrLabel: value };
    if (typeof value === "number") return { valueOrLabel: String(value) };
    const { value: own, label, index } = value ?? {};
    if (own === undefined && label === undefined && index === undefined) {
      throw wrongArgument(to.method, "an option is a string, or an object with value, label or index");
    }
    return pick({}, value, ["value", "label", "index"]);
  });
};

/** Replaces option locators in the list by the indices of their options. */
const placesOf = (values, options) =>
  Promise.all(values.map((value) =>
    value instanceof Locator ? value.evaluate((option) => ({ index: option.index }), undefined, pick({}, options, ["timeout"])) : value,
  ));

/** Files to upload. Paths are refused: the sandbox has no files. */
const filesOf = (method, files) =>
  (Array.isArray(files) ? files : [files]).map((file) => {
    if (typeof file !== "object" || file === null || typeof file.name !== "string" || file.buffer === undefined) {
      throw wrongArgument(
        method,
        "a file is { name, mimeType, buffer }; paths cannot be read",
        "Scripts have no files: give the content as buffer, a string or bytes.",
      );
    }
    const buffer = typeof file.buffer === "string" ? new TextEncoder().encode(file.buffer) : file.buffer;
    return pick({ name: file.name, buffer }, file, ["mimeType"]);
  });

/** Refuses the option `path`, which would be silently ignored. */
const refusePath = (method, options) => {
  if (options?.path === undefined) return;
  throw wrongArgument(method, "there are no files to write to", "Leave out path, and return the bytes from the script.");
};

/** The options of a screenshot. `markup: true` marks clickable and typeable elements. */
const shotOf = (options) => {
  const args = pick({}, options, SHOT);
  if (args.markup === true) args.markup = ["clickable", "typeable"];
  else if (args.markup === false) delete args.markup;
  return args;
};

const element = (op) => (to, options) => to.send("element", { op }, options);
const reading = (what) => (to, options) => to.read(what, options);
const press = (verb, field, read) => (to, value, options) =>
  to.send(verb, pick({ [field]: read(to, value) }, options, ["delay"]), options);
const checking = (checked) => (to, options) => to.send("check", pick({ checked }, options, CHECK), options);

const ELEMENT_METHODS = {
  click: (to, options) => to.send("click", pick({}, options, CLICK), options),
  dblclick: (to, options) => to.send("click", pick({ clickCount: 2 }, options, CLICK), options),
  hover: (to, options) => to.send("hover", pick({}, options, HOVER), options),
  fill: (to, value, options) => to.send("fill", pick({ value: typed(to, value) }, options, ["force"]), options),
  type: press("type", "text", typed),
  pressSequentially: press("type", "text", typed),
  press: press("press", "key", keyOf),
  clear: element("clear"),
  check: checking(true),
  uncheck: checking(false),
  setChecked: (to, checked, options) => to.send("check", pick({ checked: Boolean(checked) }, options, CHECK), options),
  selectOption: (to, values, options) => {
    const select = (values) => to.send("select", pick({ options: choices(to, values) }, options, ["force"]), options);
    const list = Array.isArray(values) ? values : [values];
    return list.some((value) => value instanceof Locator) ? placesOf(list, options).then(select) : select(values);
  },
  setInputFiles: (to, files, options) => to.send("upload", { files: filesOf(to.method, files) }, options),
  focus: element("focus"),
  blur: element("blur"),
  selectText: element("selectText"),
  scrollIntoViewIfNeeded: element("scrollIntoView"),
  dispatchEvent: (to, type, init, options) =>
    to.send("dispatchEvent", init === undefined ? { type } : { type, init }, options),
  textContent: reading("textContent"),
  innerText: reading("innerText"),
  innerHTML: reading("innerHTML"),
  inputValue: reading("inputValue"),
  isVisible: reading("visible"),
  isHidden: reading("hidden"),
  isEnabled: reading("enabled"),
  isDisabled: reading("disabled"),
  isEditable: reading("editable"),
  isChecked: reading("checked"),
  getAttribute: (to, name, options) => to.read("attribute", options, String(name)),
};

/** Operations that only locators have. */
const LOCATOR_METHODS = {
  boundingBox: reading("box"),
  ariaSnapshot: reading("aria"),
  waitFor: (to, options) => to.send("waitFor", { state: options?.state ?? "visible" }, options, takeNothing),
  count: (to) => to.send("readAll", { what: "count" }),
  allTextContents: (to) => to.send("readAll", { what: "textContent" }),
  allInnerTexts: (to) => to.send("readAll", { what: "innerText" }),
  screenshot: (to, options) => {
    refusePath(to.method, options);
    return to.send("screenshot", shotOf(options), options, (answer) => asBuffer(answer.value));
  },
  snapshot: (to, options) => to.send("snapshot", pick({}, options, SNAPSHOT), options, (answer) => answer.value.text),
  evaluate: (to, fn, arg, options) =>
    to.send("evaluate", withArgument(to.method, pageFunction(to.method, fn), arg), options),
  evaluateAll: (to, fn, arg, options) => {
    const args = withArgument(to.method, pageFunction(to.method, fn), arg);
    args.all = true;
    return to.send("evaluate", args, options);
  },
};

const SNAPSHOT = ["interactive", "compact", "depth", "limit", "diff"];
