(() => {
"use strict";
// The handle of a secret: it holds the secret's name, and prints as such. The value is never in the sandbox.

class Secret {
  constructor(name) {
    this.secret = name;
    Object.freeze(this);
  }

  toString() {
    return `[secret ${this.secret}]`;
  }

  toJSON() {
    return String(this);
  }

  /** Why a call refuses this as an argument; methods that accept a handle send its name instead. */
  get ["codemode.handle"]() {
    return `the secret ${JSON.stringify(this.secret)}, which only page.fill, locator.fill and pressSequentially take`;
  }
}
Object.freeze(Secret.prototype);

return (call, namespace, fail) => {
  const secret = (name) => {
    if (typeof name !== "string" || name === "") {
      const error = new TypeError(`secret: the name must be a string, and this is ${name === null ? "null" : typeof name}`);
      throw fail(error, "INVALID_ARGUMENT", "await secret.list() tells the names that there are.");
    }
    return new Secret(name);
  };
  secret.list = () => call.list();
  return secret;
};
})()
