// Before an action: waits until an element is visible, enabled, editable, still, in view and not covered, and says
// where to click. Elements that the host goes on with are kept under numbers.
//
// Dispatches no input: the host does, so that pages see what they see of a user.

const HANDLES_MAX = 64;
const handles = new Map();
let lastHandle = 0;

/** Keeps an element for the host; the oldest of too many is dropped. */
function keepElement(element) {
  const handle = ++lastHandle;
  handles.set(handle, element);
  if (handles.size > HANDLES_MAX) handles.delete(handles.keys().next().value);
  return handle;
}

/** The element under a number; `detached` when it has left the page or was dropped. */
function heldElement(handle) {
  const element = handles.get(handle);
  if (!element || !isConnected(element)) throw new Fault("detached");
  return element;
}

/** Where an element was when it was last looked at, so that one that moves by script is noticed. */
const lastBoxes = new WeakMap();
const LAST_BOX_MS = 1000;
/** Frames that are waited for until time has gone on. */
const FRAMES_MAX = 5;

/** null when an element stands still; else `unstable`. Waits for frames only when it may move. */
async function instability(element) {
  const now = performance.now();
  let box = boundsOf(element);
  const last = lastBoxes.get(element);
  lastBoxes.set(element, { box, at: now });
  const moved = last && now - last.at < LAST_BOX_MS && !sameBox(last.box, box);
  if (!moved && !isAnimated(element)) return null;
  // Outside of a frame the browser shows what moves where it will be in the next one; so both looks are in frames.
  await renderedFrame();
  // An animation that was pending stays at its first position for one frame more.
  if (isPending(element)) await renderedFrame();
  box = boundsOf(element);
  // On a busy machine two frames may be of one moment, in which nothing has moved.
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
        // What was scrolled by us did not move by itself.
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

/** Brings an element into view where that is needed; `{point}` or `{error}`, and whether it scrolled. */
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
    // Without a hit test, one tells whether a box around the element cuts it off.
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

// What an element lacks that is forced: nothing is waited for.
const NOT_VISIBLE = "Element is not visible";
const NOT_IN_VIEW = "Element is outside of the viewport";

// How long news of the mouse may take from the browser to the page.
const FELT_MS_MAX = 100;
let felt = null;

/** Waits from now on for the mouse to move in this document. */
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

/** Whether the mouse has moved here since an element was found. */
async function hasFeltMouse(args) {
  const late = new Promise((done) => setTimeout(done, FELT_MS_MAX));
  if (await Promise.race([felt?.moved, late])) return { ok: true };
  return { error: "unstable", preview: preview(heldElement(args.handle)) };
}

/** Whether a kept element is where it was, and, if `hit` asks for it, what a click at the point would hit. */
function recheck(args) {
  const element = heldElement(args.handle);
  const now = boundsOf(element);
  const covered = args.hit ? coveredAt(element, args.x, args.y) : null;
  // What has grown or shrunk, and still is under the mouse, stands still all the same.
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
