// Converts the host's events to the objects that listeners get.

/** The handler of each event type. */
const RECEIVE = {
  dialog(page, event) {
    const dialog = new Dialog(page, event);
    const state = stateOf(page);
    state.dialog = dialog;
    if (listenersOf(state.emitter, "dialog").length === 0) {
      // The listeners were removed meanwhile, and the host does not answer dialogs that it holds.
      const answer = event.kind === "beforeunload" ? dialog.accept() : dialog.dismiss();
      answer.catch(() => {});
      return;
    }
    emit(state.emitter, "dialog", dialog);
  },
  console: (page, event) => emit(stateOf(page).emitter, "console", new ConsoleMessage(page, event)),
  pageerror(page, { name, message, stack, location }) {
    const error = new Error(message);
    if (name !== undefined) hide(error, "name", name);
    hide(error, "location", location ?? {});
    if (stack !== undefined) hide(error, "stack", stack);
    emit(stateOf(page).emitter, "pageerror", error);
  },
  popup(page, event) {
    const popup = stateOf(page).session.page(event.popup, event.url);
    stateOf(popup).opener = page;
    emit(stateOf(page).emitter, "popup", popup);
  },
  download: (page, event) => emit(stateOf(page).emitter, "download", new Download(page, event)),
  filechooser: (page, event) => emit(stateOf(page).emitter, "filechooser", new FileChooser(page, event)),
  select: (page, event) => emit(stateOf(page).emitter, "select", new SelectPopup(page, event)),
  request: (page, event) => emit(stateOf(page).emitter, "request", requestBegun(page, event)),
  response: (page, event) => emit(stateOf(page).emitter, "response", responseBegun(page, event)),
  requestfinished(page, event) {
    const request = requestOf(page, event);
    emit(stateOf(page).emitter, "requestfinished", request);
  },
  requestfailed(page, event) {
    const request = requestOf(page, event);
    requestState(request).failure = event.errorText ?? "failed";
    emit(stateOf(page).emitter, "requestfailed", request);
  },
  framenavigated(page, event) {
    const isMain = event.frame === undefined || event.frame === page.id || event.parent === null;
    if (isMain) stateOf(page).url = event.url;
    const frame = isMain ? page.mainFrame() : frameOf(page, event);
    emit(stateOf(page).emitter, "framenavigated", frame);
  },
  domcontentloaded: (page) => emit(stateOf(page).emitter, "domcontentloaded", page),
  load: (page) => emit(stateOf(page).emitter, "load", page),
  crash: (page) => stateOf(page).session.events.ended(page, "crash"),
  close: (page) => markClosed(page),
  route: (page, event) => routeBegun(page, event),
};

/** A dialog that stays open until it is answered. */
class Dialog {
  #page;
  #event;

  constructor(page, event) {
    this.#page = page;
    this.#event = event;
  }

  type() {
    return this.#event.kind;
  }

  message() {
    return this.#event.message;
  }

  defaultValue() {
    return this.#event.defaultValue ?? "";
  }

  page() {
    return this.#page;
  }

  accept(text) {
    return this.#answer("accept", text === undefined ? { accept: true } : { accept: true, text: String(text) });
  }

  dismiss() {
    return this.#answer("dismiss", { accept: false });
  }

  toJSON() {
    return { type: this.type(), message: this.message(), defaultValue: this.defaultValue() };
  }

  #answer(name, args) {
    const page = this.#page;
    const state = stateOf(page);
    if (state.dialog === this) state.dialog = null;
    // Not by `Session.send`: the call that the gate waits for may itself be blocked by this dialog.
    const made = state.session.call.dialog({ page: page.id, ...args });
    settleDialogs(page);
    return made.then(takeNothing, (error) => {
      throw explain(`dialog.${name}`, error);
    });
  }
}

/** Lets the host answer dialogs again when there is no listener and no open dialog. */
const settleDialogs = (page) => {
  const { emitter, policy, session, dialog, isClosed } = stateOf(page);
  if (isClosed || dialog !== null || listenersOf(emitter, "dialog").length > 0) return;
  policy.wanted = "dismiss";
  if (policy.told === "dismiss" || policy.told === undefined) return;
  policy.told = "dismiss";
  session.call.dialogs({ page: page.id, policy: "dismiss" }).catch(() => {});
};

/** Dismisses a dialog that the removed listeners have left unanswered. */
const dismissUnanswered = (page) => {
  const { dialog, emitter, isClosed } = stateOf(page);
  if (isClosed || dialog === null || listenersOf(emitter, "dialog").length > 0) return;
  dialog.dismiss().catch(() => {});
};

/** A message that the page wrote to its console. */
class ConsoleMessage {
  #page;
  #event;

  constructor(page, event) {
    this.#page = page;
    this.#event = event;
  }

  type() {
    return this.#event.level;
  }

  text() {
    return this.#event.text;
  }

  location() {
    return this.#event.location ?? {};
  }

  page() {
    return this.#page;
  }

  toJSON() {
    return { type: this.type(), text: this.text() };
  }

  toString() {
    return this.text();
  }
}

/** A download that the page began. */
class Download {
  #page;
  #event;

  constructor(page, event) {
    this.#page = page;
    this.#event = event;
  }

  url() {
    return this.#event.url;
  }

  suggestedFilename() {
    return this.#event.suggestedFilename;
  }

  page() {
    return this.#page;
  }

  /** The content, when the download is complete. */
  bytes(options) {
    return this.#ask("bytes", options, (answer) => asBuffer(answer.value));
  }

  /** Adds the file to those of the answer when the download is complete: `{ name, mimeType, bytes }`. */
  saveAs(name = this.suggestedFilename(), options = undefined) {
    return this.#ask("keep", options, takeValue, "saveAs", { name: String(name) });
  }

  /** `{ state, receivedBytes, totalBytes }` */
  progress() {
    return this.#ask("progress", undefined, takeValue);
  }

  /** Waits until the download has ended. Null, or why it failed. */
  failure(options) {
    return this.#ask("failure", options, (answer) => answer.value ?? null);
  }

  cancel() {
    return this.#ask("cancel", undefined, takeNothing);
  }

  delete() {
    return this.#ask("delete", undefined, takeNothing);
  }

  toJSON() {
    return { url: this.url(), suggestedFilename: this.suggestedFilename() };
  }

  #ask(op, options, take, name = op, more = {}) {
    const args = { download: this.#event.download, op, ...more };
    if (options?.timeout !== undefined) args.timeoutMs = options.timeout;
    return stateOf(this.#page).session.send(`download.${name}`, "download", args, take, undefined);
  }
}

/** A file chooser that the page opened; no window shows it. */
class FileChooser {
  #page;
  #event;

  constructor(page, event) {
    this.#page = page;
    this.#event = event;
  }

  page() {
    return this.#page;
  }

  isMultiple() {
    return Boolean(this.#event.multiple);
  }

  setFiles(files) {
    const page = this.#page;
    const method = "fileChooser.setFiles";
    const args = { page: page.id, chooser: this.#event.chooser, files: filesOf(method, files) };
    return stateOf(page).session.send(method, "chooser", args, takeNothing, page);
  }

  toJSON() {
    return { isMultiple: this.isMultiple() };
  }
}

/** The popup of a list, which was kept from opening. */
class SelectPopup {
  #page;
  #event;

  constructor(page, event) {
    this.#page = page;
    this.#event = event;
  }

  page() {
    return this.#page;
  }

  isMultiple() {
    return Boolean(this.#event.multiple);
  }

  /** `{ index, label, selected, disabled }` of each option. */
  options() {
    return this.#event.options;
  }

  /** Chooses options by index, and returns the values that are selected afterwards. */
  select(indices) {
    const list = Array.isArray(indices) ? indices : [indices];
    if (!list.every((index) => Number.isInteger(index) && index >= 0)) {
      throw wrongArgument("selectPopup.select", "an option is named by its index, from 0 on", "popup.options() has them.");
    }
    return this.#answer("select", { indices: list }, takeValue);
  }

  cancel() {
    return this.#answer("cancel", { cancel: true }, takeNothing);
  }

  toJSON() {
    return { isMultiple: this.isMultiple(), options: this.options() };
  }

  #answer(name, args, take) {
    const page = this.#page;
    const method = `selectPopup.${name}`;
    return stateOf(page).session.send(method, "selectPopup", { page: page.id, popup: this.#event.id, ...args }, take, page);
  }
}

guard("dialog", Dialog, ["type", "message", "defaultValue"]);
guard("consoleMessage", ConsoleMessage, ["type", "text", "location"]);
guard("download", Download, ["suggestedFilename"]);
guard("fileChooser", FileChooser, ["isMultiple"]);
guard("selectPopup", SelectPopup, ["isMultiple", "options"]);
