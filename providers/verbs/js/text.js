// Content for readers: the visible content as plain text and markdown.
//
// Follows the flat tree, so that shadow trees and slots appear where a reader sees them. Changes nothing.

const SKIPPED = new Set("script style noscript template head title meta link svg:svg canvas audio video object embed iframe".split(" "));
const MAIN = "main, [role=main]";

/** The main content of a page: its main element or only article; null if there is none. */
function contentRoot() {
  const shown = (selector) => queryDeep(document, selector).filter(isVisible);
  const main = shown(MAIN);
  if (main.length) return main[0];
  const articles = shown("article, [role=article]").filter((article, _, all) => !all.some((other) => other !== article && composedContains(other, article)));
  return articles.length === 1 ? articles[0] : null;
}

const isBlock = (style, tag) => tag === "br" || !(style.inline || style.display === "contents");

function isShown(element) {
  if (SKIPPED.has(tagOf(element))) return false;
  const style = lookOf(element);
  return style.display === "contents" || (style.display !== "none" && checkVisibility(element));
}

/** A text that grows at its end, in time that does not depend on its length. */
class Growing {
  /** None is empty. */
  #parts = [];

  add(text) {
    if (text) this.#parts.push(text);
  }

  isEmpty() {
    return this.#parts.length === 0;
  }

  /** Whether the text before its last `but` letters ends with a letter that the pattern matches. */
  endsWith(pattern, but = 0) {
    let at = this.#parts.length - 1;
    while (at >= 0 && this.#parts[at].length <= but) but -= this.#parts[at--].length;
    return at >= 0 && pattern.test(this.#parts[at].at(-1 - but));
  }

  /** Removes the letters that the pattern matches from the end. */
  trimEnd(pattern) {
    while (this.endsWith(pattern)) {
      const last = this.#parts.pop();
      let end = last.length - 1;
      while (end > 0 && pattern.test(last[end - 1])) end--;
      this.add(last.slice(0, end));
    }
  }

  toString() {
    return this.#parts.join("");
  }
}

/** All visible text, one line per block. */
function readableText(element) {
  const out = new Growing();
  const line = (count) => {
    out.trimEnd(/[ \t]/);
    for (let at = 0; at < count && !out.isEmpty(); at++) if (!out.endsWith(/\n/, at)) out.add("\n");
  };
  const visit = (node, kept) => {
    const type = nodeTypeOf(node);
    if (type === TEXT) {
      const value = nodeValueOf(node);
      const parent = flatParentOf(node);
      if (parent && lookOf(parent).visibility !== "visible") return;
      const text = kept ? value : value.replace(/[\u200b\u00ad]/g, "").replace(/\s+/g, " ");
      out.add(!kept && (out.isEmpty() || out.endsWith(/\s/)) ? text.replace(/^ /, "") : text);
      return;
    }
    if (type !== ELEMENT || !isShown(node)) return;
    const tag = tagOf(node);
    const style = lookOf(node);
    if (tag === "br") {
      out.trimEnd(/[ \t]/);
      return void out.add("\n");
    }
    const value = controlText(node, tag);
    if (value !== null) {
      if (value && !out.isEmpty() && !out.endsWith(/\s/)) out.add(" ");
      return void out.add(value && `${value} `);
    }
    const cell = style.display === "table-cell";
    const block = !cell && isBlock(style, tag);
    const gap = tag === "p" || /^h[1-6]$/.test(tag) ? 2 : 1;
    if (block) line(gap);
    if (cell && !out.isEmpty() && !out.endsWith(/\n/)) {
      out.trimEnd(/ /);
      out.add("\t");
    }
    const keeps = styleOf(node).whiteSpaceCollapse !== "collapse";
    for (const child of flatChildrenOf(node)) visit(child, keeps);
    if (block) line(gap);
  };
  visit(element, false);
  return out.toString().replace(/\n{3,}/g, "\n\n").trim();
}

/** What a control shows in place of its children; null for other elements. */
function controlText(element, tag) {
  if (tag === "input") {
    const type = inputTypeOf(element);
    if (["hidden", "password", "checkbox", "radio", "file", "color", "range", "image"].includes(type)) return "";
    return valueGetters.input(element);
  }
  if (tag === "textarea") return valueGetters.textarea(element);
  if (tag === "select") return Array.from(queryInElement(element, "option")).filter((option) => optionSelectedOf(option)).map((option) => normal(optionLabelOf(option))).join(", ");
  return null;
}

// ---- markdown ----

/** Markdown of an element; for a whole page that of its main content, without navigation. */
function markdownOf(element, wholePage) {
  const root = (wholePage && contentRoot()) || element;
  const blocks = blocksOf(root, { depth: 0, focused: root !== element });
  return blocks.join("\n\n").replace(/[ \t]+\n/g, (gap) => (gap.startsWith("  \n") ? "  \n" : "\n")).trim();
}

/** Whether an element is site navigation or a footer rather than content. */
function isAround(element, tag) {
  if (tag === "nav" || attributeOf(element, "role") === "navigation") return true;
  return (tag === "footer" || attributeOf(element, "role") === "contentinfo") && !closestOf(element, "article");
}

/** The markdown blocks of an element's content. Text between blocks is a paragraph. */
function blocksOf(element, how) {
  const blocks = [];
  let run = "";
  const flush = () => {
    const text = tidyInline(run);
    if (text) blocks.push(text);
    run = "";
  };
  for (const child of flatChildrenOf(element)) {
    const type = nodeTypeOf(child);
    if (type === TEXT) run += inlineText(child);
    if (type !== ELEMENT || !isShown(child)) continue;
    const tag = tagOf(child);
    if (how.focused && isAround(child, tag)) continue;
    if (isBlock(lookOf(child), tag) ? tag !== "br" && !INLINE_ALWAYS.has(tag) : holdsBlocks(child, tag)) {
      flush();
      blocks.push(...blockOf(child, tag, how));
    } else run += inlineOf(child, tag, how);
  }
  flush();
  return blocks.filter(Boolean);
}

// As flex items and grid cells these are laid out as blocks; for a reader they are words of a line.
const INLINE_ALWAYS = new Set(["b", "strong", "i", "em", "code", "img", "button", "input", "select", "textarea", "label"]);
const holdsBlocks = (element, tag) => {
  if (["a", "span", "label", "slot", "div"].includes(tag) || tag.includes("-")) {
    return Boolean(queryInElement(element, "p, div, ul, ol, table, h1, h2, h3, h4, h5, h6, pre, blockquote").length) || Boolean(shadowOf(element));
  }
  return lookOf(element).display === "contents" && Boolean(firstElementOf(element));
};

const tidyInline = (text) => text.replace(/[\u200b\u00ad]/g, "").replace(/[ \t\n\r\f\u00a0]+/g, " ").replace(/ ?\u0000 ?/g, "  \n").replace(/^(\s|\u0000)+|(\s|\u0000)+$/g, "").trim();
const escapeInline = (text) => text.replace(/([\\`*_[\]])/g, "\\$1").replace(/\u0000/g, "");

function inlineText(node) {
  const parent = flatParentOf(node);
  if (parent && lookOf(parent).visibility !== "visible") return "";
  return escapeInline(nodeValueOf(node));
}

function inlineChildren(element, how) {
  let text = "";
  for (const child of flatChildrenOf(element)) {
    if (nodeTypeOf(child) === TEXT) text += inlineText(child);
    else if (isElement(child) && isShown(child)) {
      const tag = tagOf(child);
      const inner = inlineOf(child, tag, how);
      text += isBlock(lookOf(child), tag) && tag !== "br" ? ` ${inner} ` : inner;
    }
  }
  return text;
}

/** Surrounds a text by a mark, with outer spaces outside of the mark, as markdown requires. */
function marked(text, mark) {
  const [, before, inner, after] = /^(\s*)([^]*?)(\s*)$/.exec(text);
  return inner ? `${before}${mark}${inner}${mark}${after}` : text;
}

function inlineOf(element, tag, how) {
  switch (tag) {
    case "br":
      return "\u0000";
    case "b":
    case "strong":
      return marked(inlineChildren(element, how), "**");
    case "i":
    case "em":
      return marked(inlineChildren(element, how), "*");
    case "del":
    case "s":
      return marked(inlineChildren(element, how), "~~");
    case "code":
    case "kbd":
    case "samp": {
      const code = normal(rawTextOf(element));
      return code ? (code.includes("`") ? `\`\` ${code} \`\`` : `\`${code}\``) : "";
    }
    case "img": {
      const alt = normal(attributeOf(element, "alt") || "");
      const source = imageSourceOf(element);
      return alt || (source && !source.startsWith("data:")) ? `![${escapeInline(alt)}](${source.startsWith("data:") ? "" : urlWords(source)})` : "";
    }
    case "a": {
      const text = tidyInline(inlineChildren(element, how));
      const url = hasAttribute(element, "href") ? anchorUrlOf(element) : "";
      const label = text || escapeInline(normal(attributeOf(element, "aria-label") || attributeOf(element, "title") || ""));
      if (!label) return "";
      return url && !url.startsWith("javascript:") ? `[${label}](${urlWords(url)})` : label;
    }
    default:
      return controlText(element, tag) !== null ? escapeInline(controlText(element, tag)) : inlineChildren(element, how);
  }
}
const anchorUrlOf = getter(HTMLAnchorElement, "href");
const imageSourceOf = getter(HTMLImageElement, "src");
const urlWords = (url) => url.replace(/[()\s<>]/g, (sign) => encodeURIComponent(sign).replace(/[()]/g, (round) => (round === "(" ? "%28" : "%29")));

function blockOf(element, tag, how) {
  const heading = /^h([1-6])$/.exec(tag)?.[1] || (explicitRole(element) === "heading" ? levelOf(element) : 0);
  if (heading) {
    const text = tidyInline(inlineChildren(element, how)).replace(/\s*\n\s*/g, " ");
    return text ? [`${"#".repeat(Math.min(Number(heading), 6))} ${text}`] : [];
  }
  switch (tag) {
    case "pre": {
      const code = (isHtml(element) ? innerTextOf(element) : rawTextOf(element)).replace(/\n$/, "");
      const language = /\blang(?:uage)?-([\w+-]+)/.exec(`${attributeOf(element, "class") || ""} ${attributeOf(firstElementOf(element) || element, "class") || ""}`)?.[1] || "";
      const fence = code.includes("```") ? "````" : "```";
      return [`${fence}${language}\n${code}\n${fence}`];
    }
    case "hr":
      return ["---"];
    case "blockquote":
      return [blocksOf(element, how).join("\n\n").replace(/^/gm, "> ").replace(/^> $/gm, ">")].filter((quote) => quote !== ">");
    case "ul":
    case "ol":
    case "menu":
      return listOf(element, tag, how);
    case "table": {
      const table = markdownTable(element, how);
      return table === null ? blocksOf(element, how) : table ? [table] : [];
    }
    case "a": {
      // A link around a whole card: its text is the link's.
      const link = inlineOf(element, tag, how);
      return link ? [link] : [];
    }
    case "dt":
      return [marked(tidyInline(inlineChildren(element, how)), "**")].filter(Boolean);
    default: {
      const control = controlText(element, tag);
      if (control !== null) return control ? [escapeInline(control)] : [];
      return blocksOf(element, how);
    }
  }
}

function listOf(element, tag, how) {
  const lines = [];
  let number = tag === "ol" ? Number(attributeOf(element, "start") ?? 1) || 1 : 0;
  for (const item of flatChildrenOf(element)) {
    if (!isElement(item) || !isShown(item)) continue;
    const blocks = blocksOf(item, { ...how, depth: how.depth + 1 });
    const nested = tagOf(item) === "ul" || tagOf(item) === "ol" ? listOf(item, tagOf(item), how) : null;
    const bullet = tag === "ol" ? `${number++}. ` : "- ";
    const indent = " ".repeat(bullet.length);
    const text = nested ? nested.join("\n") : blocks.reduce((all, block) => (all === "" ? block : `${all}${/^(- |\d+\. )/.test(block) ? "\n" : "\n\n"}${block}`), "");
    if (text) lines.push(`${bullet}${text.replace(/\n(?=.)/g, `\n${indent}`)}`);
  }
  return lines.length ? [lines.join("\n")] : [];
}

/** A table as markdown; "" for an empty one, null for a layout table. */
function markdownTable(element, how) {
  if (["presentation", "none"].includes(explicitRole(element)) || queryInElement(element, "table, ul, ol, h1, h2, h3, p + p").length) return null;
  const { grid, headerCount } = gridOf(element, (cell) => tidyInline(inlineChildren(cell, how)).replace(/\s*\n\s*/g, " ").replace(/\|/g, "\\|"));
  if (!grid.length) return "";
  const width = Math.max(...grid.map((row) => row.length));
  const line = (row) => `| ${Array.from({ length: width }, (_, index) => row[index] || "").join(" | ")} |`;
  const head = headerCount ? headersOf(grid, headerCount) : [];
  return [line(head), `|${" --- |".repeat(width)}`, ...grid.slice(headerCount).map(line)].join("\n");
}
