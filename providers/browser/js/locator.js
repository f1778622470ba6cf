// Locators: immutable lists of steps. An element is looked for when something is done to it.

class Locator extends Finder {
  #description;

  constructor(page, steps, text, description = null) {
    super(page, steps, text);
    this.#description = description;
    /** What console.log shows. */
    this.target = description ?? text;
  }

  /** The same locator under a name of the script's own. */
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

  /** One locator for each element that there is now. */
  async all() {
    const count = await LOCATOR_METHODS.count(acting(this, "all"));
    return Array.from({ length: count }, (_, index) => this.nth(index));
  }

  dragTo(target, options) {
    if (!(target instanceof Locator)) throw wrongArgument("locator.dragTo", "the target must be a locator");
    const args = pick({ source: { steps: stepsOf(this) }, target: { steps: stepsOf(target) } }, options, DRAG);
    return new Acting(pageOf(this), "locator.dragTo", undefined).send("drag", args, options);
  }

  /** Handles are locators here: this one, when its element is there. */
  async elementHandle(options) {
    await LOCATOR_METHODS.waitFor(acting(this, "elementHandle"), { ...options, state: "attached" });
    return this;
  }

  elementHandles() {
    return this.all();
  }

  /** Waits until a function of the element, which is looked for each time, answers something true. */
  async waitForFunction(fn, arg, options) {
    const to = acting(this, "waitForFunction");
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

  /** A locator needs no end of its own; handles had one. */
  async dispose() {}

  toJSON() {
    return this.target;
  }
}

/** How often a condition of an element is looked at. */
const CONDITION_MS = 50;

const acting = (locator, name) => new Acting(pageOf(locator), `locator.${name}`, { steps: stepsOf(locator) });

const refined = (locator, step, text) =>
  new Locator(pageOf(locator), [...stepsOf(locator), step], `${textOf(locator)}.${text}`);

/** The steps of a locator that another one names. */
const insideSteps = (locator, name, other) => {
  const method = name === "and" || name === "or" ? `locator.${name}` : "locator.filter";
  if (!(other instanceof Locator)) throw wrongArgument(method, "the argument must be a locator");
  const isInSameFrame = stepsOf(other)[0]?.frame === stepsOf(locator)[0]?.frame;
  if (pageOf(other) !== pageOf(locator) || !isInSameFrame) {
    throw wrongArgument(method, `Inner "${name}" locator must belong to the same frame`, "Both must begin with the same page or frame.");
  }
  return behindFrame(stepsOf(locator), stepsOf(other));
};

/** Steps as they read in the frame of others, where both begin by entering the same one. */
const behindFrame = (steps, others) => {
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

/** What `$` answers: the first element, or null if there is none. */
const firstOf = async (locator) => {
  const count = await LOCATOR_METHODS.count(acting(locator, "$"));
  return count === 0 ? null : locator.first();
};

for (const [name, act] of [...Object.entries(ELEMENT_METHODS), ...Object.entries(LOCATOR_METHODS)]) {
  hide(Locator.prototype, name, {
    [name](...args) {
      return act(acting(this, name), ...args);
    },
  }[name]);
}

/** The document inside of a frame's element. */
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
