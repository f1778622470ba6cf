// The operations by name, and `run`, the only entry point.
//
// Errors of the caller are returned as `{error, ...}`; only a defect of this program throws.

const sync = (args, given, use) => nowOrLater({ ...args }, given, use);
const lineOf = (message) => String(message).split("\n")[0];

const OPS = {
  act: actOn,
  recheck,
  felt: hasFeltMouse,
  keep: (args, given) => sync(args, given, (element) => {
    const words = preview(element);
    if (args.state === "visible" && !isVisible(element)) return { error: "hidden", preview: words };
    if (args.state === "hidden" && isVisible(element)) return { error: "visible", preview: words };
    return { handle: keepElement(element), preview: words };
  }),
  wait: waitFor,
  read: readOne,
  all: readAll,
  fill: fillOne,
  fillMany,
  reach: reachField,
  select: selectOptions,
  files: setFiles,
  focus: (args, given) => sync(args, given, (element) => (focusOf(element), { ok: true, handle: keepElement(element) })),
  blur: (args, given) => sync(args, given, (element) => (blurOf(element), { ok: true, handle: keepElement(element) })),
  selectText: (args, given) => sync(args, given, (element) => {
    const missing = args.force ? null : missingState(element, "visible");
    return missing || (selectAllOf(element), { ok: true, handle: keepElement(element) });
  }),
  scroll: (args, given) => until(args.timeout, async () => {
    const found = oneOf(args, given);
    if (found.error) return found;
    // An element with a layout box can be scrolled to, even if it is not visible.
    const missing = linesOf(found.element).length ? null : { error: "hidden", preview: preview(found.element) };
    const unfit = missing || (await instability(found.element));
    if (unfit) return unfit;
    bringIntoView(found.element);
    return { ok: true, handle: keepElement(found.element) };
  }),
  dispatch: (args, given) => sync(args, given, (element) => dispatch(element, String(args.type), args.init)),
  checked: (args) => {
    const value = isChecked(controlOf(heldElement(args.handle)));
    return value === null ? { error: "kind", message: NOT_CHECKABLE } : { value };
  },
  frame: (args, given) => sync(args, given, (element) => {
    if (!["iframe", "frame"].includes(tagOf(element)) && !["object", "embed"].includes(tagOf(element))) {
      return { error: "kind", message: `An <iframe> was expected: ${preview(element)} is no frame` };
    }
    return { handle: keepElement(element), preview: preview(element) };
  }),
  content: (args) => contentBoxOf(heldElement(args.handle)),
  point: (args) => {
    const [x, y] = centre(heldElement(args.handle));
    return { x, y };
  },
  hits: (args) => coveredAt(heldElement(args.handle), args.x, args.y) || { ok: true },
  text: (args, given) => contentAs(args, given, readableText),
  markdown: (args, given) => contentAs(args, given, markdownOf),
  html: (args, given) => contentAs(args, given, (element, wholePage) => (wholePage ? doctypeText() : "") + outerHtmlOf(element)),
  table: (args, given) => sync(args, given, tableOf),
  aria: (args, given) => sync({ ...args, steps: args.steps || [] }, given, (element) => ({ value: ariaSnapshot(element, args.depth) })),
  outline: (args, given) => sync({ timeout: 0, ...args, steps: args.steps || [] }, given, (element) => outlineOf(element, args.limit)),
  quiet,
  mark,
  unmark,
  write: (args) => {
    writeDocument(String(args.html));
    return { ok: true };
  },
};

/** Waits for the element of the steps; without steps, the whole page. */
function contentAs(args, given, render) {
  return sync({ timeout: 0, ...args, steps: args.steps || [] }, given, (element) => ({ value: render(element, !args.steps?.length) }));
}

/** The document type declaration as source, "" if there is none. */
function doctypeText() {
  const doctype = doctypeOf(document);
  return doctype ? new XMLSerializer().serializeToString(doctype) : "";
}
const doctypeOf = getter(Document, "doctype");

function answerTo(error) {
  if (error instanceof Fault) return error.failure;
  if (error instanceof DOMException && error.name === "SyntaxError") return { error: "selector", message: lineOf(error.message) };
  if (error instanceof RangeError) return { error: "kind", message: "The page is nested too deeply for this" };
  throw error;
}

class Engine {
  /** Executes an operation; returns JSON, or a promise of it. */
  run(op, args, given) {
    if (!Object.hasOwn(OPS, op)) return { error: "kind", message: `"${op}" is no operation` };
    forget();
    try {
      const answer = OPS[op](args || {}, given || null);
      return answer instanceof Promise ? answer.catch(answerTo) : answer;
    } catch (error) {
      return answerTo(error);
    } finally {
      forget();
    }
  }

  /** The currently matching elements. A method and not an operation, since elements are not JSON. */
  collect(args, given) {
    return given && !isConnected(given) ? [] : elementsOf(args, given);
  }

  /** A range of the elements of an outline. */
  outlined(handle, from, to) {
    return (outlines.get(handle) || []).slice(from, to);
  }

  /** The element retained under a handle, or null. */
  held(handle) {
    return handles.get(handle) || null;
  }

  /** The slot that accepts a value for a retained element in this document; null if the handle is unknown here. */
  slot(handle, origin, force) {
    const element = handles.get(handle);
    return element ? new Slot(element, origin, force) : null;
  }

  /** The closed shadow root of a host, if it was adopted. */
  closedRootOf(node) {
    return adopted.get(node);
  }

  /** Adopts a closed shadow root; every step reaches into it from then on. */
  adopt(host, root) {
    adopt(host, root);
    return true;
  }
}
