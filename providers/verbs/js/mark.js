// Marks over a page for a screenshot: boxes around elements that can be clicked, typed into or scrolled, a grid, the
// focus, and an arrow at the mouse position. Colours and widths are those of Agent Browser Protocol.
//
// The marks are in a closed shadow root of one element, which steps do not find and pointers do not hit.

const MARKS_MAX = 500;
const CLICKABLE = "a[href], button, summary, label, option, select, input:not([type=hidden i]), [onclick], [role=button], [role=link], [role=checkbox], [role=radio], [role=switch], " +
  "[role=tab], [role=menuitem], [role=menuitemcheckbox], [role=menuitemradio], [role=option], [role=treeitem], [role=combobox]";
const TYPEABLE = "textarea, [contenteditable]:not([contenteditable=false i]), [role=textbox], [role=searchbox], [role=combobox], [role=spinbutton], " +
  "input:not([type=hidden i], [type=checkbox i], [type=radio i], [type=button i], [type=submit i], [type=reset i], [type=image i], [type=file i], [type=range i], [type=color i])";
/** The style of each kind of box: the components of its colour, the width in pixels and the line style. */
const LOOKS = { clickable: ["0,128,0", 2, "solid"], typeable: ["255,140,0", 2, "solid"], scrollable: ["128,0,128", 2, "dashed"], selected: ["0,0,255", 3, "solid"] };
const FRAME_OPACITY = 0.7;
const FILL_OPACITY = 0.08;
const LABEL_OPACITY = 0.75;
const GRID_STEP = 100;
const GRID_COLOUR = "255,0,0";
const GRID_OPACITY = 0.4;
/** An arrow whose tip is its upper left corner. */
const ARROW = "polygon(0 0, 0 17px, 4px 13px, 7px 20px, 10px 19px, 7px 12px, 12px 12px)";

const scrollHeightOf = getter(Element, "scrollHeight");
const scrollWidthOf = getter(Element, "scrollWidth");
const clientHeightOf = getter(Element, "clientHeight");
const clientWidthOf = getter(Element, "clientWidth");
const attachShadow = method(Element, "attachShadow");
const setAttribute = method(Element, "setAttribute");
const setText = setter(Node, "textContent");
const inlineStyleOf = getter(HTMLElement, "style");

let overlay = null;
let overlayTimer = null;

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

/**
 * Draws marks of the given kinds, and the arrow at `cursor`; `value` has the count of each kind. They are removed
 * after `lasts` milliseconds, even if `unmark` is never called.
 */
function mark(args) {
  unmark();
  const value = {};
  // A tag name of its own, which no selector of a script matches by accident.
  const host = createElement(document, "codemode-marks");
  const style = (element, rules) => void (inlineStyleOf(element).cssText = Object.entries(rules).map(([name, rule]) => `${name}:${rule} !important`).join(";"));
  style(host, { all: "initial", position: "fixed", inset: "0", "pointer-events": "none", "z-index": "2147483647", display: "block" });
  setAttribute(host, "aria-hidden", "true");
  const root = attachShadow(host, { mode: "closed" });
  const put = (rules, words, within = root) => {
    const box = createElement(document, "div");
    style(box, { position: "fixed", "box-sizing": "border-box", "pointer-events": "none", ...rules });
    if (words !== undefined) setText(box, words);
    appendChild(within, box);
    return box;
  };
  const label = { font: "10px/12px monospace", color: "#fff", padding: "0 2px", "white-space": "nowrap" };
  for (const kind of args.kinds || []) {
    if (kind === "grid") {
      value.grid = GRID_STEP;
      const { width, height } = viewport();
      for (let x = 0; x < width; x += GRID_STEP) {
        put({ left: `${x}px`, top: "0", width: "1px", height: "100%", background: `rgba(${GRID_COLOUR},${GRID_OPACITY})` });
        put({ ...label, left: `${x}px`, top: "0", background: `rgba(${GRID_COLOUR},${LABEL_OPACITY})` }, String(x));
      }
      for (let y = 0; y < height; y += GRID_STEP) {
        put({ left: "0", top: `${y}px`, width: "100%", height: "1px", background: `rgba(${GRID_COLOUR},${GRID_OPACITY})` });
        if (y) put({ ...label, left: "0", top: `${y}px`, background: `rgba(${GRID_COLOUR},${LABEL_OPACITY})` }, String(y));
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
      const [colour, width, line] = LOOKS[kind];
      const place = { left: `${box.x}px`, top: `${box.y}px`, width: `${box.width}px`, height: `${box.height}px` };
      put({ ...place, border: `${width}px ${line} rgba(${colour},${FRAME_OPACITY})`, background: `rgba(${colour},${FILL_OPACITY})` });
      const above = { left: `${Math.max(box.x, 0)}px`, top: `${Math.max(box.y - 12, 0)}px` };
      put({ ...label, ...above, background: `rgba(${colour},${LABEL_OPACITY})` }, `${kind[0]}${count}`);
    }
    value[kind] = count;
  }
  if (args.cursor) {
    const { x, y } = args.cursor;
    // A clipped element has no shadow of its own.
    const around = put({ left: `${x}px`, top: `${y}px`, width: "14px", height: "22px", filter: "drop-shadow(0 0 1px #fff) drop-shadow(0 0 1px #fff)" });
    put({ position: "absolute", left: "0", top: "0", width: "100%", height: "100%", background: "#000", "clip-path": ARROW }, undefined, around);
    value.cursor = { x, y };
  }
  const top = documentElementOf(document);
  if (top) appendChild(top, host), (overlay = host);
  if (args.lasts > 0) overlayTimer = setTimeout(unmark, args.lasts);
  return { ok: true, value };
}

/** Removes the marks. */
function unmark() {
  if (overlay) removeNode(overlay);
  clearTimeout(overlayTimer);
  overlay = overlayTimer = null;
  return { ok: true };
}
