// Filling with a value that only documents of one origin may receive: first the field is made ready, without the value;
// then a slot, which is bound to this document and that field, accepts the value.
//
// The origins are checked in the same task in which the value is filled in: nothing can navigate in between.

/** null if this document and all its ancestors are of an origin; a document with an opaque origin never is. */
function originFault(origin) {
  // The first of these is "null" if a sandbox removed the origin, the second if the URL has none.
  const around = Array.from(location.ancestorOrigins);
  const foreign = [globalThis.origin, location.origin].find((own) => own !== origin);
  if (foreign !== undefined) return { error: "origin", origin: foreign, wanted: origin };
  const outer = around.find((ancestor) => ancestor !== origin);
  return outer === undefined ? null : { error: "origin", origin: outer, wanted: origin, around: true };
}

/** Waits for a field that can be filled, in a document of the origin. */
function reachField(args, given) {
  return withOne(args, given, (element) => {
    const fault = originFault(args.origin) || slotFault(element, args.force);
    return fault || { handle: keepElement(element) };
  });
}

function slotFault(element, force) {
  const control = controlOf(element);
  const tag = tagOf(control);
  if (tag === "input" && !TYPED.has(inputTypeOf(control))) {
    return { error: "kind", message: `Input of type "${inputTypeOf(control)}" cannot be filled with a secret` };
  }
  return kindFault(control, tag) || (force ? null : missingState(element, "visible") || missingState(element, "editable"));
}

/** Accepts the value of one field, in this document. */
class Slot {
  #element;
  #origin;
  #force;

  constructor(element, origin, force) {
    this.#element = element;
    this.#origin = origin;
    this.#force = force;
  }

  put(value) {
    forget();
    try {
      const element = this.#element;
      if (!isConnected(element)) return { error: "detached" };
      return originFault(this.#origin) || slotFault(element, this.#force) || putValue(controlOf(element), String(value));
    } catch (error) {
      return answerTo(error);
    } finally {
      forget();
    }
  }
}

/**
 * As `typeValue`, but never by the host, which types wherever the focus is. Autocomplete is switched off: the
 * browser would otherwise write the value into its profile, to suggest it in other forms and to restore the page.
 */
function putValue(control, value) {
  const tag = tagOf(control);
  setAttribute(control, "autocomplete", "off");
  const typed = typeValue(control, tag, value);
  if (!typed.needsInput) return typed;
  if (tag === "input" || tag === "textarea") {
    (tag === "input" ? setInputValue : setTextareaValue)(control, value);
    fire(control, "input");
    fire(control, "change");
    return { ok: true };
  }
  execCommand(document, "insertText", false, value);
  return innerTextOf(control).includes(value) ? { ok: true } : { error: "kind", message: "The page's editor does not take a secret" };
}
const setTextareaValue = setter(HTMLTextAreaElement, "value");
