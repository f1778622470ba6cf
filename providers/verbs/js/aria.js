// A snapshot of the accessibility tree as indented text: `- role "name" [state]: text`.
//
// Reads roles, names and states; changes nothing.

const ARIA_DEPTH_MAX = 200;
const NAME_IN_LINE_MAX = 900;

/**
 * The state of one traversal of the accessibility tree. `visited` prevents elements moved by `aria-owns` from
 * appearing twice; `left` is the number of nodes that may still be added; `roleFor` returns a role for an element
 * without one, or null.
 */
const ariaWalk = (nodesMax, roleFor) => ({ visited: new Set(), left: nodesMax, roleFor });

/**
 * Appends the accessible children of an element to `out`: texts and `{role, name, states, props, children,
 * element}`.
 */
function ariaChildren(element, depth, out, walk) {
  const style = lookOf(element);
  const block = !style.inline && style.display !== "contents" ? " " : "";
  out.push(block, pseudoText(element, "::before"));
  for (const child of flatChildrenOf(element)) {
    const type = nodeTypeOf(child);
    if (type === TEXT) {
      if (style.visibility === "visible") out.push(nodeValueOf(child));
    } else if (type === ELEMENT) ariaVisit(child, depth, out, walk);
  }
  for (const owned of referredBy(element, "aria-owns")) ariaVisit(owned, depth, out, walk);
  out.push(pseudoText(element, "::after"), block);
}

function ariaVisit(element, depth, out, walk) {
  const tag = tagOf(element);
  if (walk.visited.has(element) || walk.left <= 0 || isAriaHidden(element) || tag === "head") return;
  walk.visited.add(element);
  if (tag === "br") return void out.push(" ");
  let role = tag === "iframe" || tag === "frame" ? "iframe" : roleOf(element);
  if (!role || role === "presentation" || role === "none" || role === "generic") role = walk.roleFor(element);
  if (!role || depth > ARIA_DEPTH_MAX) {
    ariaChildren(element, depth, out, walk);
    return;
  }
  walk.left--;
  const node = { role, name: nameOf(element), states: ariaStates(element, role), props: [], children: [], element };
  const inner = [];
  if (tag === "input" || tag === "textarea") {
    const type = typeOf(element);
    if (!["checkbox", "radio", "file", "button", "submit", "reset", "image"].includes(type)) inner.push(valueGetters[tag](element));
  } else if (role !== "iframe") ariaChildren(element, depth + 1, inner, walk);
  node.children = ariaMerge(inner);
  if (node.children.length === 1 && node.children[0] === node.name) node.children = [];
  if (role === "link" && hasAttribute(element, "href")) node.props.push(["url", attributeOf(element, "href")]);
  const placeholder = role === "textbox" || role === "searchbox" ? attributeOf(element, "placeholder") : null;
  if (placeholder && placeholder !== node.name) node.props.push(["placeholder", placeholder]);
  out.push(node);
}

function ariaStates(element, role) {
  const states = [];
  const checked = ["checkbox", "menuitemcheckbox", "option", "radio", "switch", "menuitemradio", "treeitem"].includes(role) ? checkedOf(element) : null;
  if (checked === true) states.push("checked");
  if (checked === "mixed") states.push("checked=mixed");
  if (DISABLEABLE.has(role) && isDisabled(element)) states.push("disabled");
  if (expandedOf(element) === true) states.push("expanded");
  const level = LEVELLED.includes(role) ? levelOf(element) : 0;
  if (level) states.push(`level=${level}`);
  const pressed = pressedOf(element);
  if (pressed) states.push(pressed === "mixed" ? "pressed=mixed" : "pressed");
  if (selectedOf(element) && (SELECTABLE.includes(role) || role === "option")) states.push("selected");
  return states;
}

/** Joins adjacent texts, and drops those that are only white space. */
function ariaMerge(parts) {
  const merged = [];
  let text = "";
  const flush = () => {
    const value = normal(text);
    if (value) merged.push(value);
    text = "";
  };
  for (const part of parts) {
    if (typeof part === "string") text += part;
    else flush(), merged.push(part);
  }
  flush();
  return merged;
}

// Texts that YAML would parse as something else.
const YAML_OTHER = /^(?:[-&*[\],?!>|@"'#%]|\s)|[{}`]|:(?:\s|$)|\s#|\s$|[\u0000-\u001f\u007f-\u009f]|^(?:true|false|yes|no|on|off|null|y|n|~|=|<<)$/i;
const isMistaken = (text) => YAML_OTHER.test(text) || !Number.isNaN(Number(text));
const yamlValue = (text) => (isMistaken(text) ? JSON.stringify(text) : text);
const yamlKey = (text) => (isMistaken(text) ? `'${text.replace(/'/g, "''")}'` : text);

function ariaLines(node, indent, depth, lines) {
  if (typeof node === "string") {
    lines.push(`${indent}- text: ${yamlValue(node)}`);
    return;
  }
  let key = node.role;
  if (node.name && node.name.length <= NAME_IN_LINE_MAX) key += ` ${JSON.stringify(node.name)}`;
  for (const state of node.states) key += ` [${state}]`;
  const cut = depth < 1;
  const alone = node.props.length === 0 && node.children.length === 1 && typeof node.children[0] === "string";
  if (alone) lines.push(`${indent}- ${yamlKey(key)}: ${yamlValue(node.children[0])}`);
  else if ((cut || !node.children.length) && !node.props.length) lines.push(`${indent}- ${yamlKey(key)}`);
  else {
    lines.push(`${indent}- ${yamlKey(key)}:`);
    for (const [name, value] of node.props) lines.push(`${indent}  - /${name}: ${yamlValue(value)}`);
    if (!cut) for (const child of node.children) ariaLines(child, `${indent}  `, depth - 1, lines);
  }
}

/** The nodes of an element; for the page, the nodes inside its body. */
function ariaNodes(element, walk) {
  const parts = [];
  const page = element === documentElementOf(document);
  if (page || element === bodyOf(document)) ariaChildren(page ? bodyOf(document) || element : element, 0, parts, walk);
  else ariaVisit(element, 0, parts, walk);
  return ariaMerge(parts);
}

/** The snapshot of an element; `depth` limits the number of levels below the first. */
function ariaSnapshot(element, depth) {
  const lines = [];
  const nodes = ariaNodes(element, ariaWalk(Infinity, () => null));
  for (const node of nodes) ariaLines(node, "", typeof depth === "number" ? depth : Infinity, lines);
  return lines.join("\n");
}
