// Marks over a page for a picture of it: frames around what can be clicked, typed into or scrolled, a grid, the focus.
//
// The marks stand in a closed shadow root of one element, which steps do not find and pointers do not hit.

const MARKS_MAX = 500;
const CLICKABLE = "a[href], button, summary, label, option, select, input:not([type=hidden i]), [onclick], [role=button], [role=link], [role=checkbox], [role=radio], [role=switch], " +
  "[role=tab], [role=menuitem], [role=menuitemcheckbox], [role=menuitemradio], [role=option], [role=treeitem], [role=combobox]";
const TYPEABLE = "textarea, [contenteditable]:not([contenteditable=false i]), [role=textbox], [role=searchbox], [role=combobox], [role=spinbutton], " +
  "input:not([type=hidden i], [type=checkbox i], [type=radio i], [type=button i], [type=submit i], [type=reset i], [type=image i], [type=file i], [type=range i], [type=color i])";
const COLOURS = { clickable: "#d6006c", typeable: "#0057d9", scrollable: "#00843d", selected: "#c75b00" };
const GRID_STEP = 100;

const scrollHeightOf = getter(Element, "scrollHeight");
const scrollWidthOf = getter(Element, "scrollWidth");
const clientHeightOf = getter(Element, "clientHeight");
const clientWidthOf = getter(Element, "clientWidth");
const attachShadow = method(Element, "attachShadow");
const setAttribute = method(Element, "setAttribute");
const setText = setter(Node, "textContent");
const inlineStyleOf = getter(HTMLElement, "style");

let overlay = null;

function isScrollable(element) {
  const style = styleOf(element);
  const scrolls = (overflow) => overflow === "auto" || overflow === "scroll";
  return (scrolls(style.overflowY) && scrollHeightOf(element) > clientHeightOf(element)) || (scrolls(style.overflowX) && scrollWidthOf(element) > clientWidthOf(element));
}

const FINDERS = {
  clickable: () => queryDeep(document, CLICKABLE),
  typeable: () => queryDeep(document, TYPEABLE),
  scrollable: () => queryDeep(document, "*").filter(isScrollable),
  selected: () => [activeElement()].filter((element) => element && element !== bodyOf(document)),
};

/** Draws the marks of the kinds; `value` says how many of each. */
function mark(args) {
  unmark();
  const value = {};
  // A name of its own: nothing that a script searches for is called so.
  const host = createElement(document, "codemode-marks");
  const style = (element, rules) => void (inlineStyleOf(element).cssText = Object.entries(rules).map(([name, rule]) => `${name}:${rule} !important`).join(";"));
  style(host, { all: "initial", position: "fixed", inset: "0", "pointer-events": "none", "z-index": "2147483647", display: "block" });
  setAttribute(host, "aria-hidden", "true");
  const root = attachShadow(host, { mode: "closed" });
  const put = (rules, words) => {
    const box = createElement(document, "div");
    style(box, { position: "fixed", "box-sizing": "border-box", "pointer-events": "none", ...rules });
    if (words !== undefined) setText(box, words);
    appendChild(root, box);
  };
  const label = { font: "10px/12px monospace", color: "#fff", padding: "0 2px", "white-space": "nowrap" };
  for (const kind of args.kinds || []) {
    if (kind === "grid") {
      value.grid = GRID_STEP;
      const { width, height } = viewport();
      for (let x = 0; x < width; x += GRID_STEP) {
        put({ left: `${x}px`, top: "0", width: "1px", height: "100%", background: "rgba(0,0,0,.35)" });
        put({ ...label, left: `${x}px`, top: "0", background: "rgba(0,0,0,.6)" }, String(x));
      }
      for (let y = 0; y < height; y += GRID_STEP) {
        put({ left: "0", top: `${y}px`, width: "100%", height: "1px", background: "rgba(0,0,0,.35)" });
        if (y) put({ ...label, left: "0", top: `${y}px`, background: "rgba(0,0,0,.6)" }, String(y));
      }
      continue;
    }
    if (!Object.hasOwn(FINDERS, kind)) return { error: "kind", message: `"${kind}" is nothing that can be marked` };
    let count = 0;
    for (const element of FINDERS[kind]()) {
      if (count >= MARKS_MAX) break;
      const box = boundsOf(element);
      if (!inViewport(box) || !isVisible(element)) continue;
      count++;
      const colour = COLOURS[kind];
      put({ left: `${box.x}px`, top: `${box.y}px`, width: `${box.width}px`, height: `${box.height}px`, border: `2px ${kind === "selected" ? "dashed" : "solid"} ${colour}` });
      put({ ...label, left: `${Math.max(box.x, 0)}px`, top: `${Math.max(box.y - 12, 0)}px`, background: colour }, `${kind[0]}${count}`);
    }
    value[kind] = count;
  }
  const top = documentElementOf(document);
  if (top) appendChild(top, host), (overlay = host);
  return { ok: true, value };
}

/** Removes the marks. */
function unmark() {
  if (overlay) removeNode(overlay);
  overlay = null;
  return { ok: true };
}
