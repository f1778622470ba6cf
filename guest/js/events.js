// DOMException, Event, CustomEvent, EventTarget, AbortSignal and AbortController.
(function (native, shared) {
  "use strict";
  const { apply, create, define, expose, isObject, requireArguments, TypeError, RangeError } = shared;
  const { append, now, reportUncaught } = native;
  const { setTimeout } = globalThis;

  // The names that have a legacy code, each at the index of its code.
  const CODES = [
    "", "IndexSizeError", "", "HierarchyRequestError", "WrongDocumentError", "InvalidCharacterError", "",
    "NoModificationAllowedError", "NotFoundError", "NotSupportedError", "InUseAttributeError", "InvalidStateError",
    "SyntaxError", "InvalidModificationError", "NamespaceError", "InvalidAccessError", "", "TypeMismatchError",
    "SecurityError", "NetworkError", "AbortError", "URLMismatchError", "QuotaExceededError", "TimeoutError",
    "InvalidNodeTypeError", "DataCloneError",
  ];

  const codeOf = (name) => {
    for (let code = 1; code < CODES.length; code++) if (CODES[code] === name) return code;
    return 0;
  };

  // Name and code are own properties, so that printing an exception or sending it to the host runs no getter.
  class DOMException extends Error {
    constructor(message = "", options = "Error") {
      super(`${message}`);
      const isBag = isObject(options);
      const name = isBag ? (options.name === undefined ? "Error" : `${options.name}`) : `${options}`;
      define(this, "name", name);
      define(this, "code", codeOf(name));
      if (isBag && "cause" in options) define(this, "cause", options.cause);
    }
  }
  expose(DOMException);
  native.keepDOMException(DOMException);

  // Access to an event's private state, for the classes below only.
  let eventState;

  class Event {
    #state;
    constructor(type, options = undefined) {
      requireArguments("Event", 1, arguments.length);
      this.#state = {
        __proto__: null,
        type: `${type}`,
        bubbles: !!options?.bubbles,
        cancelable: !!options?.cancelable,
        composed: !!options?.composed,
        timeStamp: now(),
        target: null,
        currentTarget: null,
        canceled: false,
        dispatching: false,
        passive: false,
        stopped: false,
        stoppedImmediately: false,
        trusted: false,
      };
    }
    static {
      eventState = (event) => event.#state;
    }
    get type() {
      return this.#state.type;
    }
    get target() {
      return this.#state.target;
    }
    get srcElement() {
      return this.#state.target;
    }
    get currentTarget() {
      return this.#state.currentTarget;
    }
    get eventPhase() {
      return this.#state.dispatching ? 2 : 0;
    }
    get bubbles() {
      return this.#state.bubbles;
    }
    get cancelable() {
      return this.#state.cancelable;
    }
    get composed() {
      return this.#state.composed;
    }
    get defaultPrevented() {
      return this.#state.canceled;
    }
    get returnValue() {
      return !this.#state.canceled;
    }
    get cancelBubble() {
      return this.#state.stopped;
    }
    set cancelBubble(value) {
      if (value) this.#state.stopped = true;
    }
    get isTrusted() {
      return this.#state.trusted;
    }
    get timeStamp() {
      return this.#state.timeStamp;
    }
    composedPath() {
      return this.#state.dispatching ? [this.#state.target] : [];
    }
    stopPropagation() {
      this.#state.stopped = true;
    }
    stopImmediatePropagation() {
      this.#state.stopped = true;
      this.#state.stoppedImmediately = true;
    }
    preventDefault() {
      if (this.#state.cancelable && !this.#state.passive) this.#state.canceled = true;
    }
  }
  const PHASES = ["NONE", "CAPTURING_PHASE", "AT_TARGET", "BUBBLING_PHASE"];
  for (let phase = 0; phase < PHASES.length; phase++) {
    define(Event, PHASES[phase], phase);
    define(Event.prototype, PHASES[phase], phase);
  }
  expose(Event);

  class CustomEvent extends Event {
    #detail;
    constructor(type, options = undefined) {
      requireArguments("CustomEvent", 1, arguments.length);
      super(type, options);
      this.#detail = options?.detail ?? null;
    }
    get detail() {
      return this.#detail;
    }
  }
  expose(CustomEvent);

  // Access to a target's private dispatch, for the classes below only.
  let fire;

  class EventTarget {
    // The listeners by event type. Each change creates a new array, so that a running dispatch keeps its own.
    #listeners = create(null);

    addEventListener(type, callback, options = undefined) {
      requireArguments("EventTarget.addEventListener", 2, arguments.length);
      const listener = {
        __proto__: null,
        callback,
        capture: isObject(options) ? !!options.capture : !!options,
        once: isObject(options) && !!options.once,
        passive: isObject(options) && !!options.passive,
        removed: false,
      };
      const signal = isObject(options) ? options.signal : undefined;
      if (signal !== undefined) requireSignal(signal);
      if (callback === null || callback === undefined) return;
      if (!isObject(callback)) throw new TypeError("a listener must be a function or an object with handleEvent");
      if (signal !== undefined && signalState(signal).aborted) return;
      const name = `${type}`;
      if (this.#find(name, callback, listener.capture) !== undefined) return;
      const before = this.#listeners[name];
      const after = [];
      for (let index = 0; before !== undefined && index < before.length; index++) append(after, before[index]);
      append(after, listener);
      this.#listeners[name] = after;
      if (signal !== undefined) append(signalState(signal).algorithms, () => this.#remove(name, listener));
    }

    removeEventListener(type, callback, options = undefined) {
      requireArguments("EventTarget.removeEventListener", 2, arguments.length);
      const capture = isObject(options) ? !!options.capture : !!options;
      const listener = this.#find(`${type}`, callback, capture);
      if (listener !== undefined) this.#remove(`${type}`, listener);
    }

    dispatchEvent(event) {
      requireArguments("EventTarget.dispatchEvent", 1, arguments.length);
      if (!(isObject(event) && isEvent(event))) throw new TypeError("dispatchEvent needs an Event");
      if (eventState(event).dispatching) {
        throw new DOMException("the event is being dispatched already", "InvalidStateError");
      }
      return this.#dispatch(event);
    }

    static {
      fire = (target, event) => target.#dispatch(event);
    }

    #find(name, callback, capture) {
      const listeners = this.#listeners[name];
      for (let index = 0; listeners !== undefined && index < listeners.length; index++) {
        const listener = listeners[index];
        if (listener.callback === callback && listener.capture === capture) return listener;
      }
      return undefined;
    }

    #remove(name, listener) {
      listener.removed = true;
      const before = this.#listeners[name];
      const after = [];
      for (let index = 0; before !== undefined && index < before.length; index++) {
        if (before[index] !== listener) append(after, before[index]);
      }
      this.#listeners[name] = after;
    }

    #dispatch(event) {
      const state = eventState(event);
      const listeners = this.#listeners[state.type];
      state.dispatching = true;
      state.target = this;
      state.currentTarget = this;
      for (let index = 0; listeners !== undefined && index < listeners.length; index++) {
        const listener = listeners[index];
        if (listener.removed) continue;
        if (listener.once) this.#remove(state.type, listener);
        state.passive = listener.passive;
        call(listener.callback, this, event);
        if (state.stoppedImmediately) break;
      }
      state.passive = false;
      state.dispatching = false;
      state.currentTarget = null;
      state.stopped = false;
      state.stoppedImmediately = false;
      return !state.canceled;
    }
  }
  expose(EventTarget);

  const isEvent = (value) => {
    try {
      return eventState(value) !== undefined;
    } catch {
      return false;
    }
  };

  // An error in a listener is reported and does not keep the other listeners from running.
  const call = (callback, target, event) => {
    try {
      if (typeof callback === "function") {
        apply(callback, target, [event]);
        return;
      }
      const handle = callback.handleEvent;
      if (typeof handle !== "function") throw new TypeError("the listener's handleEvent is not a function");
      apply(handle, callback, [event]);
    } catch (error) {
      reportUncaught(error);
    }
  };

  // The constructor of AbortSignal requires this value, so that only the code below can create a signal.
  const SECRET = create(null);
  let signalState;

  class AbortSignal extends EventTarget {
    #state;
    constructor(secret = undefined) {
      if (secret !== SECRET) throw new TypeError("Illegal constructor: use new AbortController().signal");
      super();
      this.#state = {
        __proto__: null,
        aborted: false,
        reason: undefined,
        // Callbacks that run once each, before the event.
        algorithms: [],
        // Signals that are aborted together with this one.
        dependents: [],
        onabort: null,
        listensForHandler: false,
      };
    }
    static {
      signalState = (signal) => signal.#state;
    }
    static abort(reason = undefined) {
      const signal = new AbortSignal(SECRET);
      abort(signal, reason);
      return signal;
    }
    static timeout(ms) {
      requireArguments("AbortSignal.timeout", 1, arguments.length);
      const delay = +ms;
      if (!(delay >= 0 && delay <= 9007199254740991)) throw new RangeError("AbortSignal.timeout needs milliseconds");
      const signal = new AbortSignal(SECRET);
      setTimeout(() => {
        abort(signal, new DOMException("The operation was aborted due to timeout", "TimeoutError"));
      }, delay);
      return signal;
    }
    static any(signals) {
      requireArguments("AbortSignal.any", 1, arguments.length);
      const dependent = new AbortSignal(SECRET);
      const sources = [];
      for (const source of signals) {
        requireSignal(source);
        append(sources, source);
      }
      for (let index = 0; index < sources.length; index++) {
        const { aborted, reason } = signalState(sources[index]);
        if (aborted) {
          abort(dependent, reason);
          return dependent;
        }
      }
      for (let index = 0; index < sources.length; index++) append(signalState(sources[index]).dependents, dependent);
      return dependent;
    }
    get aborted() {
      return this.#state.aborted;
    }
    get reason() {
      return this.#state.reason;
    }
    throwIfAborted() {
      if (this.#state.aborted) throw this.#state.reason;
    }
    get onabort() {
      return this.#state.onabort;
    }
    set onabort(handler) {
      this.#state.onabort = isObject(handler) ? handler : null;
      if (this.#state.listensForHandler || this.#state.onabort === null) return;
      this.#state.listensForHandler = true;
      apply(addEventListener, this, ["abort", (event) => {
        const { onabort } = this.#state;
        if (typeof onabort === "function") apply(onabort, this, [event]);
      }]);
    }
  }
  const { addEventListener } = EventTarget.prototype;
  expose(AbortSignal);

  const requireSignal = (value) => {
    let state;
    try {
      state = signalState(value);
    } catch {
      // The value is not a signal.
    }
    if (state === undefined) throw new TypeError("the signal is not an AbortSignal");
  };

  const abort = (signal, reason) => {
    const state = signalState(signal);
    if (state.aborted) return;
    // Abort all dependents before any listener runs, so that no listener sees only some of them aborted.
    const order = [];
    mark(signal, reason === undefined ? new DOMException("This operation was aborted", "AbortError") : reason, order);
    for (let index = 0; index < order.length; index++) {
      const { algorithms } = signalState(order[index]);
      for (let place = 0; place < algorithms.length; place++) algorithms[place]();
      signalState(order[index]).algorithms = [];
      const event = new Event("abort");
      eventState(event).trusted = true;
      fire(order[index], event);
    }
  };

  const mark = (signal, reason, order) => {
    const state = signalState(signal);
    if (state.aborted) return;
    state.aborted = true;
    state.reason = reason;
    append(order, signal);
    for (let index = 0; index < state.dependents.length; index++) mark(state.dependents[index], reason, order);
    state.dependents = [];
  };

  class AbortController {
    #signal = new AbortSignal(SECRET);
    get signal() {
      return this.#signal;
    }
    abort(reason = undefined) {
      abort(this.#signal, reason);
    }
  }
  expose(AbortController);
});
