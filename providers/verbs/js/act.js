// Before an action: waits until an element is visible, enabled, editable, stable, in view and not covered, and returns
// where to click. Elements that the host will use again are retained under numeric handles.
//
// It dispatches no input events: the host does, so that pages see trusted ones.

const HANDLES_MAX = 64;
const handles = new Map();
let lastHandle = 0;

/** Retains an element for the host; the oldest one is dropped when there are too many. */
function keepElement(element) {
  const handle = ++lastHandle;
  handles.set(handle, element);
  if (handles.size > HANDLES_MAX) handles.delete(handles.keys().next().value);
  return handle;
}

/** The element of a handle; fails with `detached` if it has left the page or was dropped. */
function heldElement(handle) {
  const element = handles.get(handle);
  if (!element || !isConnected(element)) throw new Fault("detached");
  return element;
}

/** The last known box of each element, to detect elements that are moved by script. */
const lastBoxes = new WeakMap();
const LAST_BOX_MS = 1000;
/** The limit of frames to wait for until the timeline's time advances. */
const FRAMES_MAX = 5;

/** null if an element is stable, else `unstable`. Waits for frames only if the element may move. */
async function instability(element) {
  const now = performance.now();
  let box = boundsOf(element);
  const last = lastBoxes.get(element);
  lastBoxes.set(element, { box, at: now });
  const moved = last && now - last.at < LAST_BOX_MS && !sameBox(last.box, box);
  if (!moved && !isAnimated(element)) return null;
  // Outside of a frame callback, layout shows moving elements where they will be in the next frame; so both
  // measurements are taken in frames.
  await renderedFrame();
  // An animation that was pending stays at its first position for one more frame.
  if (isPending(element)) await renderedFrame();
  box = boundsOf(element);
  // On a busy machine two frames may have the same timeline time, during which nothing moves.
  const moment = document.timeline.currentTime;
  for (let frames = 0; frames < FRAMES_MAX; frames++) {
    await renderedFrame();
    if (document.timeline.currentTime !== moment) break;
  }
  forget();
  if (!isConnected(element)) return { error: "detached" };
  const next = boundsOf(element);
  lastBoxes.set(element, { box: next, at: performance.now() });
  return sameBox(box, next) ? null : { error: "unstable", preview: preview(element) };
}

async function actOn(args, given) {
  const checks = new Set(args.force ? [] : args.checks || []);
  let scrolls = 0;
  return until(args.timeout, async () => {
    const found = oneOf(args, given);
    if (found.error) return found;
    const { element } = found;
    for (const state of ["visible", "enabled", "editable"]) {
      const missing = checks.has(state) && missingState(element, state);
      if (missing) return missing;
    }
    if (checks.has("stable")) {
      const unstable = await instability(element);
      if (unstable) return unstable;
    }
    let point = null;
    if (args.point || args.scroll) {
      const looked = lookAt(element, args, checks.has("hit"), scrolls);
      if (looked.scrolled) {
        scrolls++;
        // The scrolling done here is no movement of the element itself.
        lastBoxes.set(element, { box: boundsOf(element), at: performance.now() });
      }
      if (looked.error) return looked.error;
      point = looked.point;
    }
    if (args.feel) feelMouse();
    return {
      handle: keepElement(element),
      ...(point ? { x: point.x, y: point.y } : {}),
      box: boundsOf(element),
      preview: preview(element),
      tag: localNameOf(element),
      type: typeOf(element),
    };
  });
}

/** Scrolls an element into view if necessary; `{point}` or `{error}`, and whether it scrolled. */
function lookAt(element, args, hit, scrolls) {
  const look = () => {
    const point = pointOf(element, args.position);
    if (!point && args.force) return { error: { error: "force", message: linesOf(element).length ? NOT_IN_VIEW : NOT_VISIBLE } };
    if (!point) return { error: { error: "outside", preview: preview(element) } };
    const covered = hit ? coveredAt(element, point.x, point.y) : null;
    return covered ? { error: covered, point } : { point };
  };
  if (!args.scroll) {
    const seenThere = look();
    return args.point ? seenThere : {};
  }
  // In view and under the pointer already: scrolling would only move what others look at.
  if (isWhollyShown(element)) {
    // A frame knows only its own viewport, which the frames around it may not show.
    if (top !== window) scrollIfNeeded(nearestWithBox(element));
    const seenThere = look();
    // Without `hit`, a hit test still tells whether an overflow container clips the element.
    if (!seenThere.error && (hit || !coveredAt(element, seenThere.point.x, seenThere.point.y))) return seenThere;
  }
  scrollIntoView(element, scrolls);
  let seenThere = look();
  if (seenThere.error && scrolls === 0) {
    for (let next = 1; next < ALIGNMENTS.length && seenThere.error; next++) {
      scrollIntoView(element, next);
      seenThere = look();
    }
  }
  return { ...(args.point || !hit ? seenThere : { ...seenThere, point: null }), scrolled: true };
}

// Failures of forced actions, which do not wait.
const NOT_VISIBLE = "Element is not visible";
const NOT_IN_VIEW = "Element is outside of the viewport";

// How long a mouse event may take from the browser to the page.
const FELT_MS_MAX = 100;
let felt = null;

/** Starts waiting for a mouse move in this document. */
function feelMouse() {
  felt?.stop();
  let stop;
  const moved = new Promise((done) => {
    const hear = (event) => event.isTrusted && done(true);
    listenTo(window, "mousemove", hear, true);
    stop = () => unlistenTo(window, "mousemove", hear, true);
  });
  moved.then(stop);
  felt = { moved, stop };
}

/** Whether the mouse has moved in this document since the element was found. */
async function hasFeltMouse(args) {
  const late = new Promise((done) => setTimeout(done, FELT_MS_MAX));
  if (await Promise.race([felt?.moved, late])) return { ok: true };
  return { error: "unstable", preview: preview(heldElement(args.handle)) };
}

/** Whether a retained element is where it was and, with `hit`, whether a click at the point would hit it. */
function recheck(args) {
  const element = heldElement(args.handle);
  const now = boundsOf(element);
  const covered = args.hit ? coveredAt(element, args.x, args.y) : null;
  // An element that was resized, but still is under the mouse, counts as stable.
  const sides = args.hit && !covered ? ["x", "y"] : SIDES;
  if (args.box && !sameBox(args.box, now, 0.5, sides)) {
    lastBoxes.set(element, { box: now, at: performance.now() });
    return { error: "unstable", preview: preview(element) };
  }
  return covered || { ok: true };
}

function bringIntoView(element) {
  if (!isWhollyShown(element) || coveredAt(element, ...centre(element))) scrollIntoView(element, 0);
}
const centre = (element) => {
  const { x, y, width, height } = boundsOf(element);
  return [x + width / 2, y + height / 2];
};

const EVENT_CLASSES = [
  [/^(auxclick|click|dblclick|mousedown|mouseenter|mouseleave|mousemove|mouseout|mouseover|mouseup|mousewheel|contextmenu)$/, MouseEvent],
  [/^(keydown|keyup|keypress|textInput)$/, KeyboardEvent],
  [/^(touchstart|touchmove|touchend|touchcancel)$/, globalThis.TouchEvent],
  [/^(pointer(over|out|enter|leave|down|up|move|cancel)|gotpointercapture|lostpointercapture)$/, PointerEvent],
  [/^(focus|blur|focusin|focusout)$/, FocusEvent],
  [/^(drag|dragstart|dragend|dragover|dragenter|dragleave|dragexit|drop)$/, DragEvent],
  [/^wheel$/, WheelEvent],
  [/^(input|beforeinput)$/, InputEvent],
  [/^composition(start|update|end)$/, CompositionEvent],
  [/^(deviceorientation|deviceorientationabsolute)$/, globalThis.DeviceOrientationEvent],
  [/^devicemotion$/, globalThis.DeviceMotionEvent],
];
const dispatchTo = method(EventTarget, "dispatchEvent");

function dispatch(element, type, init) {
  const Class = EVENT_CLASSES.find(([pattern, owner]) => owner && pattern.test(type))?.[1] || Event;
  const fields = { bubbles: true, cancelable: true, composed: true, ...init };
  if (Class === DragEvent && !(fields.dataTransfer instanceof DataTransfer)) {
    const transfer = new DataTransfer();
    for (const [format, data] of Object.entries(fields.dataTransfer || {})) if (typeof data === "string") transfer.setData(format, data);
    fields.dataTransfer = transfer;
  }
  dispatchTo(element, new Class(type, fields));
  return { ok: true };
}
