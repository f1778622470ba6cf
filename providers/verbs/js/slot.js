// Filling with a value that only the documents of one origin may have: first the field is reached, without the value; then
// a slot takes the value, which is bound to this document and to that field.
//
// Whose document this is, is looked at in the same turn in which the value is put in: nothing navigates in between.

/** null when this document and all around it are of an origin; one without an origin of its own is of none. */
function foreignness(origin) {
  // The first of these is "null" where a sandbox took the origin away, the second where the address has none.
  const around = Array.from(location.ancestorOrigins);
  const foreign = [globalThis.origin, location.origin].find((own) => own !== origin);
  if (foreign !== undefined) return { error: "origin", origin: foreign, wanted: origin };
  const outer = around.find((ancestor) => ancestor !== origin);
  return outer === undefined ? null : { error: "origin", origin: outer, wanted: origin, around: true };
}

/** Waits for a field that could be filled, in a document of the origin. */
function reachField(args, given) {
  return withOne(args, given, (element) => {
    const fault = foreignness(args.origin) || slotFault(element, args.force);
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

/** Takes the value of one field, in this document. */
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
      return foreignness(this.#origin) || slotFault(element, this.#force) || putValue(controlOf(element), String(value));
    } catch (error) {
      return answerTo(error);
    } finally {
      forget();
    }
  }
}

/**
 * As `typeValue`, but never by the host: that types wherever the focus is. The browser is told not to remember what is in the
 * field: it would write the value into its profile, to suggest it in other forms and to restore the page.
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
