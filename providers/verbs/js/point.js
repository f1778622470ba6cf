// Where an element is: boxes, scrolling it into view, the point to click, and what a click there would hit.
//
// Coordinates are those of this frame's viewport. Knows nothing of locators and waiting.

const scrollTo = method(Element, "scrollIntoView");
const scrollIfNeeded = method(Element, "scrollIntoViewIfNeeded");
const documentFromPoint = method(Document, "elementFromPoint");
const shadowFromPoint = method(ShadowRoot, "elementFromPoint");
const documentAnimations = method(Document, "getAnimations");
const shadowAnimations = method(ShadowRoot, "getAnimations");
const clientTopOf = getter(Element, "clientTop");
const clientLeftOf = getter(Element, "clientLeft");

const rectangle = ({ x, y, width, height }) => ({ x, y, width, height });

/** The box of an element; without one (`display: contents`), that of its content. */
function boundsOf(element) {
  const box = boxOf(element);
  if (box.width || box.height || styleOf(element).display !== "contents") return rectangle(box);
  const range = new Range();
  range.selectNodeContents(element);
  return rectangle(range.getBoundingClientRect());
}

/** The boxes of an element's lines. */
function linesOf(element) {
  const boxes = boxesOf(element);
  if (boxes.length || styleOf(element).display !== "contents") return boxes;
  const range = new Range();
  range.selectNodeContents(element);
  return range.getClientRects();
}

const SIDES = ["x", "y", "width", "height"];
const sameBox = (a, b, tolerance = 0, sides = SIDES) => sides.every((side) => Math.abs(a[side] - b[side]) <= tolerance);

const viewport = () => ({ width: innerWidth, height: innerHeight });

const TRANSFORMS = { transform: "none", rotate: "none", scale: "none", perspective: "none", offsetPath: "none", zoom: "1" };

/** Whether an element, or an ancestor in this frame, is displayed differently from its layout. */
function isTransformed(element) {
  for (let at = element; at; at = flatParentOf(at)) {
    const style = styleOf(at);
    for (const name in TRANSFORMS) if (style[name] !== TRANSFORMS[name] && style[name] !== undefined) return true;
  }
  return false;
}

/** The position of a frame element's content box, and its size before any transform. */
function contentBoxOf(element) {
  const box = boxOf(element);
  const style = styleOf(element);
  const pixels = (...names) => names.reduce((sum, name) => sum + (parseFloat(style[name]) || 0), 0);
  const isWhole = style.boxSizing === "border-box";
  const within = (side, before, after) =>
    pixels(side) - (isWhole ? pixels(`border${before}Width`, `border${after}Width`, `padding${before}`, `padding${after}`) : 0);
  return {
    x: box.x + clientLeftOf(element) + pixels("paddingLeft"),
    y: box.y + clientTopOf(element) + pixels("paddingTop"),
    width: within("width", "Left", "Right"),
    height: within("height", "Top", "Bottom"),
    transformed: isTransformed(element),
  };
}

/** The part of a box that is in the viewport, or null. */
function inViewport(box) {
  const { width, height } = viewport();
  const left = Math.max(box.x, 0);
  const top = Math.max(box.y, 0);
  const right = Math.min(box.x + box.width, width);
  const bottom = Math.min(box.y + box.height, height);
  return right > left && bottom > top ? { x: left, y: top, width: right - left, height: bottom - top } : null;
}

/** The point to click: `position` relative to the padding box, else the middle of the first visible box; or null. */
function pointOf(element, position) {
  if (position) {
    const box = boundsOf(element);
    const x = box.x + clientLeftOf(element) + position.x;
    const y = box.y + clientTopOf(element) + position.y;
    const { width, height } = viewport();
    return x >= 0 && y >= 0 && x < width && y < height ? { x, y } : null;
  }
  for (const line of linesOf(element)) {
    const shown = line.width * line.height > 0.99 ? inViewport(line) : null;
    if (shown && shown.width * shown.height > 0.99) return { x: shown.x + shown.width / 2, y: shown.y + shown.height / 2 };
  }
  return null;
}

/** Whether all of an element is inside of the viewport, ignoring clipping by ancestors. */
function isWhollyShown(element) {
  const box = boundsOf(element);
  const { width, height } = viewport();
  return box.x >= 0 && box.y >= 0 && box.x + box.width <= width && box.y + box.height <= height;
}

// The default first; the others move an element out from under sticky content at an edge.
const ALIGNMENTS = [
  null,
  { block: "end", inline: "end" },
  { block: "start", inline: "start" },
  { block: "center", inline: "center" },
  { block: "nearest", inline: "nearest" },
];

/** Scrolls an element into view, with the alignment of this attempt. */
function scrollIntoView(element, attempt) {
  const alignment = ALIGNMENTS[attempt % ALIGNMENTS.length];
  const target = nearestWithBox(element);
  if (alignment) return scrollTo(target, { ...alignment, behavior: "instant" });
  const before = boxOf(target);
  scrollIfNeeded(target);
  // `scroll-behavior: smooth` animates that over many frames; then scroll again instantly.
  if (isWhollyShown(target) || !sameBox(before, boxOf(target))) return;
  scrollTo(target, { block: "nearest", inline: "nearest", behavior: "instant" });
  if (!inViewport(boxOf(target))) scrollTo(target, { block: "center", inline: "center", behavior: "instant" });
}

/** The element itself; if it has no box, its first child that has one, or else its nearest ancestor that has one. */
function nearestWithBox(element) {
  if (boxesOf(element).length) return element;
  for (const child of flatChildrenOf(element)) {
    if (isElement(child) && boxesOf(child).length) return child;
  }
  let above = flatParentOf(element);
  while (above && !boxesOf(above).length) above = flatParentOf(above);
  return above || element;
}

/** The slot that shows a text node of the host at a point: the browser reports such a hit as one on the host. */
function slotAt(host, x, y) {
  for (let child = firstChildOf(host); child; child = nextSiblingOf(child)) {
    const slot = nodeTypeOf(child) === TEXT ? slotOf(child) : null;
    if (!slot) continue;
    const range = new Range();
    range.selectNode(child);
    for (const box of range.getClientRects()) {
      if (x >= box.left && x < box.right && y >= box.top && y < box.bottom) return slot;
    }
  }
  return null;
}

/** The element that a click at a point would hit, inside of shadow roots. */
function elementAt(x, y) {
  let found = documentFromPoint(document, x, y);
  for (;;) {
    const root = found && shadowOf(found);
    const inner = root && shadowFromPoint(root, x, y);
    // A shadow root returns an element outside of it if nothing of its own is at the point.
    if (!inner || inner === found || rootOf(inner) !== root) return (root && slotAt(found, x, y)) || found;
    found = inner;
  }
}

/** null if a click at the point hits the element, a part of it, its label or its control; else the failure. */
function coveredAt(element, x, y) {
  const hit = elementAt(x, y);
  if (!hit) return { error: "outside", preview: preview(element) };
  if (flatContains(element, hit)) return null;
  const meant = buttonOf(element);
  if (meant !== element && flatContains(meant, hit)) return null;
  const label = closestAcross(hit, "label");
  const control = label && tagOf(label) === "label" ? labelControlOf(label) : null;
  if (control && (control === element || flatContains(element, control))) return null;
  if (tagOf(element) === "label" && labelControlOf(element) && flatContains(labelControlOf(element), hit)) return null;
  // Report also the outermost ancestor that the two do not share: a reader looks for the dialog, not for the word in
  // it.
  let within = hit;
  for (let above = flatParentOf(hit); above && !flatContains(above, element); above = flatParentOf(above)) within = above;
  return { error: "covered", by: preview(hit), ...(within === hit ? {} : { within: preview(within) }), preview: preview(element) };
}

/** The animations and transitions that run on an element or its ancestors. */
function animationsOn(element) {
  const roots = new Set();
  for (let at = element; at; at = hostAbove(at)) roots.add(rootOf(at));
  return [...roots]
    .flatMap((root) => (root instanceof ShadowRoot ? shadowAnimations(root) : nodeTypeOf(root) === DOCUMENT ? documentAnimations(root) : []))
    .filter((animation) => animation.playState === "running" && animation.effect?.target && composedContains(animation.effect.target, element));
}
const isAnimated = (element) => animationsOn(element).length > 0;
/** Whether one of them has not had its first frame. */
const isPending = (element) => animationsOn(element).some((animation) => animation.pending);

const FRAME_MS_MAX = 500;

/**
 * Waits for the next rendered frame. Between two frames even a moving element has one box, so a timer is no
 * substitute; only a tab that is not visible renders no frames.
 */
const renderedFrame = () => frameWithin(visibilityOf(document) === "visible" ? FRAME_MS_MAX : TIMER_MS);
const visibilityOf = getter(Document, "visibilityState");
