// Locators: immutable lists of steps. An element is looked for when something is done to it.

class Locator extends Finder {
  constructor(page, steps, text) {
    super(page, steps, text);
    /** What console.log shows. */
    this.target = text;
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

const acting = (locator, name) => new Acting(pageOf(locator), `locator.${name}`, { steps: stepsOf(locator) });

const refined = (locator, step, text) =>
  new Locator(pageOf(locator), [...stepsOf(locator), step], `${textOf(locator)}.${text}`);

/** The steps of a locator that another one names. */
const insideSteps = (locator, name, other) => {
  if (!(other instanceof Locator)) throw wrongArgument(`locator.${name}`, "the argument must be a locator");
  if (pageOf(other) !== pageOf(locator)) throw wrongArgument(`locator.${name}`, "the locators must be of one page");
  return stepsOf(other);
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
    const steps = insideSteps(locator, "filter", has);
    locator = refined(locator, { by: "has", steps }, `filter({ has: ${textOf(has)} })`);
  }
  if (hasNot !== undefined) {
    const steps = insideSteps(locator, "filter", hasNot);
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

guard("finder", Finder);
guard("locator", Locator);
guard("frameLocator", FrameLocator);
