// Safe access to the tree: accessors that a page cannot replace, shadow roots, the composed and the flat tree, white
// space.
//
// A form or a document resolves its named children before its own properties (`form.parentNode`, `document.body`), in
// every world. So every member is taken from its prototype once and applied to the node. Knows nothing of selectors,
// roles or operations.

const applied = (method) => Function.prototype.call.bind(method);
const getter = (owner, name) => applied(Object.getOwnPropertyDescriptor(owner.prototype, name).get);
const setter = (owner, name) => applied(Object.getOwnPropertyDescriptor(owner.prototype, name).set);
const method = (owner, name) => applied(owner.prototype[name]);

const parentNodeOf = getter(Node, "parentNode");
const nodeTypeOf = getter(Node, "nodeType");
const nodeValueOf = getter(Node, "nodeValue");
const firstChildOf = getter(Node, "firstChild");
const nextSiblingOf = getter(Node, "nextSibling");
const rawTextOf = getter(Node, "textContent");
const isConnected = getter(Node, "isConnected");
const rootOf = method(Node, "getRootNode");
const positionOf = method(Node, "compareDocumentPosition");
const appendChild = method(Node, "appendChild");
const removeNode = method(Element, "remove");

const localNameOf = getter(Element, "localName");
const namespaceOf = getter(Element, "namespaceURI");
const openShadowOf = getter(Element, "shadowRoot");
const nextElementOf = getter(Element, "nextElementSibling");
const previousElementOf = getter(Element, "previousElementSibling");
const firstElementOf = getter(Element, "firstElementChild");
const firstElementOfRoot = getter(DocumentFragment, "firstElementChild");
const attributeOf = method(Element, "getAttribute");
const hasAttribute = method(Element, "hasAttribute");
const attributeNamesOf = method(Element, "getAttributeNames");
const elementMatches = method(Element, "matches");
const closestOf = method(Element, "closest");
const boxOf = method(Element, "getBoundingClientRect");
const boxesOf = method(Element, "getClientRects");
const checkVisibility = method(Element, "checkVisibility");
const nativeSlotOf = getter(Element, "assignedSlot");
const nativeTextSlotOf = getter(Text, "assignedSlot");
const outerHtmlOf = getter(Element, "outerHTML");
const innerHtmlOf = getter(Element, "innerHTML");
const assignedNodesOf = method(HTMLSlotElement, "assignedNodes");
const hostOf = getter(ShadowRoot, "host");
const innerTextOf = getter(HTMLElement, "innerText");
const isContentEditable = getter(HTMLElement, "isContentEditable");
const labelControlOf = getter(HTMLLabelElement, "control");
const documentElementOf = getter(Document, "documentElement");
const bodyOf = getter(Document, "body");
const documentActiveOf = getter(Document, "activeElement");
const shadowActiveOf = getter(ShadowRoot, "activeElement");
const createElement = method(Document, "createElement");
const elementById = method(Document, "getElementById");
const shadowElementById = method(DocumentFragment, "getElementById");

const queryInDocument = method(Document, "querySelectorAll");
const queryInFragment = method(DocumentFragment, "querySelectorAll");
const queryInElement = method(Element, "querySelectorAll");

const ELEMENT = 1;
const TEXT = 3;
const CDATA = 4;
const DOCUMENT = 9;
const FRAGMENT = 11;
const HTML = "http://www.w3.org/1999/xhtml";
const SVG = "http://www.w3.org/2000/svg";
const MATHML = "http://www.w3.org/1998/Math/MathML";

/** Every native match of `selector` below `scope`, within this tree only. */
function queryAll(scope, selector) {
  const type = nodeTypeOf(scope);
  if (type === ELEMENT) return queryInElement(scope, selector);
  return type === DOCUMENT ? queryInDocument(scope, selector) : queryInFragment(scope, selector);
}

const isElement = (node) => nodeTypeOf(node) === ELEMENT;
const isHtml = (element) => namespaceOf(element) === HTML;
/** The name of an HTML element; `svg:name` for SVG, so that the `<title>` of a drawing is not taken for a page's. */
function tagOf(element) {
  const name = localNameOf(element);
  const space = namespaceOf(element);
  return space === HTML ? name : space === SVG ? `svg:${name}` : `other:${name}`;
}
const inputTypeOf = getter(HTMLInputElement, "type");
/** The type of an `<input>`, "" for every other element. */
const typeOf = (element) => (tagOf(element) === "input" ? inputTypeOf(element) : "");

// ---- shadow roots ----

/** Closed shadow roots passed by the host, by their host element. */
const adopted = new WeakMap();
let adoptedAny = false;

function adopt(host, root) {
  adopted.set(host, root);
  adoptedAny = true;
}

/** The shadow root of an element: an open one, or a closed one that was adopted. */
function shadowOf(element) {
  return openShadowOf(element) || (adoptedAny && adopted.get(element)) || null;
}

// Results cached during one operation. Scripts of the page cannot run in between, so no entry is stale; `forget` starts
// afresh.
let seen = freshSeen();

function freshSeen() {
  return { looks: new Map(), roots: new Map(), texts: new Map(), names: new Map(), hidden: new Map(), roles: new Map(), queries: new Map(), specials: null };
}

function forget() {
  seen = freshSeen();
}

/**
 * All shadow roots below `scope`, including nested ones and that of `scope` itself. In the order of their hosts:
 * each before the next one of its tree, and after the one that contains it.
 */
function rootsIn(scope) {
  let roots = seen.roots.get(scope);
  if (roots) return roots;
  roots = [];
  const pending = [scope];
  while (pending.length) {
    const tree = pending.pop();
    if (tree !== scope) roots.push(tree);
    const inner = [];
    if (nodeTypeOf(tree) === ELEMENT) {
      const own = shadowOf(tree);
      if (own) inner.push(own);
    }
    const all = queryAll(tree, "*");
    for (let index = 0, count = all.length; index < count; index++) {
      const root = adoptedAny ? shadowOf(all[index]) : openShadowOf(all[index]);
      if (root) inner.push(root);
    }
    while (inner.length) pending.push(inner.pop());
  }
  seen.roots.set(scope, roots);
  return roots;
}

// ---- composed tree (a shadow root belongs to its host) and flat tree (slots filled) ----

/** The parent element; for the top of a shadow tree its host, null at the top of the document. */
function parentOf(node) {
  const parent = parentNodeOf(node);
  if (!parent) return null;
  const type = nodeTypeOf(parent);
  if (type === ELEMENT) return parent;
  return type === FRAGMENT && parent instanceof ShadowRoot ? hostOf(parent) : null;
}

/** The slot that shows a node, including one in an adopted closed root, whose `assignedSlot` is null by design. */
function slotOf(node) {
  const type = nodeTypeOf(node);
  const native = type === ELEMENT ? nativeSlotOf(node) : type === TEXT ? nativeTextSlotOf(node) : null;
  if (native || !adoptedAny) return native;
  const parent = parentNodeOf(node);
  const root = parent && nodeTypeOf(parent) === ELEMENT ? adopted.get(parent) : null;
  if (!root) return null;
  for (const slot of queryInFragment(root, "slot")) {
    if (assignedNodesOf(slot).includes(node)) return slot;
  }
  return null;
}

/** The parent in the flat tree. */
const flatParentOf = (node) => slotOf(node) || parentOf(node);

/** The children in the flat tree: a host has its root's, a slot its assigned nodes, closed details only the summary. */
function flatChildrenOf(element) {
  const root = shadowOf(element);
  const name = root ? "" : localNameOf(element);
  if (name === "slot" && isHtml(element)) {
    const assigned = assignedNodesOf(element);
    if (assigned.length) return assigned;
  }
  if (name === "details" && !hasAttribute(element, "open")) {
    let child = firstElementOf(element);
    while (child && localNameOf(child) !== "summary") child = nextElementOf(child);
    return child ? [child] : [];
  }
  const children = [];
  for (let child = firstChildOf(root || element); child; child = nextSiblingOf(child)) children.push(child);
  return children;
}

/** Whether `ancestor` is `node` or above it, across shadow roots and slots. */
function flatContains(ancestor, node) {
  for (let at = node; at; at = flatParentOf(at)) {
    if (at === ancestor) return true;
  }
  return false;
}

/** Whether `ancestor` is `node` or above it, across shadow roots but not through slots. */
function composedContains(ancestor, node) {
  for (let at = node; at; at = parentOf(at)) {
    if (at === ancestor) return true;
  }
  return false;
}

/** Document order; the content of a shadow root comes after its host and the host's own children. */
function compareInOrder(a, b) {
  if (a === b) return 0;
  let position = positionOf(a, b);
  if (!(position & Node.DOCUMENT_POSITION_DISCONNECTED)) return position & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1;
  const chainOf = (node) => {
    const chain = [node];
    for (let root = rootOf(node); root instanceof ShadowRoot; root = rootOf(chain[0])) chain.unshift(hostOf(root));
    return chain;
  };
  const chainA = chainOf(a);
  const chainB = chainOf(b);
  let level = 0;
  while (level < chainA.length && level < chainB.length && chainA[level] === chainB[level]) level++;
  if (level === chainA.length) return -1;
  if (level === chainB.length) return 1;
  position = positionOf(chainA[level], chainB[level]);
  if (position & Node.DOCUMENT_POSITION_CONTAINED_BY) return level < chainA.length - 1 ? 1 : -1;
  if (position & Node.DOCUMENT_POSITION_CONTAINS) return level < chainB.length - 1 ? -1 : 1;
  return position & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1;
}

/** The elements without duplicates, in document order. */
function inOrder(elements) {
  const unique = [...new Set(elements)];
  // Mostly they are in order already, and one pass is much cheaper than a sort.
  return unique.every((element, index) => index === 0 || compareInOrder(unique[index - 1], element) < 0) ? unique : unique.sort(compareInOrder);
}

/** The elements whose ids an attribute lists, looked up in the tree of the element. */
function referredBy(element, attribute) {
  const value = attributeOf(element, attribute);
  if (!value) return [];
  const root = rootOf(element);
  const find = root instanceof ShadowRoot ? shadowElementById : nodeTypeOf(root) === DOCUMENT ? elementById : null;
  if (!find) return [];
  const found = [];
  for (const id of value.split(/\s+/)) {
    const target = id && find(root, id);
    if (target && !found.includes(target)) found.push(target);
  }
  return found;
}

const labelGetters = {
  button: getter(HTMLButtonElement, "labels"), input: getter(HTMLInputElement, "labels"), meter: getter(HTMLMeterElement, "labels"),
  output: getter(HTMLOutputElement, "labels"), progress: getter(HTMLProgressElement, "labels"), select: getter(HTMLSelectElement, "labels"),
  textarea: getter(HTMLTextAreaElement, "labels"),
};
/** The `<label>`s of a control; empty for other elements. */
function labelsOf(element) {
  const tag = tagOf(element);
  return Object.hasOwn(labelGetters, tag) ? Array.from(labelGetters[tag](element) || []) : [];
}

/** The focused element, including inside of shadow roots. */
function activeElement() {
  let active = documentActiveOf(document);
  for (;;) {
    const root = active && shadowOf(active);
    const inner = root && shadowActiveOf(root);
    if (!inner) return active;
    active = inner;
  }
}

const styleOf = (element, pseudo) => getComputedStyle(element, pseudo);

/** The style properties that a traversal needs, cached; computed styles are its most expensive part. */
function lookOf(element) {
  let look = seen.looks.get(element);
  if (!look) {
    const { display, visibility, cursor } = styleOf(element);
    look = { display, visibility, cursor, inline: display.startsWith("inline") };
    seen.looks.set(element, look);
  }
  return look;
}

// ---- text ----

/**
 * Normalises white space as a reader sees it: runs become one space, ends are trimmed, soft hyphens and zero-width
 * spaces are dropped.
 */
function normal(text) {
  return text.replace(/[\u200b\u00ad]/g, "").replace(/\s+/g, " ").trim();
}

function shortened(text, length) {
  if (text.length <= length) return text;
  const cut = text.slice(0, length - 1);
  // Half of a surrogate pair would not survive the transfer to the host.
  return `${/[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut}\u2026`;
}

/** An error of the caller; `run` returns it as a failure. */
class Fault {
  constructor(error, fields) {
    this.failure = { error, ...fields };
  }
}
const badSelector = (message) => new Fault("selector", { message });
