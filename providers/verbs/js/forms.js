// Form controls: filling text, choosing options, setting files, focus and selection.
//
// A page sees trusted input events for text, and `input` and `change` for values that a user would pick from the
// browser's own widgets. Knows controls; nothing of how the target was found.

const focusHtml = method(HTMLElement, "focus");
const focusSvg = method(SVGElement, "focus");
const blurHtml = method(HTMLElement, "blur");
const blurSvg = method(SVGElement, "blur");
const focusMath = method(MathMLElement, "focus");
const blurMath = method(MathMLElement, "blur");
const selectInput = method(HTMLInputElement, "select");
const selectTextarea = method(HTMLTextAreaElement, "select");
const setInputValue = setter(HTMLInputElement, "value");
const setSelected = setter(HTMLOptionElement, "selected");
const setInputFiles = setter(HTMLInputElement, "files");
const isMultiple = getter(HTMLSelectElement, "multiple");
const takesFiles = getter(HTMLInputElement, "multiple");
const maxLengthOf = { input: getter(HTMLInputElement, "maxLength"), textarea: getter(HTMLTextAreaElement, "maxLength") };
const optionValueOf = getter(HTMLOptionElement, "value");
const optionLabelOf = getter(HTMLOptionElement, "label");
const execCommand = method(Document, "execCommand");
const listenTo = method(EventTarget, "addEventListener");
const unlistenTo = method(EventTarget, "removeEventListener");

// By namespace and not by `instanceof`: an element adopted from another document has the classes of that document.
const FOCUS = { [HTML]: focusHtml, [SVG]: focusSvg, [MATHML]: focusMath };
const BLUR = { [HTML]: blurHtml, [SVG]: blurSvg, [MATHML]: blurMath };

function focusOf(element) {
  if (activeElement() !== element) FOCUS[namespaceOf(element)]?.(element);
}

function blurOf(element) {
  BLUR[namespaceOf(element)]?.(element);
}

/** Selects all text of a control or of any other element. */
function selectAllOf(element) {
  const control = controlOf(element);
  const tag = tagOf(control);
  if (tag === "input" || tag === "textarea") {
    focusOf(control);
    (tag === "input" ? selectInput : selectTextarea)(control);
    return;
  }
  focusOf(control);
  const selection = getSelection();
  const range = new Range();
  range.selectNodeContents(control);
  selection.removeAllRanges();
  selection.addRange(range);
}

function fire(element, type) {
  dispatchTo(element, new Event(type, { bubbles: true, composed: type === "input" }));
}

// ---- fill ----

const TYPED = new Set(["", "email", "number", "password", "search", "tel", "text", "url"]);
const PICKED = new Set(["color", "date", "datetime-local", "month", "range", "time", "week"]);
const NOT_FILLABLE = "Element is not an <input>, <textarea> or [contenteditable] element";

function fillOne(args, given) {
  return withOne(args, given, (element) => fillElement(element, String(args.value), args.force));
}

/** null if an element is of a kind that accepts text. */
function kindFault(control, tag) {
  if (tag === "input") {
    const type = inputTypeOf(control);
    return TYPED.has(type) || PICKED.has(type) ? null : { error: "kind", message: `Input of type "${type}" cannot be filled` };
  }
  return tag === "textarea" || (isHtml(control) && isContentEditable(control)) ? null : { error: "kind", message: NOT_FILLABLE };
}

function fillElement(element, value, force) {
  const control = controlOf(element);
  const tag = tagOf(control);
  const fault = kindFault(control, tag);
  if (fault) return fault;
  if (tag === "input" && inputTypeOf(control) === "number" && Number.isNaN(Number(value.trim()))) {
    return { error: "kind", message: "Cannot type text into input[type=number]" };
  }
  const missing = force ? null : missingState(element, "visible") || missingState(element, "editable");
  if (missing) return missing;
  if (tag === "input" && PICKED.has(inputTypeOf(control))) return pickValue(control, value);
  return typeValue(control, tag, value);
}

/** Sets a value that a user would pick from a widget. */
function pickValue(control, value) {
  const type = inputTypeOf(control);
  let wanted = value.trim();
  if (type === "color") wanted = wanted.toLowerCase();
  focusOf(control);
  const before = valueGetters.input(control);
  setInputValue(control, wanted);
  const got = valueGetters.input(control);
  if (got !== wanted && !(type === "datetime-local" && got === wanted.replace(" ", "T"))) {
    setInputValue(control, before);
    return { error: "kind", message: "Malformed value" };
  }
  fire(control, "input");
  fire(control, "change");
  return { ok: true };
}

/**
 * Replaces the content by the browser's own editing, so that undo, events and limits are those of a user.
 *
 * That editing sends no `beforeinput`, on which editors and masks depend. So one is dispatched first, and where the
 * page cancels it, or renders its text itself as editors on `contenteditable` do, the host types.
 */
function typeValue(control, tag, value) {
  const field = tag === "input" || tag === "textarea";
  selectAllOf(control);
  // A page may re-render the field when it gets the focus; the next attempt finds the new one.
  if (!isConnected(control)) return { error: "detached" };
  const valueNow = () => (field ? valueGetters[tag](control) : textOfEditable(control));
  if (value === "" && valueNow() === "") return { ok: true };
  const byHost = () => ({ needsInput: true, handle: keepElement(control) });
  if (!field || activeElement() !== control) return byHost();
  const kind = value === "" ? "deleteContentBackward" : "insertText";
  const before = new InputEvent("beforeinput", { bubbles: true, cancelable: true, composed: true, inputType: kind, data: value || null });
  if (!dispatchTo(control, before)) return byHost();
  let heard = false;
  const hear = () => (heard = true);
  listenTo(window, "input", hear, true);
  execCommand(document, value === "" ? "delete" : "insertText", false, value);
  unlistenTo(window, "input", hear, true);
  return heard || isSame(control, tag, valueNow(), value) ? { ok: true } : byHost();
}

const textOfEditable = (element) => innerTextOf(element).replace(/\n$/, "");

/** Whether a control holds a value, after the browser's own value sanitisation. */
function isSame(control, tag, now, wanted) {
  let expected = wanted.replace(/\r\n?/g, "\n");
  if (tag === "input") expected = expected.replace(/\n/g, "");
  if (["email", "url", "number"].includes(typeOf(control))) expected = expected.trim();
  const limit = maxLengthOf[tag](control);
  return now === (limit >= 0 ? expected.slice(0, limit) : expected);
}

async function fillMany(args) {
  const end = performance.now() + (args.timeout > 0 ? args.timeout : 0);
  const results = [];
  for (const field of args.fields || []) {
    results.push(await fillField(field, { steps: field.steps, strict: args.strict, timeout: end - performance.now() }, args.force).catch(answerTo));
  }
  return { results };
}

async function fillField(field, target, force) {
  return withOne(target, field.given || null, (element) => {
    const control = controlOf(element);
    if (typeof field.value === "boolean") {
      const checked = isChecked(control);
      if (checked === null) return { error: "kind", message: NOT_CHECKABLE };
      return checked === field.value ? { ok: true } : { needsClick: true, handle: keepElement(element) };
    }
    if (tagOf(control) !== "select") return fillElement(element, String(field.value), force);
    const options = (Array.isArray(field.value) ? field.value : [field.value]).map((value) => ({ valueOrLabel: String(value) }));
    const answer = chooseOptions(element, options, force);
    return answer.error ? answer : { ok: true };
  });
}

// ---- select ----

function selectOptions(args, given) {
  return withOne(args, given, (element) => chooseOptions(element, args.options || [], args.force));
}

function isWanted(option, index, wanted) {
  const given = (name) => wanted[name] !== undefined && wanted[name] !== null;
  const label = () => normal(optionLabelOf(option));
  if (given("valueOrLabel") && optionValueOf(option) !== wanted.valueOrLabel && label() !== normal(wanted.valueOrLabel)) return false;
  if (given("value") && optionValueOf(option) !== wanted.value) return false;
  if (given("label") && label() !== normal(wanted.label)) return false;
  return !given("index") || index === wanted.index;
}

function chooseOptions(element, wanted, force) {
  const control = controlOf(element);
  if (tagOf(control) !== "select") return { error: "kind", message: "Element is not a <select> element" };
  const missing = force ? null : missingState(element, "visible") || missingState(element, "enabled");
  if (missing) return missing;
  const options = Array.from(queryInElement(control, "option"));
  const multiple = isMultiple(control);
  let open = [...wanted];
  const chosen = [];
  for (let index = 0; index < options.length && open.length; index++) {
    const matched = open.filter((each) => isWanted(options[index], index, each));
    if (!matched.length) continue;
    if (!force && elementMatches(options[index], ":disabled")) return { error: "option", message: "option being selected is not enabled", preview: preview(options[index]) };
    chosen.push(options[index]);
    if (!multiple) open = [];
    else open = open.filter((each) => !matched.includes(each));
  }
  if (open.length) {
    const shown = options.slice(0, OPTIONS_SHOWN).map((option) => ({ value: optionValueOf(option), label: normal(optionLabelOf(option)) }));
    return { error: "option", message: "did not find some options", missing: open, options: shown, count: options.length };
  }
  focusOf(control);
  // In a single choice, selecting one option deselects the others; deselecting first would select the first option.
  if (multiple || !chosen.length) for (const option of options) if (!chosen.includes(option)) setSelected(option, false);
  if (!chosen.length && !multiple) setSelectedIndex(control, -1);
  for (const option of chosen) setSelected(option, true);
  fire(control, "input");
  fire(control, "change");
  return { value: chosen.map((option) => optionValueOf(option)) };
}
const OPTIONS_SHOWN = 20;
const setSelectedIndex = setter(HTMLSelectElement, "selectedIndex");

// ---- files ----

function setFiles(args, given) {
  return withOne(args, given, (element) => {
    const control = controlOf(element);
    if (typeOf(control) !== "file") return { error: "kind", message: "Node is not an input[type=file]" };
    if (hasAttribute(control, "webkitdirectory")) return { error: "kind", message: "A folder cannot be given: the input has webkitdirectory" };
    const files = args.files || [];
    if (files.length > 1 && !takesFiles(control)) return { error: "kind", message: "Non-multiple file input can only accept single file" };
    if (elementMatches(control, ":disabled")) return { error: "disabled" };
    const transfer = new DataTransfer();
    for (const file of files) {
      transfer.items.add(new File([Uint8Array.fromBase64(file.base64 || "")], String(file.name), { type: file.type || "" }));
    }
    setInputFiles(control, transfer.files);
    fire(control, "input");
    fire(control, "change");
    return { ok: true };
  });
}
