// Locators: immutable lists of steps. The element is resolved when the locator is used.

class Locator extends Finder {
  #description;

  constructor(page, steps, text, description = null) {
    super(page, steps, text);
    this.#description = description;
    /** The text that console.log shows. */
    this.target = description ?? text;
  }

  /** The same locator with a description. */
  describe(description) {
    return new Locator(pageOf(this), stepsOf(this), textOf(this), String(description));
  }

  description() {
    return this.#description;
  }

  toString() {
    return this.target;
  }

  page() {
    return pageOf(this);
  }

  first() {
    return refined(this, { by: "nth", index: 0 }, "first()");
  }

  last() {
    return refined(this, { by: "nth", index: -1 }, "last()");
  }

  nth(index) {
    return refined(this, { by: "nth", index: Number(index) }, `nth(${Number(index)})`);
  }

  filter(options) {
    return filtered(this, options);
  }

  and(other) {
    return refined(this, { by: "and", steps: insideSteps(this, "and", other) }, `and(${textOf(other)})`);
  }

  or(other) {
    return refined(this, { by: "or", steps: insideSteps(this, "or", other) }, `or(${textOf(other)})`);
  }

  contentFrame() {
    return new FrameLocator(this);
  }

  /** One locator for each current element. */
  async all() {
    const count = await LOCATOR_METHODS.count(actionOn(this, "all"));
    return Array.from({ length: count }, (_, index) => this.nth(index));
  }

  dragTo(target, options) {
    if (!(target instanceof Locator)) throw wrongArgument("locator.dragTo", "the target must be a locator");
    const args = pick({ source: { steps: stepsOf(this) }, target: { steps: stepsOf(target) } }, options, DRAG);
    return new Action(pageOf(this), "locator.dragTo", undefined).send("drag", args, options);
  }

  /** Locators stand in for handles: waits for the element, and returns this locator. */
  async elementHandle(options) {
    await LOCATOR_METHODS.waitFor(actionOn(this, "elementHandle"), { ...options, state: "attached" });
    return this;
  }

  elementHandles() {
    return this.all();
  }

  /** Waits until a function of the element returns a truthy value. The element is resolved for each call. */
  async waitForFunction(fn, arg, options) {
    const to = actionOn(this, "waitForFunction");
    const ms = timeoutOf(pageOf(this), options) ?? WAIT_MS;
    const until = ms === 0 ? Infinity : Date.now() + ms;
    for (;;) {
      const timeout = ms === 0 ? 0 : Math.max(1, until - Date.now());
      if (await LOCATOR_METHODS.evaluate(to, fn, arg, { timeout })) return;
      if (Date.now() >= until) throw lateError(to.method, ms, `a true answer about ${textOf(this)}`);
      await new Promise((resolve) => setTimeout(resolve, CONDITION_MS));
    }
  }

  $(selector) {
    return firstOf(this.locator(selector));
  }

  $$(selector) {
    return this.locator(selector).all();
  }

  $eval(selector, fn, arg) {
    return this.locator(selector).first().evaluate(fn, arg);
  }

  $$eval(selector, fn, arg) {
    return this.locator(selector).evaluateAll(fn, arg);
  }

  /** Does nothing: locators stand in for handles, but hold no resource. */
  async dispose() {}

  toJSON() {
    return this.target;
  }
}

/** The polling interval for a condition of an element. */
const CONDITION_MS = 50;

const actionOn = (locator, name) => new Action(pageOf(locator), `locator.${name}`, { steps: stepsOf(locator) });

const refined = (locator, step, text) =>
  new Locator(pageOf(locator), [...stepsOf(locator), step], `${textOf(locator)}.${text}`);

/** The steps of a locator that is an argument of another one. */
const insideSteps = (locator, name, other) => {
  const method = name === "and" || name === "or" ? `locator.${name}` : "locator.filter";
  if (!(other instanceof Locator)) throw wrongArgument(method, "the argument must be a locator");
  const isInSameFrame = stepsOf(other)[0]?.frame === stepsOf(locator)[0]?.frame;
  if (pageOf(other) !== pageOf(locator) || !isInSameFrame) {
    throw wrongArgument(method, `Inner "${name}" locator must belong to the same frame`, "Both must begin with the same page or frame.");
  }
  return relativeToFrame(stepsOf(locator), stepsOf(other));
};

/** Steps relative to the frame of `steps`, if both lists begin by entering the same frame. */
const relativeToFrame = (steps, others) => {
  const entered = steps.slice(0, steps.length - inFrameOf(steps).length);
  const isSame = entered.length > 0 && JSON.stringify(entered) === JSON.stringify(others.slice(0, entered.length));
  return isSame ? others.slice(entered.length) : others;
};

/** The locator with the conditions of `filter`, or of the second argument of `locator`. */
const filtered = (locator, options) => {
  if (options === undefined || options === null) return locator;
  const { hasText, hasNotText, has, hasNot, visible } = options;
  if (hasText !== undefined) {
    const text = textStep("locator.filter", hasText);
    locator = refined(locator, { by: "hasText", text }, `filter({ hasText: ${quoted(hasText)} })`);
  }
  if (hasNotText !== undefined) {
    const text = textStep("locator.filter", hasNotText);
    locator = refined(locator, { by: "hasText", text, not: true }, `filter({ hasNotText: ${quoted(hasNotText)} })`);
  }
  if (has !== undefined) {
    const steps = insideSteps(locator, "has", has);
    locator = refined(locator, { by: "has", steps }, `filter({ has: ${textOf(has)} })`);
  }
  if (hasNot !== undefined) {
    const steps = insideSteps(locator, "hasNot", hasNot);
    locator = refined(locator, { by: "has", steps, not: true }, `filter({ hasNot: ${textOf(hasNot)} })`);
  }
  if (visible !== undefined) {
    const isVisible = Boolean(visible);
    locator = refined(locator, { by: "visible", visible: isVisible }, `filter({ visible: ${isVisible} })`);
  }
  return locator;
};

/** The result of `$`: a locator of the first element, or null if there is none. */
const firstOf = async (locator) => {
  const count = await LOCATOR_METHODS.count(actionOn(locator, "$"));
  return count === 0 ? null : locator.first();
};

for (const [name, act] of [...Object.entries(ELEMENT_METHODS), ...Object.entries(LOCATOR_METHODS)]) {
  hide(Locator.prototype, name, {
    [name](...args) {
      return act(actionOn(this, name), ...args);
    },
  }[name]);
}

/** A locator of the document inside of a frame element. */
class FrameLocator extends Finder {
  #owner;

  constructor(owner) {
    super(pageOf(owner), [...stepsOf(owner), { by: "frame" }], `${textOf(owner)}.contentFrame()`);
    this.#owner = owner;
    this.target = textOf(this);
  }

  owner() {
    return this.#owner;
  }

  first() {
    return this.#owner.first().contentFrame();
  }

  last() {
    return this.#owner.last().contentFrame();
  }

  nth(index) {
    return this.#owner.nth(index).contentFrame();
  }

  toJSON() {
    return this.target;
  }
}

guard("finder", Finder, FINDS);
guard("locator", Locator, ["describe", "description", "first", "last", "nth", "filter", "and", "or", "contentFrame"]);
guard("frameLocator", FrameLocator, ["owner", "first", "last", "nth"]);
