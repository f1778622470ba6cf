// The outline of a page for snapshots: its accessible content line by line, with the elements that can be acted upon.
//
// The host formats the lines; here they and the elements that get a ref are collected.

const OUTLINES_MAX = 8;
const LINE_CHARS_MAX = 4000;
const OUTLINE_CHARS_MAX = 2000000;

/** Roles of elements that can be acted upon. */
const ACTED_UPON = new Set(("button link textbox checkbox radio combobox listbox menuitem menuitemcheckbox menuitemradio option searchbox slider " +
  "spinbutton switch tab treeitem iframe").split(" "));
/** Roles of elements that get a ref if they have a name. */
const WORTH_A_REF = new Set(("heading cell gridcell columnheader rowheader listitem article region main navigation img form dialog alertdialog alert status " +
  "row").split(" "));

/** The elements of the last outlines, by handle, until the host has requested them. */
const outlines = new Map();
let lastOutline = 0;

/** Whether the mouse cursor becomes a hand over an element, but is not one over its parent already. */
function hasHand(element) {
  if (lookOf(element).cursor !== "pointer") return false;
  const parent = flatParentOf(element);
  return !parent || lookOf(parent).cursor !== "pointer";
}

/** Whether an element is interactive regardless of its role: it has a hand cursor, folds, is editable or focusable. */
function isUsed(element, hand = hasHand(element)) {
  if (hand || tagOf(element) === "summary") return true;
  if (isHtml(element) && isContentEditable(element)) {
    const parent = flatParentOf(element);
    return !parent || !isHtml(parent) || !isContentEditable(parent);
  }
  return Number.parseInt(attributeOf(element, "tabindex"), 10) >= 0;
}

const isSaid = (element, name) => attributeOf(element, name) === "true";

function outlineStates(element, role, active) {
  const states = ariaStates(element, role).filter((state) => role !== "listitem" || !state.startsWith("level="));
  if (isSaid(element, "aria-required") || (isEditing(element) && hasAttribute(element, "required"))) states.push("required");
  const invalid = attributeOf(element, "aria-invalid");
  if ((invalid && invalid !== "false") || elementMatches(element, ":user-invalid")) states.push("invalid");
  if (element === active) states.push("focused");
  return states;
}

/** The value of a field; for a password only its length, up to 8. */
function heldBy(element, children) {
  const tag = tagOf(element);
  if (tag === "select") {
    const chosen = Array.from(queryInElement(element, "option")).filter((option) => optionSelectedOf(option));
    return chosen.map((option) => nameOf(option) || normal(rawTextOf(option))).join(", ");
  }
  if (children.length !== 1 || typeof children[0] !== "string") return "";
  return typeOf(element) === "password" ? "\u2022".repeat(Math.min(children[0].length, 8)) : children[0];
}

/** Appends the lines of a node, starting at a level, to `outline`. */
function outlineLines(node, level, outline) {
  if (outline.chars > OUTLINE_CHARS_MAX) return;
  if (typeof node === "string") {
    const text = shortened(node, LINE_CHARS_MAX);
    outline.chars += text.length;
    outline.lines.push({ level, role: "text", name: text });
    return;
  }
  const { element, role } = node;
  const line = { level, role, name: shortened(node.name, LINE_CHARS_MAX) };
  const value = shortened(heldBy(element, node.children), LINE_CHARS_MAX);
  const states = outlineStates(element, role, outline.active);
  // An element's only text is shown in its own line.
  const inside = typeof node.children[0] === "string" && node.children.length === 1 ? [] : node.children;
  if (value) line.value = value;
  if (states.length) line.states = states;
  const props = node.props.map(([name, text]) => [name, shortened(text, LINE_CHARS_MAX)]);
  if (props.length) line.props = props;
  const hand = hasHand(element);
  if (hand) line.hand = true;
  if (role === "iframe") line.frame = true;
  // A row of a table or an item of a list may be clickable as well.
  if (role === "generic" || ACTED_UPON.has(role) || isUsed(element, hand)) line.acts = true;
  if (line.acts || (WORTH_A_REF.has(role) && line.name)) line.element = outline.elements.push(element) - 1;
  outline.chars += line.name.length + value.length + props.reduce((sum, [, text]) => sum + text.length, 0);
  outline.lines.push(line);
  outlineAll(inside, level + 1, outline);
}

/** Appends siblings. The text of a label is left out beside the control that it names. */
function outlineAll(nodes, level, outline) {
  const names = (node, text) => typeof node === "object" && ACTED_UPON.has(node.role) && node.name === text;
  nodes.forEach((node, at) => {
    if (!names(nodes[at - 1], node) && !names(nodes[at + 1], node)) outlineLines(node, level, outline);
  });
}

/** The outline of an element: lines as JSON, and a handle for the elements, which the lines refer to by index. */
function outlineOf(element, nodesMax) {
  const walk = ariaWalk(nodesMax, (bare) => (isUsed(bare) ? "generic" : null));
  const outline = { lines: [], elements: [], chars: 0, active: activeElement() };
  if (outline.active === bodyOf(document)) outline.active = null;
  outlineAll(ariaNodes(element, walk), 0, outline);
  outlines.set(++lastOutline, outline.elements);
  outlines.delete(lastOutline - OUTLINES_MAX);
  return { handle: lastOutline, elements: outline.elements.length, lines: JSON.stringify(outline.lines) };
}
