// What happens in pages, as it reaches listeners and waits: one long poll for all pages, while somebody listens.

/** What the host must observe for each event of a page. */
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
/** Told of every page that somebody listens to. */
const ALWAYS = ["close", "crash"];

/** A page that tells one of these waits for the answer. */
const URGENT = ["dialog", "route"];

/** How long one poll waits; the next one follows it. */
const POLL_MS = 20_000;
/** How long after an answer the next poll begins. */
const BURST_MS = 10;
/** What a wait may last unless it is told otherwise. */
const WAIT_MS = 30_000;

class Events {
  constructor(session) {
    this.session = session;
    /** Settles when the host observes what was asked for last; calls wait for it. Null: nothing is being asked. */
    this.gate = null;
    /** Whether somebody listens. */
    this.polls = false;
    this.listeners = 0;
    /** How many listen to each kind, which is what polls ask for. */
    this.kinds = new Map();
    /** What the next watch will tell the host, by page. */
    this.asked = new Map();
    /** The sequence number of the first event that was not delivered. */
    this.next = undefined;
    /** The number of the poll whose answer counts. */
    this.poll = 0;
  }

  /** One more listener for these kinds of a page. `page` is null for what is of no page. */
  listen(page, kinds) {
    this.listeners++;
    const begun = kinds.filter((kind) => this.count(kind, 1) === 1);
    const watched = page === null ? this.session.watched : stateOf(page).watched;
    const policy = page === null ? undefined : stateOf(page).policy;
    const isNew = watched.size === 0 || kinds.some((kind) => !watched.has(kind)) || policy?.told !== policy?.wanted;
    if (!isNew && begun.length === 0 && this.polls) return;
    for (const kind of [...kinds, ...ALWAYS]) {
      // What happened before somebody listened is not told.
      if (page !== null && (begun.includes(kind) || !watched.has(kind))) stateOf(page).since.set(kind, undefined);
      watched.add(kind);
    }
    this.polls = true;
    this.asked.set(page, watched);
    this.gate ??= this.open();
  }

  /** Counts who listens to a kind. */
  count(kind, change) {
    const count = (this.kinds.get(kind) ?? 0) + change;
    if (count === 0) this.kinds.delete(kind);
    else this.kinds.set(kind, count);
    return count;
  }

  /** One listener less. The poll under way is not followed by another one when none is left. */
  leave(kinds) {
    this.listeners--;
    for (const kind of kinds) this.count(kind, -1);
    if (this.listeners === 0) {
      this.polls = false;
      this.poll++;
    }
  }

  /** Tells the host what to observe, all that one turn of the script asks for at once, and what is asked for meanwhile. */
  async open() {
    await undefined;
    while (this.asked.size > 0) await this.tell().catch(() => {});
    this.gate = null;
  }

  async tell() {
    const { call } = this.session;
    const asked = [...this.asked];
    this.asked.clear();
    const told = [];
    for (const [page, watched] of asked) {
      const types = [...watched];
      told.push(call.watch(page === null ? { types } : { page: page.id, types }));
      const policy = page === null ? undefined : stateOf(page).policy;
      if (policy?.told === policy?.wanted) continue;
      policy.told = policy.wanted;
      told.push(call.dialogs({ page: page.id, policy: policy.told }));
    }
    // A page that is gone says so to whatever else is done with it.
    const answers = await Promise.all(told.map((answer) => answer.catch(() => undefined)));
    await this.start(answers.map((answer) => answer?.next).find((next) => next !== undefined));
    for (const [page] of asked) {
      if (page === null) continue;
      const { since } = stateOf(page);
      for (const [kind, from] of since) if (from === undefined) since.set(kind, this.now);
    }
    if (this.polls) this.run();
  }

  /** Where the reading begins: at what happens from now on, unless reading goes on already. */
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
      // Without an answer there is no browser, or no more call to be made: the next listener tries again.
      if (answer === undefined) this.poll++;
      else this.deliver(answer);
      // Each poll is a call: what comes in a burst is told together, unless the page stands still meanwhile.
      if (!URGENT.some((kind) => this.kinds.has(kind))) await new Promise((resolve) => setTimeout(resolve, BURST_MS));
    }
  }

  /** The host tells a new page once, as the first of these kinds that fits. Of a popup it must say who opened it. */
  types() {
    const types = [...ALWAYS, ...this.kinds.keys()];
    return this.kinds.has("popup") ? ["popup", ...types.filter((kind) => kind !== "popup")] : types;
  }

  ask(timeoutMs) {
    const args = { types: this.types(), timeoutMs };
    if (this.next !== undefined) args.since = this.next;
    return this.session.call.events(args);
  }

  /** Delivers what has happened so far. */
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
      this.tellPage(event);
    }
    if (answer.next !== undefined && (this.next === undefined || answer.next > this.next)) this.next = answer.next;
  }

  tellPage(event) {
    // Each new page is one of the context's, whether some page opened it or the script.
    if (event.type === "page" || event.type === "popup") {
      emit(this.session.emitter, "page", this.session.page(event.popup ?? event.page, event.url));
    }
    const page = this.session.pages.get(event.page);
    if (page === undefined) return;
    const from = stateOf(page).since.get(event.type);
    if (from !== undefined && event.seq !== undefined && event.seq < from) return;
    RECEIVE[event.type]?.(page, event);
  }

  /** A page has ended, in one way or the other: what is waited for in it does not come any more. */
  ended(page, how) {
    const { emitter } = stateOf(page);
    emit(emitter, how, page);
    for (const fail of [...emitter.waits]) fail();
  }
}

/** Listeners by the name of the event, and the waits that the page's end fails. */
class Emitter {
  constructor() {
    this.listeners = new Map();
    this.waits = new Set();
  }
}

const listenersOf = (emitter, name) => emitter.listeners.get(name) ?? [];

/** Calls the listeners of an event. What one throws is an unhandled rejection; the others are called all the same. */
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

/** Adds a listener; `kinds` is what the host must observe for it. */
const addListener = (session, page, emitter, name, kinds, handler, once) => {
  const entry = { handler, once, remove: undefined };
  entry.remove = (isHeard = false) => {
    const left = listenersOf(emitter, name).filter((other) => other !== entry);
    if (left.length === listenersOf(emitter, name).length) return;
    emitter.listeners.set(name, left);
    session.events.leave(kinds);
    if (name !== "dialog") return;
    settleDialogs(page);
    // A listener for one dialog answers when it likes; of one that was taken away nothing more is expected.
    if (!isHeard) setTimeout(leaveDialog, 0, page);
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

/** The first event of a kind that a predicate accepts. */
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
        // At once where that can be: of events that come together no further one is shown to the predicate.
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
