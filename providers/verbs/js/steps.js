// Step lists to elements: evaluation, the one element of a strict target, waiting for it.
//
// Each step maps the elements so far to other elements, without duplicates and in the order in which Playwright lists them:
// what is in a shadow tree comes behind all that is in the tree around it. Knows what finds elements; nothing of actions.

/** Finds below one scope; the steps that search. */
const SEARCHES = {
  css: (scope, step) => queryCss(scope, step.value),
  xpath: findByXpath,
  role: findByRole,
  text: (scope, step) => findByText(scope, step.text),
  label: (scope, step) => findByLabel(scope, step.text),
  placeholder: (scope, step) => findByAttribute(scope, "placeholder", step.text),
  alt: (scope, step) => findByAttribute(scope, "alt", step.text),
  title: (scope, step) => findByAttribute(scope, "title", step.text),
  // A test id is a name and not a text: nothing but the whole of it counts.
  testid: (scope, step) => {
    if (step.text.regex !== undefined) return findByAttribute(scope, "data-testid", step.text);
    return queryDeep(scope, "[data-testid]").filter((element) => attributeOf(element, "data-testid") === step.text.text);
  },
};

/** Keeps or picks among the elements so far; `context` is where `and`, `or` search from. */
const SIEVES = {
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

/** All elements that the steps lead to. `context` is `{scope, given}`. */
function evaluate(steps, context) {
  let elements = null;
  for (const step of steps) {
    const sieve = Object.hasOwn(SIEVES, step.by) ? SIEVES[step.by] : null;
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

/** All elements of a target now. */
function elementsOf(args, given) {
  // The element of a ref that has left the page does not come back; an input that opens a chooser need not be in it.
  if (given && !isConnected(given) && !args.anywhere) throw new Fault("detached");
  return evaluate(args.steps || [], { scope: document, given });
}

const MATCHES_SHOWN = 10;

/** The one element of a target: `{element}`, or the failure. Not strict: the first one. */
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

/** The next frame, or a timer: frames stand still in a tab that is not shown. */
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
 * Calls `attempt` until it answers no failure, or a failure that time does not mend, or until the time is over;
 * answers the last one. `attempt` may answer a promise.
 */
async function until(timeout, attempt) {
  const end = performance.now() + (timeout > 0 ? timeout : 0);
  for (;;) {
    forget();
    const begun = performance.now();
    const looked = attempt();
    const cost = performance.now() - begun;
    const answer = await looked;
    if (!answer.error || LASTING.has(answer.error) || performance.now() >= end) return answer;
    await nextFrame();
    // On a page where a look takes long, the page gets at least as much time as the looks.
    if (cost > COSTLY_MS) await new Promise((resolve) => setTimeout(resolve, cost));
  }
}

const COSTLY_MS = 8;

/** Failures that no wait mends. */
const LASTING = new Set(["many", "kind", "selector", "force", "origin"]);

/** Waits for the one element of a target and gives it to `use`, whose failures are waited for as well. */
function withOne(args, given, use) {
  return until(args.timeout, () => {
    const found = oneOf(args, given);
    return found.error ? found : use(found.element);
  });
}

/** Looks at once, without waiting in between, when the first look is enough. */
function nowOrLater(args, given, use) {
  forget();
  const found = oneOf(args, given);
  const answer = found.error ? found : use(found.element);
  if (!answer.error || LASTING.has(answer.error) || !(args.timeout > 0)) return answer;
  return withOne(args, given, use);
}
