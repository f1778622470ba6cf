// Popups of `<select>`: kept from opening and told to the host instead, which answers by what is chosen.
//
// Stands alone, in the world of the engine, in each document of a page whose popups are watched. A page sees of it that the
// default of an event was prevented, and nothing else. Knows one popup at a time; nothing of locators or operations.
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

  /** The popup that is open: `{ id, select, timer }`. */
  let open = null;
  let listens = false;

  /** The nodes from the window down to what an event is for, also into closed shadow roots that the engine was given. */
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

  /** Whether the browser opens a popup of its own for an element. */
  function hasPopup(element) {
    if (!(element instanceof HTMLSelectElement) || element.multiple || element.size > 1 || element.matches(":disabled")) return false;
    // A list that the page draws itself is no popup of the browser.
    return getComputedStyle(element).appearance !== "base-select";
  }

  /** Whether the browser opens the popup on this event: what it does on Linux and Windows. */
  function opens(event) {
    if (event.type === "mousedown") return event.button === 0;
    const isPlain = !event.altKey && !event.ctrlKey && !event.metaKey;
    // A letter before makes a blank a part of what is searched for.
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
    // The page may prevent it as well, and then there is no popup: that is seen when the event has passed all its listeners.
    // Who stops it on its way is the last to see it.
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
      // A listener kept it from all others: the popup has opened, and goes with the focus.
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
    // A popup that the host does not take in time ends the watching: the browser's own opens, and the next ones too.
    popup.timer = setTimeout(() => {
      if (open !== popup) return;
      end();
      try {
        select.showPicker();
      } catch {
        // It has left the page.
      }
    }, settings.takenMs);
    open = popup;
    globalThis[settings.binding](JSON.stringify({ id: popup.id, multiple: select.multiple, count: options.length, options: told }));
  }

  /** Whether a person could choose an option. */
  function canBeChosen(option) {
    return !option.matches(":disabled") && getComputedStyle(option).display !== "none";
  }

  function close() {
    if (open) clearTimeout(open.timer);
    open = null;
  }

  /** Nothing is watched from now on. */
  function end() {
    close();
    listens = false;
    for (const type of TYPES) window.removeEventListener(type, watch, true);
  }

  /** The host knows of a popup. */
  function take(id) {
    if (open?.id === id) clearTimeout(open.timer);
  }

  /** Chooses options of the popup, and no others; null chooses nothing. The popup is closed then. */
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
