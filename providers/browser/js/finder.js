// The base class of everything in which elements can be found: a page, a frame, a frame locator, or a locator.

/** Accessors: the page of a finder, its steps from the page's document, and its description. */
let pageOf, stepsOf, textOf;

class Finder {
  #page;
  #steps;
  #text;

  static {
    pageOf = (finder) => finder.#page ?? finder;
    stepsOf = (finder) => finder.#steps;
    textOf = (finder) => finder.#text;
  }

  /** Without `page`, the finder is itself the page. */
  constructor(page, steps, text) {
    this.#page = page;
    this.#steps = steps;
    this.#text = text;
  }

  locator(selector, options) {
    if (selector instanceof Locator) {
      const text = this.#text === "" ? textOf(selector) : `${this.#text}.locator(${textOf(selector)})`;
      return filtered(this.#within(rebased(inFrameOf(this.#steps), stepsOf(selector)), text), options);
    }
    const step = selectorStep(`${this.constructor.label}.locator`, selector);
    return filtered(this.#within([step], chained(this.#text, `locator(${quoted(selector)})`)), options);
  }

  getByRole(role, options) {
    return this.#within([roleStep(role, options)], chained(this.#text, roleText(role, options)));
  }

  getByText(text, options) {
    return this.#byText("text", "getByText", text, options);
  }

  getByLabel(text, options) {
    return this.#byText("label", "getByLabel", text, options);
  }

  getByPlaceholder(text, options) {
    return this.#byText("placeholder", "getByPlaceholder", text, options);
  }

  getByAltText(text, options) {
    return this.#byText("alt", "getByAltText", text, options);
  }

  getByTitle(text, options) {
    return this.#byText("title", "getByTitle", text, options);
  }

  getByTestId(id) {
    const text = chained(this.#text, textText("getByTestId", id));
    return this.#within([{ by: "testid", text: textStep("getByTestId", id, true) }], text);
  }

  frameLocator(selector) {
    return this.locator(selector).contentFrame();
  }

  toString() {
    return this.#text === "" ? `${this.constructor.label} ${this.url()}` : this.#text;
  }

  #byText(by, method, text, options) {
    const exact = options?.exact;
    const own = chained(this.#text, textText(method, text, exact));
    return this.#within([{ by, text: textStep(method, text, exact) }], own);
  }

  #within(steps, text) {
    return new Locator(pageOf(this), [...this.#steps, ...steps], text);
  }
}

/** Methods that return a locator synchronously: the element is resolved only when it is used. */
const FINDS = [
  "locator", "getByRole", "getByText", "getByLabel", "getByPlaceholder", "getByAltText", "getByTitle", "getByTestId",
  "frameLocator",
];

/** The steps after the last one that enters a frame, which are resolved in that frame's document. */
const inFrameOf = (steps) => steps.slice(steps.findLastIndex(({ by }) => by === "frame") + 1);

/** Appends steps to others: the steps inside of `and` and `or` must start from the same place. */
const rebased = (outer, steps) =>
  steps.map((step) => (step.by === "and" || step.by === "or" ? { ...step, steps: [...outer, ...rebased(outer, step.steps)] } : step));
