// Accessible names (accname 1.2), and what is hidden from assistive technology.
//
// Knows the tree, styles and roles; nothing of locators or operations.

/** Whether an element is not in the accessibility tree: not rendered, invisible, or below `aria-hidden`. */
function isAriaHidden(element) {
  const tag = localNameOf(element);
  if (["style", "script", "noscript", "template"].includes(tag)) return true;
  // Options of a closed list have no box, but can be chosen.
  const select = tag === "option" || tag === "optgroup" ? closestOf(element, "select") : null;
  if (select) return belongsToHidden(element) || isAriaHidden(select);
  const style = lookOf(element);
  // Slots and `display: contents` elements have no box of their own; their children decide.
  if (style.display !== "contents" && style.visibility !== "visible") return true;
  return belongsToHidden(element);
}

function belongsToHidden(element) {
  let hidden = seen.hidden.get(element);
  if (hidden !== undefined) return hidden;
  hidden = attributeOf(element, "aria-hidden")?.toLowerCase() === "true" || lookOf(element).display === "none";
  if (!hidden) {
    const parent = flatParentOf(element);
    // Not rendered: a host's child that is assigned to no slot, and the content of a closed <details>.
    const raw = parentNodeOf(element);
    const unslotted = raw && isElement(raw) && shadowOf(raw) && !slotOf(element);
    const folded = parent && tagOf(parent) === "details" && !detailsOpenOf(parent) && !(tagOf(element) === "summary");
    hidden = Boolean(unslotted || folded) || (parent ? belongsToHidden(parent) : false);
  }
  seen.hidden.set(element, hidden);
  return hidden;
}

const FROM_CONTENT = new Set(("button cell checkbox columnheader gridcell heading link menuitem menuitemcheckbox menuitemradio option radio row rowheader " +
  "switch tab tooltip treeitem").split(" "));
/** Elements with these roles pass their content on to an element that is named by its content. */
const PASSING = new Set([null, "none", "presentation", "generic", "caption", "code", "definition", "deletion", "emphasis", "insertion", "list", "listitem", "mark",
  "note", "paragraph", "region", "rowgroup", "section", "strong", "subscript", "superscript", "table", "term", "time", "status", "log", "group", "figure", "img"]);
const UNNAMEABLE = new Set(["caption", "code", "definition", "deletion", "emphasis", "generic", "insertion", "mark", "paragraph", "presentation", "none",
  "strong", "subscript", "suggestion", "superscript", "term", "time"]);

/** The accessible name, white space normalised. */
function nameOf(element) {
  let name = seen.names.get(element);
  if (name === undefined) {
    name = UNNAMEABLE.has(roleOf(element) || "") ? "" : normal(nameFor(element, { visited: new Set(), referred: false, inside: false, hidden: false }));
    seen.names.set(element, name);
  }
  return name;
}

/** The accessible description, white space normalised: from aria-describedby, aria-description or the tooltip. */
function descriptionOf(element) {
  if (hasAttribute(element, "aria-describedby")) {
    const texts = referredBy(element, "aria-describedby").map((target) => {
      return nameFor(target, { visited: new Set(), referred: true, inside: false, hidden: isAriaHidden(target) });
    });
    return normal(texts.join(" "));
  }
  return normal(attributeOf(element, "aria-description") ?? attributeOf(element, "title") ?? "");
}

// One step of the computation. `how.referred`: reached by aria-labelledby or a label, which are not followed again;
// `how.inside`: part of another element's name; `how.hidden`: below a hidden element that was referred to.
function nameFor(element, how) {
  if (how.visited.has(element)) return "";
  const hidden = how.hidden || isAriaHidden(element);
  if (hidden && !how.hidden && how.inside) return "";

  if (!how.referred) {
    const referred = referredBy(element, "aria-labelledby");
    if (referred.length) {
      const name = referred.map((target) => nameFor(target, { visited: new Set(), referred: true, inside: false, hidden: isAriaHidden(target) })).join(" ");
      if (name.trim()) return name;
    }
  }

  const role = roleOf(element) || "";
  const tag = tagOf(element);
  if (how.inside || how.referred) {
    // A control inside of a label contributes its value.
    const value = embeddedValue(element, role, tag, how);
    if (value !== undefined) return how.visited.add(element), value;
  }

  const label = attributeOf(element, "aria-label")?.trim();
  if (label) return how.visited.add(element), attributeOf(element, "aria-label");

  if (role !== "none" && role !== "presentation") {
    const native = nativeName(element, tag, how);
    if (native !== undefined) return how.visited.add(element), native;
  }

  if (FROM_CONTENT.has(role) || ((how.inside || how.referred) && (PASSING.has(role || null) || how.referred))) {
    how.visited.add(element);
    const content = contentName(element, { ...how, inside: true, referred: how.referred, hidden });
    if (how.referred ? content.trim() : content) return content;
  }

  if (!["presentation", "none"].includes(role) || tag === "iframe") {
    how.visited.add(element);
    const title = attributeOf(element, "title");
    if (title?.trim()) return title;
  }
  how.visited.add(element);
  return "";
}

function embeddedValue(element, role, tag, how) {
  if (!how.inside) return undefined;
  if (role === "textbox" || role === "searchbox") {
    return tag === "input" || tag === "textarea" ? valueGetters[tag](element) : textOf(element).full;
  }
  if (role === "combobox" || role === "listbox") {
    if (tag === "select") return Array.from(queryInElement(element, "option")).filter((option) => optionSelectedOf(option)).map((option) => textOf(option).full).join(" ");
    if (tag === "input") return valueGetters.input(element);
    // The list of a combobox may be elsewhere in the tree.
    const lists = role === "combobox" ? [element, ...referredBy(element, "aria-controls")] : [element];
    const options = lists.flatMap((list) => Array.from(queryInElement(list, "[role=option]")));
    return options.filter((option) => attributeOf(option, "aria-selected") === "true").map((option) => contentName(option, { ...how, inside: true })).join(" ");
  }
  if (["progressbar", "scrollbar", "slider", "spinbutton", "meter"].includes(role)) {
    return attributeOf(element, "aria-valuetext") ?? attributeOf(element, "aria-valuenow") ?? (tag === "input" ? valueGetters.input(element) : attributeOf(element, "value") ?? "");
  }
  return role === "menu" ? "" : undefined;
}

/** The name from native markup: labels, alt, legend, caption, SVG title. */
function nativeName(element, tag, how) {
  const type = typeOf(element);
  if (type === "button" || type === "submit" || type === "reset") {
    const value = attributeOf(element, "value") !== null ? valueGetters.input(element) : "";
    const labels = labelNames(element, how);
    if (labels) return labels;
    if (value.trim()) return value;
    if (type === "submit") return attributeOf(element, "title") || "Submit";
    return type === "reset" ? attributeOf(element, "title") || "Reset" : attributeOf(element, "title") || "";
  }
  if (type === "image") {
    return labelNames(element, how) || attributeOf(element, "alt") || attributeOf(element, "title") || "Submit";
  }
  if (tag === "button") return how.inside ? undefined : labelNames(element, how) || undefined;
  if (tag === "input" || tag === "textarea" || tag === "select" || tag === "meter" || tag === "progress" || tag === "output") {
    const labels = labelNames(element, how);
    if (labels) return labels;
    if (type === "file") return attributeOf(element, "title") || "Choose File";
    if (tag === "output") return how.inside ? undefined : attributeOf(element, "title") || "";
    const placeholder = attributeOf(element, "placeholder")?.trim() ? attributeOf(element, "placeholder") : "";
    const title = attributeOf(element, "title") || "";
    const usesPlaceholder = tag === "textarea" || ["text", "password", "search", "tel", "email", "url", "number"].includes(type);
    return title.trim() ? title : usesPlaceholder ? placeholder : "";
  }
  const childName = (name) => {
    for (let child = firstElementOf(element); child; child = nextElementOf(child)) {
      if (tagOf(child) === name) return nameFor(child, { ...how, visited: new Set(how.visited), inside: true, referred: false, hidden: isAriaHidden(child) });
    }
    return undefined;
  };
  if (tag === "fieldset") return childName("legend") ?? attributeOf(element, "title") ?? "";
  if (tag === "figure") return childName("figcaption") ?? attributeOf(element, "title") ?? "";
  if (tag === "table") return childName("caption") ?? attributeOf(element, "summary") ?? attributeOf(element, "title") ?? "";
  if (tag === "img" || tag === "area") return attributeOf(element, "alt") || attributeOf(element, "title") || "";
  if (tag === "svg:svg" || (tag.startsWith("svg:") && how.inside)) {
    const title = childName("svg:title");
    if (title !== undefined) return title;
  }
  if (tag === "optgroup" || tag === "option") return attributeOf(element, "label") || undefined;
  return undefined;
}

function labelNames(element, how) {
  if (how.referred) return "";
  return labelsOf(element)
    .map((label) => nameFor(label, { visited: new Set([element]), referred: true, inside: true, hidden: false }))
    .filter((name) => name.trim())
    .join(" ");
}

/** The names of all children as one text; block elements are separated by spaces, inline ones are not. */
function contentName(element, how) {
  const style = tagOf(element) === "option" ? null : lookOf(element);
  let name = pseudoText(element, "::before");
  const parts = [];
  for (const child of flatChildrenOf(element)) {
    const type = nodeTypeOf(child);
    if (type === TEXT) parts.push(nodeValueOf(child));
    else if (type === ELEMENT) {
      const inner = nameFor(child, { ...how, inside: true, referred: false });
      const inline = localNameOf(child) !== "br" && lookOf(child).inline;
      parts.push(inline || lookOf(child).display === "contents" ? inner : ` ${inner} `);
    }
  }
  for (const owned of referredBy(element, "aria-owns")) parts.push(` ${nameFor(owned, { ...how, inside: true, referred: false })} `);
  name += parts.join("") + pseudoText(element, "::after");
  return style && !style.inline && style.display !== "contents" && how.inside ? ` ${name} `.replace(/^ $|^ {2}$/, "") : name;
}

/** The text that CSS generates before or after an element. */
function pseudoText(element, pseudo) {
  const style = styleOf(element, pseudo);
  const { content } = style;
  if (!content || content === "none" || content === "normal" || style.display === "none" || style.visibility !== "visible") return "";
  // `"text" / "spoken text"`: the second one is for names.
  const spoken = content.includes(" / ") ? content.slice(content.lastIndexOf(" / ") + 3) : content;
  let text = "";
  for (const [, literal, attribute] of spoken.matchAll(/"((?:[^"\\]|\\.)*)"|attr\(\s*([\w-]+)/g)) {
    text += literal !== undefined ? literal.replace(/\\(.)/g, "$1") : attributeOf(element, attribute) || "";
  }
  return text && !style.display.startsWith("inline") ? ` ${text} ` : text;
}
