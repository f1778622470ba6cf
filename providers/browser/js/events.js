// Page events, delivered to listeners and waits: one long poll for all pages, while there are listeners.

/** The host's event kinds that each page event needs. */
const NEEDS = {
  dialog: ["dialog"],
  console: ["console"],
  pageerror: ["pageerror"],
  popup: ["popup"],
  download: ["download"],
  filechooser: ["filechooser"],
  select: ["select"],
  request: ["request"],
  response: ["request", "response"],
  requestfinished: ["request", "response", "requestfinished"],
  requestfailed: ["request", "requestfailed"],
  framenavigated: ["framenavigated"],
  domcontentloaded: ["domcontentloaded"],
  load: ["load"],
  close: [],
  crash: [],
};
/** Kinds that are watched on every page with listeners. */
const ALWAYS = ["close", "crash"];

/** Kinds after which the page is blocked until the script answers. */
const URGENT = ["dialog", "route"];

/** The duration of one long poll; the next one follows it. */
const POLL_MS = 20_000;
/** The delay before the next poll, so that events of a burst are batched. */
const BURST_MS = 10;
/** The default timeout of a wait. */
const WAIT_MS = 30_000;

class Events {
  constructor(session) {
    this.session = session;
    /**
     * A promise that settles when the host watches everything requested so far; calls wait for it. Null if no
     * request is under way.
     */
    this.gate = null;
    /** Whether there are listeners. */
    this.polls = false;
    this.listeners = 0;
    /** The number of listeners of each kind; polls request these kinds. */
    this.kinds = new Map();
    /** The kinds to request from the host next, by page. */
    this.requested = new Map();
    /** The sequence number of the first event that was not delivered. */
    this.next = undefined;
    /** The number of the current poll; answers of earlier ones are dropped. */
    this.poll = 0;
  }

  /** Adds a listener for these kinds of a page. `page` is null for events of the context. */
  listen(page, kinds) {
    this.listeners++;
    const begun = kinds.filter((kind) => this.count(kind, 1) === 1);
    const watched = page === null ? this.session.watched : stateOf(page).watched;
    const policy = page === null ? undefined : stateOf(page).policy;
    const isNew = watched.size === 0 || kinds.some((kind) => !watched.has(kind)) || policy?.told !== policy?.wanted;
    if (!isNew && begun.length === 0 && this.polls) return;
    for (const kind of [...kinds, ...ALWAYS]) {
      // Events from before the listener was added are not delivered.
      if (page !== null && (begun.includes(kind) || !watched.has(kind))) stateOf(page).since.set(kind, undefined);
      watched.add(kind);
    }
    this.polls = true;
    this.requested.set(page, watched);
    this.gate ??= this.open();
  }

  /** Changes the number of listeners of a kind. */
  count(kind, change) {
    const count = (this.kinds.get(kind) ?? 0) + change;
    if (count === 0) this.kinds.delete(kind);
    else this.kinds.set(kind, count);
    return count;
  }

  /** Removes a listener. Without listeners, no poll follows the current one. */
  unlisten(kinds) {
    this.listeners--;
    for (const kind of kinds) this.count(kind, -1);
    if (this.listeners === 0) {
      this.polls = false;
      this.poll++;
    }
  }

  /** Tells the host what to watch: everything requested in one turn of the script, and what is requested meanwhile. */
  async open() {
    await undefined;
    while (this.requested.size > 0) await this.subscribe().catch(() => {});
    this.gate = null;
  }

  async subscribe() {
    const { call } = this.session;
    const asked = [...this.requested];
    this.requested.clear();
    const told = [];
    for (const [page, watched] of asked) {
      const types = [...watched];
      told.push(call.watch(page === null ? { types } : { page: page.id, types }));
      const policy = page === null ? undefined : stateOf(page).policy;
      if (policy?.told === policy?.wanted) continue;
      policy.told = policy.wanted;
      told.push(call.dialogs({ page: page.id, policy: policy.told }));
    }
    // The error of a closed page is reported by the next call on it.
    const answers = await Promise.all(told.map((answer) => answer.catch(() => undefined)));
    await this.start(answers.map((answer) => answer?.next).find((next) => next !== undefined));
    for (const [page] of asked) {
      if (page === null) continue;
      const { since } = stateOf(page);
      for (const [kind, from] of since) if (from === undefined) since.set(kind, this.now);
    }
    if (this.polls) this.run();
  }

  /** Sets where reading starts: at future events, unless reading is under way already. */
  async start(next) {
    if (next === undefined) {
      const answer = await this.session.call.events({ types: this.types(), timeoutMs: 0 });
      next = answer?.next;
    }
    this.now = next;
    if (this.next === undefined || this.poll !== this.running) this.next = next;
  }

  /** Polls until there is no listener or another poll has taken over. */
  async run() {
    const poll = ++this.poll;
    this.running = poll;
    while (this.polls && poll === this.poll) {
      const answer = await this.ask(POLL_MS).catch(() => undefined);
      if (poll !== this.poll) return;
      // Without an answer the browser is gone or no calls are possible; the next listener tries again.
      if (answer === undefined) this.poll++;
      else this.deliver(answer);
      // Each poll is a call, so the events of a burst are batched, unless the page would be blocked meanwhile.
      if (!URGENT.some((kind) => this.kinds.has(kind))) await new Promise((resolve) => setTimeout(resolve, BURST_MS));
    }
  }

  /**
   * The kinds to poll for. The host reports a new page once, as the first kind in the list that fits; "popup" must
   * come first, since it includes the opener.
   */
  types() {
    const types = [...ALWAYS, ...this.kinds.keys()];
    return this.kinds.has("popup") ? ["popup", ...types.filter((kind) => kind !== "popup")] : types;
  }

  ask(timeoutMs) {
    const args = { types: this.types(), timeoutMs };
    if (this.next !== undefined) args.since = this.next;
    return this.session.call.events(args);
  }

  /** Delivers the events that have occurred so far. */
  async flush() {
    if (this.gate !== null) return;
    const poll = this.poll;
    const answer = await this.ask(0).catch(() => undefined);
    if (answer === undefined || !this.polls) return;
    if (poll !== this.poll) return this.flush();
    this.deliver(answer);
  }

  deliver(answer) {
    for (const event of answer.events) {
      if (event.seq !== undefined) {
        if (this.next !== undefined && event.seq < this.next) continue;
        this.next = event.seq + 1;
      }
      this.dispatch(event);
    }
    if (answer.next !== undefined && (this.next === undefined || answer.next > this.next)) this.next = answer.next;
  }

  dispatch(event) {
    // Each new page is reported on the context, whether a page or the script opened it.
    if (event.type === "page" || event.type === "popup") {
      emit(this.session.emitter, "page", this.session.page(event.popup ?? event.page, event.url));
    }
    const page = this.session.pages.get(event.page);
    if (page === undefined) return;
    const from = stateOf(page).since.get(event.type);
    if (from !== undefined && event.seq !== undefined && event.seq < from) return;
    RECEIVE[event.type]?.(page, event);
  }

  /** A page was closed or has crashed: fails the waits on it. */
  ended(page, how) {
    const { emitter } = stateOf(page);
    emit(emitter, how, page);
    for (const fail of [...emitter.waits]) fail();
  }
}

/** Listeners by event name, and the waits to fail when the page closes. */
class Emitter {
  constructor() {
    this.listeners = new Map();
    this.waits = new Set();
  }
}

const listenersOf = (emitter, name) => emitter.listeners.get(name) ?? [];

/** Calls the listeners of an event. An exception of one becomes an unhandled rejection; the others are still called. */
const emit = (emitter, name, value) => {
  for (const entry of [...listenersOf(emitter, name)]) {
    if (entry.once) entry.remove(true);
    try {
      const made = entry.handler(value);
      if (made instanceof Promise) made.then(undefined, (error) => void Promise.reject(error));
    } catch (error) {
      void Promise.reject(error);
    }
  }
};

/** Adds a listener; `kinds` are the host's event kinds that it needs. */
const addListener = (session, page, emitter, name, kinds, handler, once) => {
  const entry = { handler, once, remove: undefined };
  entry.remove = (isHeard = false) => {
    const left = listenersOf(emitter, name).filter((other) => other !== entry);
    if (left.length === listenersOf(emitter, name).length) return;
    emitter.listeners.set(name, left);
    session.events.unlisten(kinds);
    if (name !== "dialog") return;
    settleDialogs(page);
    // A one-time dialog listener may answer later; after any other removal no answer is to be expected.
    if (!isHeard) setTimeout(dismissUnanswered, 0, page);
  };
  emitter.listeners.set(name, [...listenersOf(emitter, name), entry]);
  if (name === "dialog") stateOf(page).policy.wanted = "hold";
  session.events.listen(page, kinds);
  return entry;
};

const checkHandler = (method, handler) => {
  if (typeof handler !== "function") throw wrongArgument(method, "the second argument must be a function");
};

/** Removes the listeners of an event, or the one that has this handler. */
const removeListener = (emitter, name, handler) => {
  for (const entry of listenersOf(emitter, name)) {
    if (handler === undefined || entry.handler === handler) entry.remove();
  }
};

/** Resolves with the first event that a predicate accepts. */
const waitForEvent = (session, page, emitter, { method, name, kinds, accepts, timeout, what }) => {
  const ms = timeout ?? WAIT_MS;
  const late = lateError(method, ms, what);
  return new Promise((resolve, reject) => {
    const settle = (end, value) => {
      entry.remove(true);
      emitter.waits.delete(fail);
      clearTimeout(timer);
      end(value);
    };
    const fail = () => settle(reject, placeAt(closedError(method), late));
    const offer = (value) => {
      const decide = (isMeant) => isMeant && settle(resolve, value);
      try {
        const isMeant = accepts === undefined || accepts(value);
        // Decide synchronously where possible, so that the predicate sees no further events of the same batch.
        if (typeof isMeant?.then !== "function") decide(isMeant);
        else Promise.resolve(isMeant).then(decide).catch((error) => settle(reject, error));
      } catch (error) {
        settle(reject, error);
      }
    };
    const timer = ms === 0 ? undefined : setTimeout(() => settle(reject, late), ms);
    const entry = addListener(session, page, emitter, name, kinds, offer, false);
    if (name !== "close") emitter.waits.add(fail);
    if (page !== null && stateOf(page).isClosed) fail();
  });
};

/** The options of a wait: an object, or only its predicate. */
const waitOptions = (options) => (typeof options === "function" ? { predicate: options } : (options ?? {}));
