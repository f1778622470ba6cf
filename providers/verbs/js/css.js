// CSS selectors that reach through shadow roots, with additional pseudo-classes: `:has-text`, `:text`, `:text-is`,
// `:text-matches`, `:visible`, `:nth-match`, also inside of `:has`, `:is`, `:not`, `:where`.
//
// A selector that the browser understands is passed to the browser; only the rest is matched here, right to left. Knows
// text and visibility of elements; nothing of steps, roles or operations.

const NESTING = new Set(["has", "is", "where", "not"]);
const OWN = new Set(["has-text", "text", "text-is", "text-matches", "visible", "nth-match"]);

// A selector list is `{text, plain, compound, complexes}`. `plain`: the browser can match it within one tree.
// `compound`: no part of it refers to another element, so that each tree can be queried separately. A complex selector
// is a list of parts `{combinator, native, own}`: `native` is matched by the browser, `own` are tests done here.
const parsed = new Map();
/** An empty tree on which the browser checks whether it understands a selector. */
const probe = new DocumentFragment();
const PARSED_MAX = 500;

function parseCss(text) {
  let list = parsed.get(text);
  if (list) return list;
  list = parseList(text, false);
  try {
    if (list.plain) queryInFragment(probe, text);
    for (const parts of list.plain ? [] : list.complexes) {
      for (const part of parts) if (part.native) queryInFragment(probe, part.native);
    }
  } catch {
    throw badSelector(`"${text}" is not a valid CSS selector`);
  }
  if (parsed.size >= PARSED_MAX) parsed.clear();
  parsed.set(text, list);
  return list;
}

function parseList(text, relative) {
  const complexes = splitOutside(text, ",").map((source) => parseComplex(source, text, relative));
  const all = complexes.flat();
  return {
    text,
    complexes,
    plain: all.every((part) => !part.lead && part.own.every((test) => test.plain)),
    compound: complexes.every((parts) => parts.length === 1) && all.every((part) => part.own.length === 0),
  };
}

/** Splits at a character that is in no string, bracket or parenthesis. */
function splitOutside(text, separator) {
  const pieces = [];
  let from = 0;
  for (let at = 0; at < text.length; ) {
    if (text[at] === separator) pieces.push(text.slice(from, at)), (from = at + 1);
    at = skip(text, at);
  }
  pieces.push(text.slice(from));
  return pieces;
}

/** The position after the character, escape, string, bracket or parenthesis at `at`. */
function skip(text, at) {
  const first = text[at];
  if (first === "\\") return at + 2;
  if (first === '"' || first === "'") {
    for (at++; at < text.length && text[at] !== first; at++) if (text[at] === "\\") at++;
    if (at >= text.length) throw badSelector(`"${text}" has a string without an end`);
    return at + 1;
  }
  if (first === "[" || first === "(") {
    const last = first === "[" ? "]" : ")";
    for (at++; at < text.length && text[at] !== last; ) at = skip(text, at);
    if (at >= text.length) throw badSelector(`"${text}" lacks a "${last}"`);
    return at + 1;
  }
  return at + 1;
}

function parseComplex(source, whole, relative) {
  const parts = [];
  const text = source.trim();
  if (!text) throw badSelector(`"${whole}" is not a valid CSS selector`);
  let combinator = null;
  let at = 0;
  while (at < text.length) {
    const gap = /^\s*([>+~]?)\s*/.exec(text.slice(at));
    if (gap[0]) {
      at += gap[0].length;
      if (at >= text.length) throw badSelector(`"${whole}" ends with a combinator`);
      combinator = gap[1] || " ";
    }
    if (parts.length === 0 && (combinator || relative)) {
      parts.push({ combinator: null, native: "", own: [scopeTest], lead: true });
      combinator = combinator && combinator !== " " ? combinator : " ";
    }
    const part = parseCompound(text, at, whole);
    part.combinator = parts.length ? combinator : null;
    parts.push(part);
    at = part.end;
    combinator = null;
  }
  return parts;
}

function parseCompound(text, from, whole) {
  const part = { combinator: null, native: "", own: [], end: from, lead: false };
  let at = from;
  while (at < text.length && !/[\s>+~]/.test(text[at])) {
    const name = text[at] === ":" && text[at - 1] !== ":" ? /^:([a-z-]+)/i.exec(text.slice(at))?.[1].toLowerCase() : undefined;
    if (name === undefined || !(OWN.has(name) || NESTING.has(name) || name === "scope")) {
      const next = skip(text, at);
      part.native += text.slice(at, next);
      at = next;
      continue;
    }
    const open = at + 1 + name.length;
    const end = text[open] === "(" ? skip(text, open) : open;
    const test = parseTest(name, text[open] === "(" ? text.slice(open + 1, end - 1) : null, whole);
    // Without additional pseudo-classes inside, only `:has` must be matched here: the browser's does not see shadow
    // trees.
    if (test.plain && (name === "is" || name === "not" || name === "where")) part.native += text.slice(at, end);
    else part.own.push(test);
    at = end;
  }
  if (at === from) throw badSelector(`"${whole}" is not a valid CSS selector`);
  part.end = at;
  return part;
}

/** The string arguments of an additional pseudo-class. */
function stringsOf(name, argument, whole) {
  const strings = splitOutside(argument ?? "", ",").map((piece) => /^(["'])([^]*)\1$/.exec(piece.trim()));
  if (strings.some((match) => !match)) throw badSelector(`":${name}" in "${whole}" needs a quoted text, as in :${name}("text")`);
  return strings.map((match) => match[2].replace(/\\(?:([0-9a-f]{1,6})\s?|([^]))/gi, (_, code, sign) => (code ? String.fromCodePoint(parseInt(code, 16)) : sign)));
}

const scopeTest = { plain: true, test: (element, context) => element === context.self };

function parseTest(name, argument, whole) {
  if (name === "scope") return scopeTest;
  if (name === "visible") return { plain: false, test: (element) => isVisible(element) };
  if (name === "nth-match") {
    const pieces = splitOutside(argument ?? "", ",");
    const index = Number(pieces.pop());
    if (!pieces.length || !Number.isInteger(index) || index < 1) throw badSelector(`":nth-match" in "${whole}" needs a selector and a number from 1 on`);
    const list = parseList(pieces.join(","), false);
    return { plain: false, test: (element, context) => matchesOf(list, context)[index - 1] === element };
  }
  if (NESTING.has(name)) {
    if (argument === null) throw badSelector(`":${name}" in "${whole}" needs a selector`);
    const list = parseList(argument, name === "has");
    if (name === "has") {
      const plain = list.complexes.every((parts) => parts.slice(1).every((part) => part.own.every((test) => test.plain)));
      return { plain, test: (element, context) => hasRelative(element, list, context) };
    }
    const matches = (element, context) => list.complexes.some((parts) => matchesComplex(element, parts, parts.length - 1, context));
    return { plain: list.plain, test: name === "not" ? (element, context) => !matches(element, context) : matches };
  }
  const strings = stringsOf(name, argument, whole);
  if (name === "text-matches") {
    const matches = textMatcherOf({ regex: strings[0], flags: strings[1] });
    return { plain: false, test: (element) => textMatch(element, matches) === "self" };
  }
  if (strings.length !== 1) throw badSelector(`":${name}" in "${whole}" needs one text`);
  if (name === "text-is") {
    const matches = textMatcherOf({ text: strings[0], own: true });
    return { plain: false, test: (element) => textMatch(element, matches) !== "none" };
  }
  const text = { text: strings[0] };
  const matches = textMatcherOf(text);
  if (name === "text") return { plain: false, text, test: (element) => textMatch(element, matches) === "self" };
  return { plain: false, test: (element) => !isTextless(element) && matches(element) };
}

// ---- matching ----

/** Whether a complex selector continues with siblings of its scope, as `+ p` does, instead of descendants. */
const goesBeside = (parts) => parts.length > 1 && parts[0].own.includes(scopeTest) && (parts[1].combinator === "+" || parts[1].combinator === "~");

/** Whether a complex selector matches its scope itself, as `:scope.selected` does. */
const meansScope = (parts) => parts[parts.length - 1].own.includes(scopeTest);

/**
 * Every match below `scope`, or among its siblings or itself where the selector says so: tree by tree, or in
 * document order if the selector is a list.
 */
function queryCss(scope, text) {
  const list = parseCss(text);
  const parent = nodeTypeOf(scope) === ELEMENT && list.complexes.some(goesBeside) ? parentNodeOf(scope) : null;
  if (parent) {
    const [beside, inside] = [true, false].map((is) => list.complexes.filter((parts) => goesBeside(parts) === is));
    const found = matchesOf({ ...list, complexes: beside }, { scope: parent, self: scope });
    if (inside.length === 0) return found;
    return inOrder([...found, ...matchesOf({ ...list, complexes: inside }, { scope, self: scope })]);
  }
  const roots = rootsIn(scope);
  if (list.plain && !list.complexes.some(meansScope) && (roots.length === 0 || list.compound)) {
    // For the browser, a part of a longer selector may match above the scope; here it must be within the scope.
    if (nodeTypeOf(scope) !== ELEMENT || list.compound) {
      const found = queryDeep(scope, list.text);
      return list.complexes.length > 1 && roots.length ? inOrder(found) : found;
    }
  }
  return matchesOf(list, { scope, self: selfOf(scope) });
}

const selfOf = (scope) => (nodeTypeOf(scope) === DOCUMENT ? documentElementOf(scope) : scope);

/**
 * All matches of a parsed list in a context; `context.scope` bounds the search, `context.self` is the element of
 * `:scope`.
 */
function matchesOf(list, context) {
  let known = seen.queries.get(list);
  if (known?.scope === context.scope && known.self === context.self) return known.found;
  const found = [];
  for (const parts of list.complexes) {
    const last = parts[parts.length - 1];
    const byText = !last.native && last.own.find((test) => test.text);
    const candidates = meansScope(parts) ? [context.self].filter((self) => !last.native || elementMatches(self, last.native)) : byText ? findByText(context.scope, byText.text).filter((element) => element !== context.scope) : queryDeep(context.scope, last.native || "*");
    for (const element of candidates) {
      if (matchesRest(element, parts, parts.length - 1, context)) found.push(element);
    }
  }
  const ordered = list.complexes.length > 1 ? inOrder(found) : found;
  known = { scope: context.scope, self: context.self, found: ordered };
  seen.queries.set(list, known);
  return ordered;
}

function matchesComplex(element, parts, index, context) {
  const { native } = parts[index];
  return (!native || elementMatches(element, native)) && matchesRest(element, parts, index, context);
}

/** Matches the rest of the selector for an element that `parts[index].native` matches. */
function matchesRest(element, parts, index, context) {
  const part = parts[index];
  for (const test of part.own) if (!test.test(element, context)) return false;
  if (index === 0) return true;
  const above = (at) => (at === context.scope ? null : parentOf(at));
  switch (part.combinator) {
    case " ":
      for (let at = above(element); at; at = above(at)) if (matchesComplex(at, parts, index - 1, context)) return true;
      return false;
    case "~":
      for (let at = previousElementOf(element); at; at = previousElementOf(at)) if (matchesComplex(at, parts, index - 1, context)) return true;
      return false;
    default: {
      const at = part.combinator === ">" ? above(element) : previousElementOf(element);
      return Boolean(at) && matchesComplex(at, parts, index - 1, context);
    }
  }
}

function hasRelative(element, list, context) {
  return list.complexes.some((parts) => {
    const beside = parts[1].combinator === "+" || parts[1].combinator === "~";
    // Siblings and their descendants are searched from the parent.
    const scope = beside ? parentNodeOf(element) : element;
    if (!scope) return false;
    const last = parts[parts.length - 1];
    const inner = { scope: beside ? scope : element, self: element };
    return queryDeep(scope, last.native || "*").some((candidate) => matchesRest(candidate, parts, parts.length - 1, inner));
  });
}
