// ARIA roles of elements, explicit and implicit (HTML-AAM), and the states that `getByRole` filters by.
//
// Knows the tree; nothing of names, locators or operations.

const ROLES = new Set(("alert alertdialog application article banner blockquote button caption cell checkbox code columnheader combobox complementary " +
  "contentinfo definition deletion dialog directory document emphasis feed figure form generic grid gridcell group heading img insertion link list listbox " +
  "listitem log main mark marquee math meter menu menubar menuitem menuitemcheckbox menuitemradio navigation none note option paragraph presentation " +
  "progressbar radio radiogroup region row rowgroup rowheader scrollbar search searchbox separator slider spinbutton status strong subscript suggestion superscript " +
  "switch tab table tablist tabpanel term textbox time timer toolbar tooltip tree treegrid treeitem").split(" "));

/** Attributes that every role may have; with one of them a presentational element keeps its implicit role. */
const GLOBAL_ARIA = ("aria-atomic aria-busy aria-controls aria-current aria-describedby aria-details aria-dropeffect aria-flowto aria-grabbed aria-hidden " +
  "aria-keyshortcuts aria-label aria-labelledby aria-live aria-owns aria-relevant aria-roledescription").split(" ");
const NAMING = ["aria-label", "aria-labelledby"];
/** Whether the author has named the element; only then a form or a section is a landmark. */
const isNamed = (element) => NAMING.some((name) => attributeOf(element, name)?.trim());

const SIMPLE = {
  article: "article", aside: "complementary", blockquote: "blockquote", button: "button", caption: "caption", code: "code", datalist: "listbox",
  dd: "definition", del: "deletion", details: "group", dfn: "term", dialog: "dialog", dt: "term", em: "emphasis", fieldset: "group", figure: "figure",
  h1: "heading", h2: "heading", h3: "heading", h4: "heading", h5: "heading", h6: "heading", hr: "separator", html: "document", ins: "insertion",
  li: "listitem", main: "main", mark: "mark", math: "math", menu: "list", meter: "meter", nav: "navigation", ol: "list", optgroup: "group", option: "option",
  output: "status", p: "paragraph", progress: "progressbar", search: "search", strong: "strong", sub: "subscript", sup: "superscript", "svg:svg": "img",
  table: "table", tbody: "rowgroup", textarea: "textbox", tfoot: "rowgroup", thead: "rowgroup", time: "time", tr: "row", ul: "list",
};
const INPUT_ROLES = {
  button: "button", checkbox: "checkbox", image: "button", number: "spinbutton", radio: "radio", range: "slider", reset: "button", submit: "button",
  file: "button", hidden: null,
};
const SECTIONING = "article, aside, main, nav, section, [role=article], [role=complementary], [role=main], [role=navigation], [role=region]";
const cellRole = (element) => (["grid", "treegrid"].includes(tableRole(element)) ? "gridcell" : "cell");
const tableRole = (element) => {
  const table = closestOf(element, "table");
  return table ? attributeOf(table, "role")?.trim() : "";
};

const COMPUTED = {
  a: (element) => (hasAttribute(element, "href") ? "link" : null),
  area: (element) => (hasAttribute(element, "href") ? "link" : null),
  footer: (element) => (closestOf(element, SECTIONING) ? null : "contentinfo"),
  header: (element) => (closestOf(element, SECTIONING) ? null : "banner"),
  form: (element) => (isNamed(element) ? "form" : null),
  section: (element) => (isNamed(element) ? "region" : null),
  img: (element) => (attributeOf(element, "alt") === "" && !hasAttribute(element, "title") && !keepsImplicitRole(element) ? "presentation" : "img"),
  input(element) {
    const type = inputTypeOf(element);
    const list = ["email", "search", "tel", "text", "url"].includes(type) && attributeOf(element, "list");
    if (list && referredBy(element, "list").some((target) => tagOf(target) === "datalist")) return "combobox";
    if (type === "search") return "searchbox";
    return type in INPUT_ROLES ? INPUT_ROLES[type] : "textbox";
  },
  select: (element) => (hasAttribute(element, "multiple") || Number(attributeOf(element, "size")) > 1 ? "listbox" : "combobox"),
  summary: () => null,
  td: cellRole,
  th(element) {
    const scope = attributeOf(element, "scope");
    if (scope === "col" || scope === "colgroup") return "columnheader";
    if (scope === "row" || scope === "rowgroup") return "rowheader";
    // Without a scope: a row header if there are data cells beside it, and it is not in the table's head.
    const row = parentNodeOf(element);
    if (!row || tagOf(row) !== "tr" || closestOf(element, "thead")) return "columnheader";
    for (let cell = firstElementOf(row); cell; cell = nextElementOf(cell)) if (tagOf(cell) === "td") return "rowheader";
    return "columnheader";
  },
};

/** Parts of a structure lose their role with it: rows and cells of a presentational table, items of such a list. */
const STRUCTURE = {
  li: ["ul", "ol", "menu"], dd: ["dl", "div"], dt: ["dl", "div"], div: ["dl"], td: ["tr"], th: ["tr"], tr: ["tbody", "thead", "tfoot", "table"],
  tbody: ["table"], thead: ["table"], tfoot: ["table"], caption: ["table"],
};

function implicitRole(element) {
  const tag = tagOf(element);
  if (!Object.hasOwn(SIMPLE, tag) && !Object.hasOwn(COMPUTED, tag)) return null;
  const role = Object.hasOwn(COMPUTED, tag) ? COMPUTED[tag](element) : SIMPLE[tag];
  if (!role || !STRUCTURE[tag]) return role;
  for (let at = element, parent; (parent = parentOf(at)) && STRUCTURE[tagOf(at)]?.includes(tagOf(parent)); at = parent) {
    const explicit = explicitRole(parent);
    if ((explicit === "none" || explicit === "presentation") && !keepsImplicitRole(parent)) return explicit;
    if (explicit) break;
  }
  return role;
}

const explicitRole = (element) => {
  const value = attributeOf(element, "role");
  return value ? value.toLowerCase().split(/\s+/).find((role) => ROLES.has(role)) || null : null;
};

/** Whether a presentational element keeps its implicit role: it is focusable, or has a global ARIA attribute. */
function keepsImplicitRole(element) {
  return GLOBAL_ARIA.some((name) => hasAttribute(element, name) && !(NAMING.includes(name) && !attributeOf(element, name).trim())) || isFocusable(element);
}

function isFocusable(element) {
  if (elementMatches(element, ":disabled")) return false;
  const tabindex = attributeOf(element, "tabindex");
  if (tabindex !== null && !Number.isNaN(parseInt(tabindex, 10))) return true;
  return elementMatches(element, "a[href], area[href], button, details, select, textarea, summary, input:not([type=hidden i])");
}

/** The role of an element; "presentation" and "none" are explicit, null means that it has no role. */
function roleOf(element) {
  let role = seen.roles.get(element);
  if (role !== undefined) return role;
  role = explicitRole(element);
  if (!role) role = implicitRole(element);
  else if ((role === "none" || role === "presentation") && keepsImplicitRole(element)) role = implicitRole(element);
  seen.roles.set(element, role);
  return role;
}

// The elements that can have a role implicitly, as a selector: only these are candidates when a role is searched.
const BY_ROLE = new Map();
const addSource = (role, selector) => BY_ROLE.set(role, BY_ROLE.has(role) ? `${BY_ROLE.get(role)}, ${selector}` : selector);
for (const [tag, role] of Object.entries(SIMPLE)) addSource(role, tag.replace("svg:", ""));
for (const role of new Set([...Object.values(INPUT_ROLES), "textbox", "searchbox", "combobox"])) if (role) addSource(role, "input");
for (const [role, selector] of [["link", "a[href], area[href]"], ["contentinfo", "footer"], ["banner", "header"], ["form", "form"], ["region", "section"],
  ["img", "img"], ["presentation", "img, li, dd, dt, td, th, tr, tbody, thead, tfoot, caption"], ["none", "li, dd, dt, td, th, tr, tbody, thead, tfoot, caption"],
  ["combobox", "select"], ["listbox", "select"], ["cell", "td"], ["gridcell", "td"], ["columnheader", "th"], ["rowheader", "th"]]) addSource(role, selector);

/** `none` and `presentation` are synonyms. */
const sameRole = (a, b) => a === b || (a !== null && (a === "none" || a === "presentation") && (b === "none" || b === "presentation"));

// ---- states that getByRole filters by ----

const LEVELLED = ["heading", "listitem", "row", "treeitem"];
const EXPANDABLE = new Set(("application button checkbox combobox gridcell link listbox menuitem row rowheader tab treeitem columnheader menuitemcheckbox " +
  "menuitemradio switch").split(" "));
const SELECTABLE = ["gridcell", "option", "row", "tab", "rowheader", "columnheader", "treeitem"];
const optionSelectedOf = getter(HTMLOptionElement, "selected");
const detailsOpenOf = getter(HTMLDetailsElement, "open");

const levelOf = (element) => {
  const native = /^h([1-6])$/.exec(tagOf(element));
  const explicit = attributeOf(element, "aria-level");
  if (!native && LEVELLED.includes(roleOf(element)) && explicit === null) return roleOf(element) === "heading" ? 2 : 0;
  if (explicit !== null && Number.isInteger(Number(explicit)) && Number(explicit) >= 1) return Number(explicit);
  return native ? Number(native[1]) : 0;
};
/** true, false, or undefined if it does not apply. */
const expandedOf = (element) => {
  if (tagOf(element) === "details") return detailsOpenOf(element);
  if (!EXPANDABLE.has(roleOf(element))) return undefined;
  const value = attributeOf(element, "aria-expanded");
  return value === "true" ? true : value === "false" ? false : undefined;
};
const selectedOf = (element) => {
  if (tagOf(element) === "option") return optionSelectedOf(element);
  return SELECTABLE.includes(roleOf(element)) && attributeOf(element, "aria-selected") === "true";
};
const pressedOf = (element) => {
  if (roleOf(element) !== "button") return false;
  const value = attributeOf(element, "aria-pressed");
  return value === "mixed" ? "mixed" : value === "true";
};

const FILTERS = {
  checked: (element, wanted) => (checkedOf(element) ?? false) === wanted,
  disabled: (element, wanted) => isDisabled(element) === wanted,
  expanded: (element, wanted) => expandedOf(element) === wanted,
  level: (element, wanted) => levelOf(element) === wanted,
  pressed: (element, wanted) => pressedOf(element) === wanted,
  selected: (element, wanted) => selectedOf(element) === wanted,
};

function findByRole(scope, step) {
  const role = String(step.role).toLowerCase();
  const filters = Object.keys(FILTERS).filter((name) => step[name] !== undefined && step[name] !== null);
  const matches = step.name ? matcherOf(step.name) : null;
  const describes = step.description ? matcherOf(step.description) : null;
  const natural = BY_ROLE.get(role);
  return queryDeep(scope, natural ? `[role], ${natural}` : "[role]").filter(
    (element) =>
      sameRole(roleOf(element), role) &&
      filters.every((name) => FILTERS[name](element, step[name])) &&
      (step.includeHidden || !isAriaHidden(element)) &&
      (!matches || matches(nameOf(element))) &&
      (!describes || describes(descriptionOf(element))),
  );
}
