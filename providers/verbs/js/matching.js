// Text matching, and the text of elements as locators see it: search by text, by label, by attribute.
//
// Knows the tree and its text; nothing of roles, CSS or operations.

/** A predicate on strings for a `Text`: `{text, exact?}` or `{regex, flags}`. */
function matcherOf(text) {
  if (text.regex !== undefined) {
    const regex = regexOf(text.regex, text.flags);
    return (value) => ((regex.lastIndex = 0), regex.test(value));
  }
  const wanted = normal(String(text.text));
  if (text.exact) return (value) => normal(value) === wanted;
  const lower = wanted.toLowerCase();
  return (value) => normal(value).toLowerCase().includes(lower);
}

function regexOf(source, flags) {
  try {
    return new RegExp(source, flags || "");
  } catch (error) {
    throw badSelector(error.message);
  }
}

/** Whether the text inside an element is not text of the page. */
function isTextless(element) {
  const tag = localNameOf(element);
  return tag === "script" || tag === "style" || tag === "noscript" || tag === "head" || (tag === "title" && isHtml(element));
}

const BUTTON_INPUT = "input[type=button], input[type=submit], input[type=reset]";
const valueGetters = { input: getter(HTMLInputElement, "value"), textarea: getter(HTMLTextAreaElement, "value"), select: getter(HTMLSelectElement, "value") };

/**
 * The text of an element including its shadow tree: `full` is the whole text, `immediate` the runs of its own text
 * nodes. An input that is a button has its value as text.
 */
function textOf(node) {
  let text = seen.texts.get(node);
  if (text) return text;
  text = { full: "", immediate: [], normalised: null };
  seen.texts.set(node, text);
  const element = isElement(node);
  if (element && isTextless(node)) return text;
  if (element && localNameOf(node) === "input" && elementMatches(node, BUTTON_INPUT)) {
    text.full = valueGetters.input(node);
    text.immediate.push(text.full);
    return text;
  }
  let run = "";
  for (let child = firstChildOf(node); child; child = nextSiblingOf(child)) {
    const type = nodeTypeOf(child);
    if (type === TEXT || type === CDATA) {
      const value = nodeValueOf(child);
      text.full += value;
      run += value;
    } else if (type === ELEMENT) {
      if (run) text.immediate.push(run);
      run = "";
      text.full += textOf(child).full;
    }
  }
  if (run) text.immediate.push(run);
  const root = element && shadowOf(node);
  if (root) text.full += textOf(root).full;
  return text;
}

function normalTextOf(node) {
  const text = textOf(node);
  return (text.normalised ??= normal(text.full));
}

/** A predicate on elements for a `Text`, tested on the whole text. */
function textMatcherOf(text) {
  if (text.regex !== undefined) {
    const matches = matcherOf(text);
    return (node) => matches(textOf(node).full);
  }
  const wanted = normal(String(text.text));
  // As `text="..."` in Playwright: a single run of the element's own text, without the text of its children.
  if (text.own) return (node) => (wanted === "" ? !textOf(node).immediate.length : textOf(node).immediate.some((run) => normal(run) === wanted));
  if (text.exact) return (node) => normalTextOf(node) === wanted;
  const lower = wanted.toLowerCase();
  return (node) => normalTextOf(node).toLowerCase().includes(lower);
}

/** "none", "self", or "inner" when a child matches as well and so is the smaller match. */
function textMatch(element, matches) {
  if (isTextless(element) || !matches(element)) return "none";
  for (let child = firstElementOf(element); child; child = nextElementOf(child)) {
    if (!isTextless(child) && matches(child)) return "inner";
  }
  const root = shadowOf(element);
  return root && matches(root) ? "inner" : "self";
}

/** Elements with text that the native `textContent` of an ancestor does not include, and all their ancestors. */
function specials(scope) {
  if (seen.specials) return seen.specials;
  const set = new Set();
  const add = (node) => {
    for (let at = node; at && !set.has(at); at = parentOf(at)) set.add(at);
  };
  for (const root of [scope, ...rootsIn(scope)]) {
    if (root !== scope) add(hostOf(root));
    for (const input of queryAll(root, BUTTON_INPUT)) add(input);
  }
  return (seen.specials = set);
}

/** The smallest elements below `scope`, or `scope` itself, that contain the text. */
function findByText(scope, text) {
  const matches = textMatcherOf(text);
  // Only a plain substring is also contained in every ancestor's text; a pattern or a whole text may match a child
  // alone.
  const lower = text.regex === undefined && !text.exact ? normal(String(text.text)).toLowerCase() : null;
  const wanted = text.regex === undefined && text.exact ? normal(String(text.text)) : null;
  const special = specials(document);
  // One native lookup excludes most of a page. It includes text that is not visible, so it can only exclude.
  const mayMatch = (element) => {
    if (lower === "" || wanted === "" || (lower === null && wanted === null) || special.has(element)) return true;
    const value = normal(rawTextOf(element));
    return lower !== null ? value.toLowerCase().includes(lower) : value.includes(wanted);
  };
  const found = [];
  // Tree by tree, as in `queryDeep`.
  let inner = [];
  const visit = (element) => {
    if (isTextless(element)) return;
    if (!mayMatch(element)) return;
    if (textMatch(element, matches) === "self") found.push(element);
    const root = shadowOf(element);
    if (root) inner.push(root);
    for (let child = firstElementOf(element); child; child = nextElementOf(child)) visit(child);
  };
  const pending = [scope];
  while (pending.length) {
    const tree = pending.pop();
    if (nodeTypeOf(tree) === ELEMENT) visit(tree);
    else for (let child = firstChildOf(tree); child; child = nextSiblingOf(child)) if (isElement(child)) visit(child);
    while (inner.length) pending.push(inner.pop());
  }
  return found;
}

/** The texts that label an element, by precedence: aria-labelledby, aria-label, `<label>`. */
function labelTextsOf(element) {
  const referred = referredBy(element, "aria-labelledby");
  if (referred.length) return referred.map((label) => textOf(label).full);
  const own = attributeOf(element, "aria-label");
  if (own !== null && own.trim()) return [own];
  if (typeOf(element) === "hidden") return [];
  return labelsOf(element).map((label) => textOf(label).full);
}

const LABELLED = "[aria-label], [aria-labelledby], button, input, meter, output, progress, select, textarea";

function findByLabel(scope, text) {
  const matches = matcherOf(text);
  return queryDeep(scope, LABELLED).filter((element) => labelTextsOf(element).some(matches));
}

function findByAttribute(scope, name, text) {
  const matches = matcherOf(text);
  return queryDeep(scope, `[${name}]`).filter((element) => matches(attributeOf(element, name)));
}

/**
 * Matches of a native selector in the scope's tree, in document order, followed by those of each shadow tree below
 * it: the order of Playwright's lists.
 */
function queryDeep(scope, selector) {
  const found = Array.from(queryAll(scope, selector));
  for (const root of rootsIn(scope)) for (const element of queryInFragment(root, selector)) found.push(element);
  return found;
}
