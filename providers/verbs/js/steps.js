// Resolves step lists to elements: evaluation, the only element of a strict target, waiting for it.
//
// Each step maps the elements so far to other elements, without duplicates and in the order in which Playwright lists
// them: elements of a shadow tree come after all elements of the tree that contains it. Knows what finds elements;
// nothing of actions.

/** Steps that search below one scope. */
const SEARCHES = {
  css: (scope, step) => queryCss(scope, step.value),
  xpath: findByXpath,
  role: findByRole,
  text: (scope, step) => findByText(scope, step.text),
  label: (scope, step) => findByLabel(scope, step.text),
  placeholder: (scope, step) => findByAttribute(scope, "placeholder", step.text),
  alt: (scope, step) => findByAttribute(scope, "alt", step.text),
  title: (scope, step) => findByAttribute(scope, "title", step.text),
  // A test id is an identifier and not a text: only the whole of it matches.
  testid: (scope, step) => {
    if (step.text.regex !== undefined) return findByAttribute(scope, "data-testid", step.text);
    return queryDeep(scope, "[data-testid]").filter((element) => attributeOf(element, "data-testid") === step.text.text);
  },
};

/** Steps that filter or pick among the elements so far; `and` and `or` search from `context`. */
const FILTER_STEPS = {
  nth: (elements, step) => {
    const at = step.index < 0 ? elements.length + step.index : step.index;
    return at >= 0 && at < elements.length ? [elements[at]] : [];
  },
  visible: (elements, step) => elements.filter((element) => isVisible(element) === (step.visible !== false)),
  has: (elements, step, context) =>
    elements.filter((element) => evaluate(step.steps, { scope: element, given: context.given }).length > 0 !== Boolean(step.not)),
  hasText: (elements, step) => {
    const matches = textMatcherOf(step.text);
    return elements.filter((element) => (!isTextless(element) && matches(element)) !== Boolean(step.not));
  },
  and: (elements, step, context) => {
    const others = new Set(evaluate(step.steps, context));
    return elements.filter((element) => others.has(element));
  },
  or: (elements, step, context) => inOrder([...elements, ...evaluate(step.steps, context)]),
  given: (_, __, context) => (context.given ? [context.given] : []),
};

function findByXpath(scope, step) {
  let { value } = step;
  if (value.startsWith("/") && nodeTypeOf(scope) !== DOCUMENT) value = `.${value}`;
  try {
    const result = new XPathEvaluator().evaluate(value, scope, null, XPathResult.ORDERED_NODE_SNAPSHOT_TYPE);
    const found = [];
    for (let index = 0; index < result.snapshotLength; index++) {
      const node = result.snapshotItem(index);
      if (isElement(node)) found.push(node);
    }
    return found;
  } catch (error) {
    throw badSelector(`"${step.value}" is not a valid XPath expression: ${error.message.replace(/^.*?: /, "")}`);
  }
}

/** All elements that the steps resolve to. `context` is `{scope, given}`. */
function evaluate(steps, context) {
  let elements = null;
  for (const step of steps) {
    const sieve = Object.hasOwn(FILTER_STEPS, step.by) ? FILTER_STEPS[step.by] : null;
    if (sieve) {
      elements = sieve(elements ?? (nodeTypeOf(context.scope) === ELEMENT ? [context.scope] : [documentElementOf(context.scope)].filter(Boolean)), step, context);
      continue;
    }
    const search = Object.hasOwn(SEARCHES, step.by) ? SEARCHES[step.by] : null;
    if (!search) throw badSelector(`"${step.by}" is no kind of step`);
    const scopes = elements ?? [context.scope];
    elements = unique(scopes.flatMap((scope) => search(scope, step)));
  }
  return elements ?? [documentElementOf(document)].filter(Boolean);
}

const unique = (elements) => [...new Set(elements)];

/** All current elements of a target. */
function elementsOf(args, given) {
  // The element of a ref that has left the page does not come back; an input that opens a chooser need not be in the
  // document.
  if (given && !isConnected(given) && !args.anywhere) throw new Fault("detached");
  return evaluate(args.steps || [], { scope: document, given });
}

const MATCHES_SHOWN = 10;

/** The only element of a target: `{element}`, or the failure. If not strict, the first one. */
function oneOf(args, given) {
  const elements = elementsOf(args, given);
  if (elements.length === 0) return { error: "none", steps: describe(args.steps) };
  if (elements.length > 1 && args.strict !== false) {
    return { error: "many", count: elements.length, matches: elements.slice(0, MATCHES_SHOWN).map((element) => `${preview(element)} aka ${suggest(element)}`) };
  }
  return { element: elements[0] };
}

// ---- waiting ----

const TIMER_MS = 50;

/** Resolves with the next frame, or after `ms`: no frames run in a tab that is not visible. */
function frameWithin(ms) {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    const frame = requestAnimationFrame(done);
    function done() {
      clearTimeout(timer);
      cancelAnimationFrame(frame);
      resolve();
    }
  });
}
const nextFrame = () => frameWithin(TIMER_MS);

/**
 * Calls `attempt` until it returns no failure, or a permanent one, or the timeout is over; returns its last result.
 * `attempt` may return a promise.
 */
async function until(timeout, attempt) {
  const end = performance.now() + (timeout > 0 ? timeout : 0);
  for (;;) {
    forget();
    const begun = performance.now();
    const looked = attempt();
    const cost = performance.now() - begun;
    const answer = await looked;
    if (!answer.error || PERMANENT.has(answer.error) || performance.now() >= end) return answer;
    await nextFrame();
    // If an attempt is expensive, the page gets at least as much time as the attempt took.
    if (cost > COSTLY_MS) await new Promise((resolve) => setTimeout(resolve, cost));
  }
}

const COSTLY_MS = 8;

/** Failures that waiting cannot resolve. */
const PERMANENT = new Set(["many", "kind", "selector", "force", "origin"]);

/** Waits for the only element of a target and passes it to `use`, whose transient failures are retried as well. */
function withOne(args, given, use) {
  return until(args.timeout, () => {
    const found = oneOf(args, given);
    return found.error ? found : use(found.element);
  });
}

/** Returns the first attempt's result synchronously if it is final; otherwise waits as `withOne`. */
function nowOrLater(args, given, use) {
  forget();
  const found = oneOf(args, given);
  const answer = found.error ? found : use(found.element);
  if (!answer.error || PERMANENT.has(answer.error) || !(args.timeout > 0)) return answer;
  return withOne(args, given, use);
}
