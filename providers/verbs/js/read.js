// Reads of one element or of all matches, waits for a state, and waits until the page is quiet.
//
// Changes nothing, except for `writeDocument`.

const IMMEDIATE = new Set(["visible", "hidden"]);

/** The properties that can be read; each returns `{value}` or a failure. */
const READS = {
  textContent: (element) => ({ value: rawTextOf(element) }),
  innerText: (element) => (isHtml(element) ? { value: innerTextOf(element) } : { error: "kind", message: "Node is not an HTMLElement" }),
  innerHTML: (element) => ({ value: innerHtmlOf(element) }),
  outerHTML: (element) => ({ value: outerHtmlOf(element) }),
  inputValue(element) {
    const control = controlOf(element);
    const value = Object.hasOwn(valueGetters, tagOf(control)) ? valueGetters[tagOf(control)] : null;
    return value ? { value: value(control) } : { error: "kind", message: "Node is not an <input>, <textarea> or <select> element" };
  },
  attribute: (element, name) => ({ value: attributeOf(element, String(name)) }),
  checked(element) {
    const value = isChecked(controlOf(element));
    return value === null ? { error: "kind", message: NOT_CHECKABLE } : { value };
  },
  visible: (element) => ({ value: isVisible(element) }),
  hidden: (element) => ({ value: !isVisible(element) }),
  enabled: (element) => ({ value: STATES.enabled(element) }),
  disabled: (element) => ({ value: STATES.disabled(element) }),
  editable(element) {
    const control = controlOf(element);
    const readonly = isReadonly(control);
    return readonly === null ? { error: "kind", message: NOT_EDITABLE } : { value: !isDisabled(control) && !readonly };
  },
  box: (element) => ({ value: linesOf(element).length ? boundsOf(element) : null }),
};

function readOne(args, given) {
  if (!Object.hasOwn(READS, args.what)) return { error: "kind", message: `"${args.what}" is nothing that can be read` };
  const reads = READS[args.what];
  if (!IMMEDIATE.has(args.what)) return nowOrLater(args, given, (element) => reads(element, args.name));
  const gone = { value: args.what === "hidden" };
  if (given && !isConnected(given)) return gone;
  const found = oneOf(args, given);
  if (found.error === "none") return gone;
  return found.error ? found : reads(found.element);
}

const PREVIEWS_MAX = 100;

/** Reads a property of every current match. */
function readAll(args, given) {
  const elements = given && !isConnected(given) ? [] : elementsOf(args, given);
  if (args.what === "count") return { value: elements.length };
  const limit = args.limit > 0 ? args.limit : args.what === "previews" ? PREVIEWS_MAX : elements.length;
  const some = elements.slice(0, limit);
  switch (args.what) {
    case "textContent":
      return { value: some.map((element) => rawTextOf(element) || "") };
    case "innerText":
      return { value: some.map((element) => (isHtml(element) ? innerTextOf(element) : rawTextOf(element) || "")) };
    case "attribute":
      return { value: some.map((element) => attributeOf(element, String(args.name))) };
    case "previews":
      return { value: some.map((element) => preview(element)) };
    default:
      return { error: "kind", message: `"${args.what}" is nothing that can be read of all` };
  }
}

/** Waits until a target is attached, detached, visible or hidden. */
function waitFor(args, given) {
  const look = () => {
    const gone = args.state === "hidden" || args.state === "detached";
    if (given && !isConnected(given)) return gone ? { ok: true } : { error: "detached" };
    const found = oneOf(args, given);
    if (found.error === "none") return gone ? { ok: true } : found;
    if (found.error) return found;
    const visible = args.state === "attached" || args.state === "detached" ? null : isVisible(found.element);
    switch (args.state) {
      case "attached":
        return { ok: true };
      case "visible":
        return visible ? { ok: true } : { error: "hidden", preview: preview(found.element) };
      case "hidden":
        return visible ? { error: "visible", preview: preview(found.element) } : { ok: true };
      case "detached":
        return { error: "attached", preview: preview(found.element) };
      default:
        return { error: "kind", message: "state: expected one of (attached|detached|visible|hidden)" };
    }
  };
  const now = look();
  return now.error && !PERMANENT.has(now.error) && args.timeout > 0 ? until(args.timeout, look) : now;
}

/** Resolves when the tree has not changed for `ms`; with `{ok: false}` when the timeout came first. */
function quiet(args) {
  const ms = args.ms > 0 ? args.ms : 0;
  return new Promise((resolve) => {
    let rest = setTimeout(() => finish(true), ms);
    const observer = new MutationObserver(() => {
      clearTimeout(rest);
      rest = setTimeout(() => finish(true), ms);
    });
    const end = setTimeout(() => finish(false), args.timeout > 0 ? args.timeout : ms);
    const finish = (ok) => {
      observer.disconnect();
      clearTimeout(rest);
      clearTimeout(end);
      resolve({ ok });
    };
    for (const root of [document, ...rootsIn(document)]) observer.observe(root, { subtree: true, childList: true, attributes: true, characterData: true });
  });
}

const documentOpen = method(Document, "open");
const documentWrite = method(Document, "write");
const documentClose = method(Document, "close");

/** Replaces this document by a new one. */
function writeDocument(html) {
  documentOpen(document);
  documentWrite(document, html);
  documentClose(document);
}
