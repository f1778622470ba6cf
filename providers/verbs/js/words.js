// Descriptions of elements and steps: one-line previews, locators that would find an element, the description of a
// target.
//
// Reads the tree; changes nothing and does not wait.

const PREVIEW_TEXT = 50;
const PREVIEW_ATTRIBUTES = 500;
const BOOLEAN_ATTRIBUTES = new Set(("allowfullscreen async autofocus autoplay checked controls default defer disabled formnovalidate hidden inert ismap " +
  "loop multiple muted nomodule novalidate open readonly required reversed selected").split(" "));
const VOID = new Set("area base br col embed hr img input link meta source track wbr".split(" "));

/** An element as one line: `<button id="a">Text</button>`. */
function preview(element) {
  const tag = localNameOf(element);
  const attributes = attributeNamesOf(element)
    .filter((name) => name !== "style")
    .map((name) => (BOOLEAN_ATTRIBUTES.has(name) ? ` ${name}` : ` ${name}="${attributeOf(element, name)}"`))
    .sort((a, b) => a.length - b.length);
  const head = `${tag}${shortened(oneLine(attributes.join("")), PREVIEW_ATTRIBUTES)}`;
  if (VOID.has(tag)) return `<${head}/>`;
  let text = "";
  let count = 0;
  let onlyText = true;
  for (let child = firstChildOf(element); child && count <= 5; child = nextSiblingOf(child), count++) {
    if (nodeTypeOf(child) === TEXT) text += nodeValueOf(child);
    else onlyText = false;
  }
  const inner = onlyText && count <= 5 ? shortened(oneLine(text), PREVIEW_TEXT) : "\u2026";
  return `<${head}>${inner}</${tag}>`;
}

const oneLine = (text) => text.replace(/\n/g, "\u21b5").replace(/\t/g, "\u21c6");

/** A string as a literal of a script, in single quotes. */
const quoted = (text) => `'${text.replace(/[\\']/g, "\\$&").replace(/\n/g, "\\n")}'`;
const NAME_MAX = 80;

/** A locator that finds this element and, if possible, only this element. */
function suggest(element) {
  let fallback = null;
  for (const [locator, steps] of suggestions(element)) {
    const found = evaluate(steps, { scope: document, given: null });
    if (found.length === 1 && found[0] === element) return locator;
    const index = found.indexOf(element);
    if (index >= 0 && !fallback) fallback = index === 0 ? `${locator}.first()` : `${locator}.nth(${index})`;
  }
  return fallback || pathOf(element);
}

function* suggestions(element) {
  const byText = (text, exact) => (exact ? `${quoted(text)}, { exact: true }` : quoted(text));
  const testid = attributeOf(element, "data-testid");
  if (testid) yield [`getByTestId(${quoted(testid)})`, [{ by: "testid", text: { text: testid } }]];
  const id = attributeOf(element, "id");
  const role = roleOf(element);
  const spoken = role && role !== "none" && role !== "presentation" && !isAriaHidden(element);
  const name = spoken ? nameOf(element) : "";
  const editable = elementMatches(element, "input, textarea, select");
  const placeholder = editable && attributeOf(element, "placeholder");
  if (editable) {
    const label = labelTextsOf(element).map(normal).find(Boolean);
    if (label && label.length <= NAME_MAX) for (const exact of [false, true]) yield [`getByLabel(${byText(label, exact)})`, [{ by: "label", text: { text: label, exact } }]];
    if (placeholder) for (const exact of [false, true]) yield [`getByPlaceholder(${byText(placeholder, exact)})`, [{ by: "placeholder", text: { text: placeholder, exact } }]];
  }
  if (name && name.length <= NAME_MAX) {
    for (const exact of [false, true]) {
      yield [`getByRole(${quoted(role)}, { name: ${quoted(name)}${exact ? ", exact: true" : ""} })`, [{ by: "role", role, name: { text: name, exact } }]];
    }
  }
  const alt = attributeOf(element, "alt");
  if (alt) yield [`getByAltText(${quoted(alt)})`, [{ by: "alt", text: { text: alt } }]];
  const text = normalTextOf(element);
  if (text && text.length <= NAME_MAX) for (const exact of [false, true]) yield [`getByText(${byText(text, exact)})`, [{ by: "text", text: { text, exact } }]];
  if (id) yield [`locator(${quoted(`#${CSS.escape(id)}`)})`, [{ by: "css", value: `#${CSS.escape(id)}` }]];
  const title = attributeOf(element, "title");
  if (title) yield [`getByTitle(${quoted(title)})`, [{ by: "title", text: { text: title } }]];
  if (spoken && !name) yield [`getByRole(${quoted(role)})`, [{ by: "role", role }]];
}

/** A CSS path of tag names and positions, starting at the nearest ancestor with an id. */
function pathSelector(element) {
  const parts = [];
  for (let at = element; at; at = parentOf(at)) {
    const id = at !== element && attributeOf(at, "id");
    if (id) {
      parts.unshift(`#${CSS.escape(id)}`);
      break;
    }
    const tag = CSS.escape(localNameOf(at));
    let position = 1;
    let alone = true;
    for (let other = previousElementOf(at); other; other = previousElementOf(other)) if (localNameOf(other) === localNameOf(at)) position++, (alone = false);
    for (let other = nextElementOf(at); other && alone; other = nextElementOf(other)) if (localNameOf(other) === localNameOf(at)) alone = false;
    parts.unshift(alone ? tag : `${tag}:nth-of-type(${position})`);
    if (parts.length >= 2 && evaluate([{ by: "css", value: parts.join(" > ") }], { scope: document, given: null }).length === 1) break;
  }
  return parts.join(" > ");
}

const pathOf = (element) => `locator(${quoted(pathSelector(element))})`;

const textWords = (text) => (text.regex !== undefined ? `/${text.regex}/${text.flags || ""}` : quoted(String(text.text)));
const textCall = (name) => (step) => `${name}(${textWords(step.text)}${step.text.exact ? ", { exact: true }" : ""})`;

const STEP_WORDS = {
  css: (step) => `locator(${quoted(step.value)})`,
  xpath: (step) => `locator(${quoted(`xpath=${step.value}`)})`,
  role(step) {
    const options = ["checked", "disabled", "expanded", "includeHidden", "level", "pressed", "selected"]
      .filter((name) => step[name] !== undefined && step[name] !== null)
      .map((name) => `${name}: ${step[name] === "mixed" ? quoted("mixed") : step[name]}`);
    const texts = ["name", "description"].filter((name) => step[name]);
    if (texts.some((name) => step[name].exact)) options.unshift("exact: true");
    options.unshift(...texts.map((name) => `${name}: ${textWords(step[name])}`));
    return `getByRole(${quoted(step.role)}${options.length ? `, { ${options.join(", ")} }` : ""})`;
  },
  text: textCall("getByText"),
  label: textCall("getByLabel"),
  placeholder: textCall("getByPlaceholder"),
  alt: textCall("getByAltText"),
  title: textCall("getByTitle"),
  testid: (step) => `getByTestId(${textWords(step.text)})`,
  given: () => "locator(ref)",
  nth: (step) => (step.index === 0 ? "first()" : step.index === -1 ? "last()" : `nth(${step.index})`),
  visible: (step) => `filter({ visible: ${step.visible !== false} })`,
  has: (step) => `filter({ ${step.not ? "hasNot" : "has"}: ${describe(step.steps)} })`,
  hasText: (step) => `filter({ ${step.not ? "hasNotText" : "hasText"}: ${textWords(step.text)} })`,
  and: (step) => `and(${describe(step.steps)})`,
  or: (step) => `or(${describe(step.steps)})`,
};

/** Steps as the script calls that create them. */
function describe(steps) {
  return (steps || []).map((step) => (Object.hasOwn(STEP_WORDS, step.by) ? STEP_WORDS[step.by](step) : String(step.by))).join(".");
}
