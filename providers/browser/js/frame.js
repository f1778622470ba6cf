// Frames of a page. A frame is reached by steps like any other target.

class Frame extends Scope {
  #known;

  /** `known` is the host's row, or only the name of a frame that was not looked up; null for the main frame. */
  constructor(page, steps, text, known) {
    super(page, steps, text);
    this.#known = known;
    this.target = text === "" ? "mainFrame()" : text;
  }

  page() {
    return pageOf(this);
  }

  name() {
    return this.#known?.name ?? "";
  }

  url() {
    if (this.#known === null) return pageOf(this).url();
    if (this.#known.url !== undefined) return this.#known.url;
    throw wrongArgument("frame.url", "this frame was named, not looked for", "Use await frame.evaluate(() => location.href).");
  }

  content() {
    return this.evaluate("document.documentElement.outerHTML");
  }

  frameElement() {
    const owner = stepsOf(this).slice(0, -1);
    if (owner.length === 0) throw unsupported("frame.frameElement", "name the element by page.locator(selector)");
    return Promise.resolve(new Locator(pageOf(this), owner, `${textOf(this)}.owner()`));
  }

  toJSON() {
    return this.#known === null ? { frame: "main", url: this.url() } : { frame: this.target, url: this.#known.url };
  }
}

/** The frame of a row of the host. */
const frameOf = (page, row) => {
  const text = row.name ? `frame(${quoted(row.name)})` : `frame({ url: ${quoted(row.url)} })`;
  return new Frame(page, [{ by: "frame", frame: row.frame }], text, row);
};

/** The frame of a name, which is resolved when it is used. */
const namedFrame = (page, name) => {
  const value = JSON.stringify(name);
  const css = `iframe[name=${value}], frame[name=${value}], iframe[id=${value}]`;
  const steps = [{ by: "css", value: css }, { by: "nth", index: 0 }, { by: "frame" }];
  return new Frame(page, steps, `frame(${quoted(name)})`, { name });
};

guard("scope", Scope, []);
guard("frame", Frame, ["name"]);
