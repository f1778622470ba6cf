// What the other scripts share. Each is one function, called with the helpers in Rust (`native`) and with `shared`,
// into which this one puts what they have in common.
//
// All of them run while the image is made, before any script of a model. They call nothing later that such a script
// could have replaced: no method of a built-in prototype, no `for … of` or spread over an array of our own, no
// descriptor that inherits from `Object.prototype`. Where the platform's rules call user code (an iterator that was
// passed in, a `toString`), they do.
(function (native, shared) {
  "use strict";
  const { defineProperty, getPrototypeOf, setPrototypeOf, ownKeys, getOwnPropertyDescriptor, apply } = Reflect;
  const { create } = Object;
  const { RangeError, Symbol, TypeError } = globalThis;

  const hidden = (value) => ({ __proto__: null, value, writable: true, enumerable: false, configurable: true });

  // A global or a method as the platform defines its own: writable, configurable, not enumerated.
  const define = (target, name, value) => {
    defineProperty(target, name, hidden(value));
  };

  // A method where the engine has none.
  const supply = (target, name, value) => {
    if (!(name in target)) define(target, name, value);
  };

  // The name by which `Object.prototype.toString` knows the instances of a class.
  const tag = (constructor, name) => {
    defineProperty(constructor.prototype, Symbol.toStringTag, {
      __proto__: null,
      value: name,
      writable: false,
      enumerable: false,
      configurable: true,
    });
  };

  const expose = (constructor) => {
    tag(constructor, constructor.name);
    define(globalThis, constructor.name, constructor);
  };

  const requireArguments = (name, count, given) => {
    if (given < count) {
      throw new TypeError(`${name} needs ${count} argument${count === 1 ? "" : "s"}, not ${given}`);
    }
  };

  const isObject = (value) => (typeof value === "object" && value !== null) || typeof value === "function";

  shared.apply = apply;
  shared.create = create;
  shared.define = define;
  shared.expose = expose;
  shared.getOwnPropertyDescriptor = getOwnPropertyDescriptor;
  shared.getPrototypeOf = getPrototypeOf;
  shared.isObject = isObject;
  shared.ownKeys = ownKeys;
  shared.requireArguments = requireArguments;
  shared.setPrototypeOf = setPrototypeOf;
  shared.supply = supply;
  shared.tag = tag;
  shared.TypeError = TypeError;
  shared.RangeError = RangeError;
});
