// What finds elements within something: a page, a frame, a frame named by a locator, or an element.

/** The page of a finder, its steps from the page's document, and how it reads. */
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

  /** Without a page the finder is one. */
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

/** What names something, which is looked for only when something is done to it. */
const FINDS = [
  "locator", "getByRole", "getByText", "getByLabel", "getByPlaceholder", "getByAltText", "getByTitle", "getByTestId",
  "frameLocator",
];

/** The steps behind the last one that enters a frame: those that the frame's document is asked for. */
const inFrameOf = (steps) => steps.slice(steps.findLastIndex(({ by }) => by === "frame") + 1);

/** Steps that are to be taken behind others: what they are combined with is looked for there as well. */
const rebased = (outer, steps) =>
  steps.map((step) => (step.by === "and" || step.by === "or" ? { ...step, steps: [...outer, ...rebased(outer, step.steps)] } : step));
