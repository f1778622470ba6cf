// The common base of pages and frames: actions on elements named by a selector, and functions that run inside.

class Scope extends Finder {
  /** The locator of the first element, or null. Locators stand in for handles. */
  $(selector) {
    return firstOf(this.locator(selector));
  }

  $$(selector) {
    return this.locator(selector).all();
  }

  $eval(selector, fn, arg, options) {
    const name = "$eval";
    return LOCATOR_METHODS.evaluate(inScope(this, name, selector, options), fn, arg, options ?? { timeout: EVAL_WAIT_MS });
  }

  $$eval(selector, fn, arg) {
    const target = { steps: [...stepsOf(this), selectorStep(methodName(this, "$$eval"), selector)] };
    return LOCATOR_METHODS.evaluateAll(new Action(pageOf(this), methodName(this, "$$eval"), target), fn, arg);
  }

  evaluate(fn, arg, options) {
    const method = methodName(this, "evaluate");
    if (arg instanceof Locator) {
      const to = new Action(pageOf(this), method, { steps: stepsOf(arg) });
      return LOCATOR_METHODS.evaluate(to, fn, undefined, options);
    }
    const args = withArgument(method, pageFunction(method, fn), arg);
    return inside(this, "evaluate", args).send("evaluate", args, options);
  }

  /** Returns the function's value, where Playwright returns a handle. */
  waitForFunction(fn, arg, options) {
    const method = methodName(this, "waitForFunction");
    const args = rooted(this, withArgument(method, pageFunction(method, fn), arg));
    const polling = options?.polling;
    if (typeof polling === "number" && polling > 0) args.polling = polling;
    else if (typeof polling === "number") throw wrongArgument(method, `Cannot poll with non-positive interval: ${polling}`);
    else if (polling !== undefined && polling !== "raf") throw wrongArgument(method, `Unknown polling option: ${polling}`);
    return new Action(pageOf(this), method, undefined).send("waitForFunction", args, options);
  }

  title() {
    const args = { function: "document.title", isFunction: false };
    return inside(this, "title", args).send("evaluate", args);
  }

  async waitForSelector(selector, options) {
    const state = options?.state ?? "visible";
    const method = methodName(this, "waitForSelector");
    const to = inScope(this, "waitForSelector", selector, options);
    for (const gone of ["visibility", "waitFor"]) {
      if (options?.[gone] === undefined || options[gone] === "visible") continue;
      throw wrongArgument(method, `options.${gone} is not supported, did you mean options.state?`);
    }
    if (!["attached", "detached", "visible", "hidden"].includes(state)) {
      throw wrongArgument(method, "state: expected one of (attached|detached|visible|hidden)");
    }
    await to.send("waitFor", { state }, options, takeNothing);
    if (state === "detached" || state === "hidden") return null;
    return selector instanceof Locator ? selector.first() : this.locator(selector).first();
  }

  dragAndDrop(source, target, options) {
    const args = {
      source: inScope(this, "dragAndDrop", source, options).target,
      target: inScope(this, "dragAndDrop", target, options).target,
    };
    const to = new Action(pageOf(this), methodName(this, "dragAndDrop"), undefined);
    return to.send("drag", pick(args, options, DRAG), options);
  }

  /** Fills one field, or a whole form: an object from selectors to values; booleans check and uncheck. */
  fill(selector, value, options) {
    if (typeof selector === "object" && selector !== null && !(selector instanceof Finder)) {
      return fillForm(this, selector, value);
    }
    return ELEMENT_METHODS.fill(inScope(this, "fill", selector, options), value, options);
  }

  /** Resolves after this many milliseconds. */
  waitForTimeout(ms) {
    return new Promise((resolve) => setTimeout(resolve, ms));
  }
}

/** How long `$eval` waits for its element; Playwright does not wait at all. */
const EVAL_WAIT_MS = 1_000;

const methodName = (scope, name) => `${scope.constructor.label}.${name}`;

/** The target of a selector: the first match, unless `strict` is requested or a locator is passed. */
const inScope = (scope, name, selector, options) => {
  const method = methodName(scope, name);
  if (selector instanceof Locator) return new Action(pageOf(scope), method, { steps: stepsOf(selector) });
  const step = selectorStep(method, selector);
  // A ref identifies its frame as well.
  if (isRef(selector)) return new Action(pageOf(scope), method, { steps: [step] });
  const steps = [...stepsOf(scope), step];
  if (options?.strict !== true) steps.push({ by: "nth", index: 0 });
  return new Action(pageOf(scope), method, { steps });
};

/** Prepares a function for a document: the page's, or a frame's, which is reached through its root element. */
const inside = (scope, name, args) => {
  const steps = stepsOf(scope);
  if (steps.length === 0) return new Action(pageOf(scope), methodName(scope, name), undefined);
  args.function = args.isFunction ? `(root, arg) => (${args.function})(arg)` : `() => (${args.function})`;
  args.isFunction = true;
  const target = { steps: [...steps, { by: "css", value: ":root" }] };
  return new Action(pageOf(scope), methodName(scope, name), target);
};

/** Prepares a function for a wait in a document; a frame's document is reached by an element among the arguments. */
const rooted = (scope, args) => {
  const steps = stepsOf(scope);
  if (steps.length === 0) return args;
  const call = args.isFunction ? `(${args.function})(arg)` : args.function;
  const handles = (args.handles ?? []).map(({ at, target }) => ({ at: ["arg", ...at], target }));
  const root = { at: ["root"], target: { steps: [...steps, { by: "css", value: ":root" }] } };
  return {
    function: `({ arg }) => (${call})`, isFunction: true,
    arg: args.arg === undefined ? { root: null } : { root: null, arg: args.arg }, handles: [root, ...handles],
  };
};

const fillForm = (scope, form, options) => {
  const method = methodName(scope, "fill");
  const fields = Object.entries(form).map(([selector, value]) => {
    if (!["string", "number", "boolean"].includes(typeof value) && !isSecret(value)) {
      const message = `the value of ${selector} must be a string or a boolean, and this is ${typeName(value)}`;
      throw wrongArgument(method, message);
    }
    const { target } = inScope(scope, "fill", selector, options);
    return { target, value: typeof value === "boolean" ? value : typed({ method }, value) };
  });
  return new Action(pageOf(scope), method, undefined).send("fillForm", { fields }, options);
};

for (const [name, act] of Object.entries(ELEMENT_METHODS)) {
  if (name === "fill") continue;
  hide(Scope.prototype, name, {
    [name](selector, ...args) {
      return act(inScope(this, name, selector, args[args.length - 1]), ...args);
    },
  }[name]);
}

// Methods that Playwright has on locators only.
for (const name of ["pressSequentially", "clear", "blur", "selectText", "scrollIntoViewIfNeeded"]) {
  delete Scope.prototype[name];
}
