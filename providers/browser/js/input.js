// The page's keyboard and mouse.

class Keyboard {
  #page;

  constructor(page) {
    this.#page = page;
  }

  down(key) {
    return this.#send("down", { op: "down", key });
  }

  up(key) {
    return this.#send("up", { op: "up", key });
  }

  press(key, options) {
    return this.#send("press", pick({ op: "press", key }, options, ["delay"]));
  }

  type(text, options) {
    return this.#send("type", pick({ op: "type", text }, options, ["delay"]));
  }

  insertText(text) {
    return this.#send("insertText", { op: "insertText", text });
  }

  #send(name, args) {
    return new Action(this.#page, `keyboard.${name}`, undefined).send("keyboard", args, undefined);
  }
}

class Mouse {
  #page;

  constructor(page) {
    this.#page = page;
  }

  move(x, y, options) {
    return this.#send("move", pick({ op: "move", x, y }, options, ["steps"]));
  }

  down(options) {
    return this.#send("down", pick({ op: "down" }, options, ["button", "clickCount"]));
  }

  up(options) {
    return this.#send("up", pick({ op: "up" }, options, ["button", "clickCount"]));
  }

  click(x, y, options) {
    return this.#send("click", pick({ op: "click", x, y }, options, ["button", "clickCount", "delay"]));
  }

  dblclick(x, y, options) {
    return this.#send("dblclick", pick({ op: "click", x, y, clickCount: 2 }, options, ["button", "delay"]));
  }

  wheel(dx, dy) {
    return this.#send("wheel", { op: "wheel", dx, dy });
  }

  #send(name, args) {
    return new Action(this.#page, `mouse.${name}`, undefined).send("mouse", args, undefined);
  }
}

guard("keyboard", Keyboard, []);
guard("mouse", Mouse, []);
