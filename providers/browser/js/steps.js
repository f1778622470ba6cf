// The steps that describe a target, and how they read in messages. Knows no page: a step is plain data, in the form
// that `../../verbs` reads.

/** A text to match: a string, or a regular expression. */
const textStep = (method, value, exact) => {
  if (value instanceof RegExp) return { regex: value.source, flags: value.flags };
  if (typeof value === "number") value = String(value);
  if (typeof value !== "string") {
    throw wrongArgument(method, `a text must be a string or a regular expression, and this is ${typeName(value)}`);
  }
  return exact ? { text: value, exact: true } : { text: value };
};

const typeName = (value) => (value === null ? "null" : Array.isArray(value) ? "an array" : `of type ${typeof value}`);

/** A text in quotation marks, or a regular expression, as source. */
const quoted = (value) => {
  if (value instanceof RegExp) return String(value);
  const text = String(value);
  // Most texts need no escape, and a regular expression costs more than the rest of a locator.
  const isPlain = !text.includes("'") && !text.includes("\\") && !text.includes("\n") && !text.includes("\r");
  if (isPlain && !text.includes("\t")) return `'${text}'`;
  const escapes = { "'": "\\'", "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t" };
  return `'${text.replace(/['\\\n\r\t]/g, (letter) => escapes[letter])}'`;
};

/** A ref of a snapshot, such as `@e5` or `e5`. */
const isRef = (selector) => (selector[0] === "@" || selector[0] === "e") && /^@?e\d+\s*$/.test(selector);

/** The step of a selector string. */
const selectorStep = (method, selector) => {
  if (typeof selector === "string") return { by: "selector", value: selector };
  throw wrongArgument(
    method,
    `a selector must be a string or a locator, and this is ${typeName(selector)}`,
    'Name the element as "#id", "text=…", "@e5", or by page.getByRole(role, { name }).',
  );
};

const ROLE_STATES = ["checked", "disabled", "expanded", "includeHidden", "level", "pressed", "selected"];

/**
 * The states that the options of `getByRole` specify. Mostly there are none, and testing one by one is faster than a
 * loop.
 */
const statesOf = (options) =>
  options.checked === undefined && options.disabled === undefined && options.expanded === undefined &&
  options.includeHidden === undefined && options.level === undefined && options.pressed === undefined &&
  options.selected === undefined
    ? NO_STATES
    : ROLE_STATES.filter((state) => options[state] !== undefined);

const NO_STATES = [];

/** The step of `getByRole`. */
const roleStep = (role, options) => {
  const step = { by: "role", role: String(role) };
  if (options === undefined) return step;
  if (typeof options !== "object") {
    const instead = `Write getByRole(${quoted(role)}, { name: ${quoted(options)} }).`;
    throw wrongArgument("getByRole", `the options are ${typeName(options)}`, instead);
  }
  const { name, description, exact } = options;
  if (name !== undefined) step.name = textStep("getByRole", name, exact);
  if (description !== undefined) step.description = textStep("getByRole", description, exact);
  for (const state of statesOf(options)) step[state] = options[state];
  return step;
};

/** How `getByRole` with these options reads. */
const roleText = (role, options) => {
  if (options === undefined) return `getByRole(${quoted(role)})`;
  const { name, description, exact } = options;
  let text = name === undefined ? "" : `, name: ${quoted(name)}`;
  if (description !== undefined) text += `, description: ${quoted(description)}`;
  if (exact && (typeof name === "string" || typeof description === "string")) text += ", exact: true";
  for (const state of statesOf(options)) text += `, ${state}: ${options[state] === "mixed" ? "'mixed'" : options[state]}`;
  return text === "" ? `getByRole(${quoted(role)})` : `getByRole(${quoted(role)}, { ${text.slice(2)} })`;
};

/** How a method that takes a text and `exact` reads. */
const textText = (method, value, exact) =>
  exact && typeof value === "string" ? `${method}(${quoted(value)}, { exact: true })` : `${method}(${quoted(value)})`;

/** Joins two parts by a full stop. */
const chained = (text, part) => (text === "" ? part : `${text}.${part}`);

/** A URL to wait for or to intercept, in the host's form. */
const urlPattern = (url, base) => {
  if (url instanceof RegExp) return { regex: url.source, flags: url.flags };
  return { glob: resolvedGlob(url, base) };
};

/** Resolves a path against the page's site. */
const absoluteUrl = (url, base) => {
  if (!url.startsWith("/") || url.startsWith("//")) return url;
  const origin = /^https?:\/\/[^/?#]+/.exec(base ?? "");
  return origin === null ? url : origin[0] + url;
};

// Globs are as in `../../verbs/src/pattern.rs`, which describes them.

/** Resolves a glob against the URL of its page. */
const resolvedGlob = (glob, base) => {
  if (glob.startsWith("*")) return glob;
  const special = [];
  const word = (part) => `codemode-${special.push(part) - 1}-glob`;
  const parts = glob.split("/");
  // The special part is in the scheme, or in what has no path.
  if (SPECIAL.test(parts[0]) && parts[0].includes(":")) return glob;
  const plain = parts.map((part) => {
    if (!SPECIAL.test(part)) return part;
    const query = part.indexOf("?");
    if (query < 0) return word(part);
    return `${query === 0 ? "" : word(part.slice(0, query))}?${word(part.slice(query + 1))}`;
  }).join("/");
  const around = base !== undefined && URL.canParse(base) ? base : undefined;
  if (!URL.canParse(plain, around)) return glob;
  return new URL(plain, around).href.replace(/codemode-(\d+)-glob/g, (_, at) => special[at] ?? "");
};

const SPECIAL = /[*{}\\]/;

/** The regular expression of a glob: `*` within a path segment, `**` across segments, `{a,b}`, `\` before a letter. */
const globPattern = (glob) => {
  let [source, depth] = ["^", 0];
  for (let at = 0; at < glob.length; at++) {
    const letter = glob[at];
    if (letter === "\\" && at + 1 < glob.length) source += escaped(glob[++at]);
    else if (letter === "*" && glob[at + 1] === "*") {
      const before = glob[at - 1];
      while (glob[at + 1] === "*") at++;
      if (glob[at + 1] === "/") {
        at++;
        source += before === "/" ? "(?:.+/)?" : "(?:.*/)";
      } else source += ".*";
    } else if (letter === "*") source += "[^/]*";
    else if (letter === "{") {
      depth++;
      source += "(?:";
    } else if (letter === "}" && depth > 0) {
      depth--;
      source += ")";
    } else if (letter === "," && depth > 0) source += "|";
    else source += escaped(letter);
  }
  return new RegExp(`${source}${")".repeat(depth)}$`);
};

const escaped = (letter) => (/[\\^$.*+?()[\]{}|]/.test(letter) ? `\\${letter}` : letter);

/** A predicate on URL strings. `match` is a string, a regular expression or a predicate on URL objects. */
const urlTest = (method, match, base) => {
  if (match instanceof RegExp) return (url) => url.search(match) >= 0;
  if (typeof match === "function") return (url) => match(new URL(url));
  if (typeof match !== "string") {
    const message = `a url must be a string, a regular expression or a function, and this is ${typeName(match)}`;
    throw wrongArgument(method, message);
  }
  const pattern = globPattern(resolvedGlob(match, base));
  return (url) => pattern.test(url);
};
