// Popups of `<select>`: kept from opening and reported to the host instead, which answers with the chosen options.
//
// Self-contained. Runs in the engine's world, in each document of a page whose popups are watched. The page can observe
// only that the default of an event was prevented. Handles one popup at a time; knows nothing of locators or
// operations.
//
// Called with `{ binding, engine, optionsMax, labelMax, takenMs }`.
(settings) => {
  const KEY = Symbol.for("codemode.selects");
  const known = globalThis[KEY];
  if (known) return known.begin();

  const TYPES = ["mousedown", "keydown", "keypress"];
  const normal = (text) => text.replace(/[\u200b\u00ad]/g, "").replace(/\s+/g, " ").trim();
  const shortened = (text) => (text.length <= settings.labelMax ? text : `${text.slice(0, settings.labelMax - 1).replace(/[\ud800-\udbff]$/, "")}\u2026`);
  const number = () => Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, "0")).join("");

  /** The open popup: `{ id, select, timer }`. */
  let open = null;
  let listens = false;

  /**
   * The nodes from the window down to an event's target, including those in closed shadow roots that the engine was
   * given.
   */
  function pathOf(event) {
    const path = event.composedPath().reverse();
    const engine = globalThis[Symbol.for(settings.engine)];
    for (let root; (root = engine?.closedRootOf(path.at(-1))); ) {
      const inner = event.type === "mousedown" ? root.elementFromPoint(event.clientX, event.clientY) : root.activeElement;
      if (!inner || inner === path.at(-1)) break;
      path.push(root, inner);
    }
    return path;
  }

  /** Whether the browser would open a popup of its own for an element. */
  function hasPopup(element) {
    if (!(element instanceof HTMLSelectElement) || element.multiple || element.size > 1 || element.matches(":disabled")) return false;
    // A list that the page renders itself has no popup of the browser.
    return getComputedStyle(element).appearance !== "base-select";
  }

  /** Whether the browser would open the popup on this event: its behaviour on Linux and Windows. */
  function opens(event) {
    if (event.type === "mousedown") return event.button === 0;
    const isPlain = !event.altKey && !event.ctrlKey && !event.metaKey;
    // Typing a letter first starts a type-ahead search, of which a following space is a part.
    if (event.type === "keypress") return isPlain && OPENING_CHARACTERS.includes(event.key);
    if (event.key === "ArrowDown" || event.key === "ArrowUp") return event.altKey && !event.ctrlKey && !event.metaKey;
    return isPlain && event.key === "F4";
  }
  const OPENING_CHARACTERS = [" ", "Enter"];

  function watch(event) {
    if (!event.isTrusted || typeof globalThis[settings.binding] !== "function") return;
    const path = pathOf(event);
    const select = path.at(-1);
    if (event.type === "mousedown" && open && select !== open.select) close();
    if (!hasPopup(select) || !opens(event)) return;
    // The page may prevent the default as well, and then there is no popup; that is known only after all its listeners
    // have run. A listener that stops propagation is the last one to run.
    let isDecided = false;
    const pass = () => {
      isDecided = true;
      for (const node of path) for (const capture of [true, false]) node.removeEventListener(event.type, look, capture);
    };
    const decide = () => {
      if (isDecided) return;
      pass();
      if (event.defaultPrevented || !listens) return;
      event.preventDefault();
      tell(select);
    };
    const look = (passing) => {
      if (passing === event && (event.cancelBubble || (event.currentTarget === window && event.eventPhase === Event.BUBBLING_PHASE))) decide();
    };
    for (const node of path) for (const capture of [true, false]) node.addEventListener(event.type, look, capture);
    setTimeout(() => {
      if (isDecided) return;
      pass();
      // A listener called stopImmediatePropagation: the popup has opened, and closes when the list loses the focus.
      if (event.defaultPrevented || !listens || !select.matches(":open")) return;
      select.blur();
      tell(select);
    }, 0);
  }

  function tell(select) {
    close();
    select.focus({ preventScroll: true });
    const { options } = select;
    const told = [];
    for (let index = 0; index < options.length && index < settings.optionsMax; index++) {
      const option = options[index];
      told.push({ index, label: shortened(normal(option.label)), selected: option.selected, disabled: !canBeChosen(option) });
    }
    const popup = { id: number(), select, timer: 0 };
    // If the host does not acknowledge a popup in time, watching ends: the browser's own popup opens, and so do later
    // ones.
    popup.timer = setTimeout(() => {
      if (open !== popup) return;
      end();
      try {
        select.showPicker();
      } catch {
        // The list has left the page.
      }
    }, settings.takenMs);
    open = popup;
    globalThis[settings.binding](JSON.stringify({ id: popup.id, multiple: select.multiple, count: options.length, options: told }));
  }

  /** Whether a user could choose an option. */
  function canBeChosen(option) {
    return !option.matches(":disabled") && getComputedStyle(option).display !== "none";
  }

  function close() {
    if (open) clearTimeout(open.timer);
    open = null;
  }

  /** Stops watching. */
  function end() {
    close();
    listens = false;
    for (const type of TYPES) window.removeEventListener(type, watch, true);
  }

  /** The host acknowledges a popup. */
  function take(id) {
    if (open?.id === id) clearTimeout(open.timer);
  }

  /** Selects exactly these options and closes the popup; with null, only closes it. */
  function answer(id, indices) {
    if (open?.id !== id || !open.select.isConnected) return { error: "popup" };
    const { select } = open;
    if (indices === null) return close(), { value: chosenIn(select) };
    if (select.matches(":disabled")) return { error: "disabled", preview: "the list" };
    const { options, multiple } = select;
    const fault = (message) => ({ error: "option", message });
    if (indices.length === 0 && !multiple) return fault("an option must be chosen");
    if (indices.length > 1 && !multiple) return fault("of this list one option can be chosen");
    for (const index of indices) {
      if (index >= options.length) return fault(`there is no option ${index}: the list has ${options.length}`);
      if (!canBeChosen(options[index])) return fault(`option ${index} cannot be chosen: it is disabled`);
    }
    close();
    let isChanged = false;
    for (let index = 0; index < options.length && multiple; index++) {
      const isChosen = indices.includes(index);
      if (options[index].selected !== isChosen) isChanged = true;
      options[index].selected = isChosen;
    }
    if (!multiple && select.selectedIndex !== indices[0]) {
      isChanged = true;
      select.selectedIndex = indices[0];
    }
    const value = chosenIn(select);
    if (isChanged) {
      select.dispatchEvent(new Event("input", { bubbles: true, composed: true }));
      select.dispatchEvent(new Event("change", { bubbles: true }));
    }
    return { value };
  }

  const chosenIn = (select) => Array.from(select.selectedOptions, (option) => option.value);

  function begin() {
    if (listens) return;
    listens = true;
    for (const type of TYPES) window.addEventListener(type, watch, true);
  }

  globalThis[KEY] = { begin, end, take, answer };
  begin();
}
