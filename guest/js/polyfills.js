// Parts of the language that the engine lacks. Each is defined only if the engine does not have it.
(function (native, shared) {
  "use strict";
  const { apply, supply, TypeError } = shared;
  const { parseInt, isNaN, Object, Array, Error, String } = globalThis;
  const { construct, defineProperty } = Reflect;
  const { asyncIterator, iterator } = Symbol;
  const { charCodeAt, padStart, slice, toUpperCase } = String.prototype;
  const { toString: numberToString } = Number.prototype;
  const { fromCharCode } = String;
  const { max, min, trunc } = Math;

  const put = (target, index, value) => {
    defineProperty(target, index, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
  };

  const isConstructor = (value) => {
    if (value === Array) return true;
    if (typeof value !== "function") return false;
    try {
      construct(Object, [], value);
      return true;
    } catch {
      return false;
    }
  };

  const toLength = (value) => {
    const length = trunc(+value);
    return isNaN(length) || length <= 0 ? 0 : min(length, 9007199254740991);
  };

  const collect = async (constructor, items, mapper, receiver) => {
    if (mapper !== undefined && typeof mapper !== "function") throw new TypeError("the mapper must be a function");
    const isIterable = items[asyncIterator] != null || items[iterator] != null;
    const source = isIterable ? items : Object(items);
    const length = isIterable ? 0 : toLength(source.length);
    const result = isConstructor(constructor) ? (isIterable ? new constructor() : new constructor(length)) : [];
    let index = 0;
    if (isIterable) {
      for await (const item of source) {
        put(result, index, mapper === undefined ? item : await apply(mapper, receiver, [item, index]));
        index++;
      }
    } else {
      for (; index < length; index++) {
        const item = await source[index];
        put(result, index, mapper === undefined ? item : await apply(mapper, receiver, [item, index]));
      }
    }
    result.length = index;
    return result;
  };

  // Defined as methods of an object literal: like the engine's own, these have no prototype and are not constructors.
  const own = {
    fromAsync(items, mapper = undefined, receiver = undefined) {
      return collect(this, items, mapper, receiver);
    },

    // Specific to V8, but much code for Node calls it without checking for it.
    captureStackTrace(target) {
      if (native.isError(target)) return;
      defineProperty(target, "stack", {
        __proto__: null,
        value: new Error().stack,
        writable: true,
        enumerable: false,
        configurable: true,
      });
    },

    // Annex B of the language: missing in the engine, but widely used.
    substr(start, length = undefined) {
      if (this === undefined || this === null) throw new TypeError("substr called on null or undefined");
      const text = `${this}`;
      const size = text.length;
      const from = trunc(+start) || 0;
      const begin = from < 0 ? max(size + from, 0) : min(from, size);
      const count = length === undefined ? size : trunc(+length) || 0;
      return apply(slice, text, [begin, min(begin + max(count, 0), size)]);
    },
    escape(value) {
      const text = `${value}`;
      let escaped = "";
      for (let index = 0; index < text.length; index++) {
        const unit = apply(charCodeAt, text, [index]);
        if (isPlain(unit)) escaped += text[index];
        else escaped += unit < 256 ? `%${hex(unit, 2)}` : `%u${hex(unit, 4)}`;
      }
      return escaped;
    },
    unescape(value) {
      const text = `${value}`;
      let plain = "";
      for (let index = 0; index < text.length; index++) {
        const isLong = text[index] === "%" && text[index + 1] === "u";
        const unit = text[index] === "%" ? unhex(text, index + (isLong ? 2 : 1), isLong ? 4 : 2) : -1;
        plain += unit < 0 ? text[index] : fromCharCode(unit);
        if (unit >= 0) index += isLong ? 5 : 2;
      }
      return plain;
    },
  };

  const isPlain = (unit) =>
    (unit >= 48 && unit <= 57) || (unit >= 64 && unit <= 90) || (unit >= 97 && unit <= 122) ||
    unit === 42 || unit === 43 || unit === 45 || unit === 46 || unit === 47 || unit === 95;

  const hex = (unit, width) => apply(padStart, apply(toUpperCase, apply(numberToString, unit, [16]), []), [width, "0"]);

  const unhex = (text, start, width) => {
    let unit = 0;
    for (let index = start; index < start + width; index++) {
      const digit = index < text.length ? parseInt(text[index], 16) : NaN;
      if (isNaN(digit)) return -1;
      unit = unit * 16 + digit;
    }
    return unit;
  };

  supply(Array, "fromAsync", own.fromAsync);
  supply(Error, "isError", native.isError);
  supply(Error, "captureStackTrace", own.captureStackTrace);
  supply(String.prototype, "substr", own.substr);
  supply(String.prototype, "trimLeft", String.prototype.trimStart);
  supply(String.prototype, "trimRight", String.prototype.trimEnd);
  supply(globalThis, "escape", own.escape);
  supply(globalThis, "unescape", own.unescape);

  supply(Uint8Array, "fromBase64", native.fromBase64);
  supply(Uint8Array, "fromHex", native.fromHex);
  supply(Uint8Array.prototype, "toBase64", native.toBase64);
  supply(Uint8Array.prototype, "toHex", native.toHex);
  supply(Uint8Array.prototype, "setFromBase64", native.setFromBase64);
  supply(Uint8Array.prototype, "setFromHex", native.setFromHex);

  supply(ArrayBuffer.prototype, "transfer", native.bufferTransfer);
  supply(ArrayBuffer.prototype, "transferToFixedLength", native.bufferTransferToFixedLength);
  if (!("detached" in ArrayBuffer.prototype)) {
    defineProperty(ArrayBuffer.prototype, "detached", { get: native.bufferDetached, enumerable: false, configurable: true });
  }
});
