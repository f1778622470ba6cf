// Helpers that the other scripts share. Each script is one function, called with the helpers in Rust (`native`) and
// with `shared`, the object to which this script adds its helpers.
//
// All scripts run while the image is built, before any script of a model. Their functions later call nothing that such
// a script could have replaced: no method of a built-in prototype, no `for … of` or spread over an internal array, no
// descriptor that inherits from `Object.prototype`. They do call user code where the platform's rules require it (an
// iterator that was passed in, a `toString`).
(function (native, shared) {
  "use strict";
  const { defineProperty, getPrototypeOf, setPrototypeOf, ownKeys, getOwnPropertyDescriptor, apply } = Reflect;
  const { create } = Object;
  const { RangeError, Symbol, TypeError } = globalThis;

  const hidden = (value) => ({ __proto__: null, value, writable: true, enumerable: false, configurable: true });

  // Defines a global or a method with the platform's attributes: writable, configurable, not enumerable.
  const define = (target, name, value) => {
    defineProperty(target, name, hidden(value));
  };

  // Defines a method that the engine lacks.
  const supply = (target, name, value) => {
    if (!(name in target)) define(target, name, value);
  };

  // Sets the name of a class's instances in `Object.prototype.toString`.
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
