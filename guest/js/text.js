// TextEncoder, TextDecoder, atob and btoa.
(function (native, shared) {
  "use strict";
  const { define, expose } = shared;

  class TextEncoder {
    // Brand check: reading it makes the getters and methods below throw for any other receiver.
    #own = true;
    get encoding() {
      this.#own;
      return "utf-8";
    }
    encode(text = "") {
      this.#own;
      return native.encode(`${text}`);
    }
    encodeInto(text, bytes) {
      this.#own;
      const done = native.encodeInto(`${text}`, bytes);
      return { read: done[0], written: done[1] };
    }
  }

  class TextDecoder {
    #decoder;
    #fatal;
    #ignoreBOM;
    constructor(label = "utf-8", options = undefined) {
      this.#fatal = !!options?.fatal;
      this.#ignoreBOM = !!options?.ignoreBOM;
      this.#decoder = native.decoderNew(`${label}`, this.#fatal, this.#ignoreBOM);
    }
    get encoding() {
      return native.decoderEncoding(this.#decoder);
    }
    get fatal() {
      return this.#fatal;
    }
    get ignoreBOM() {
      return this.#ignoreBOM;
    }
    decode(bytes = undefined, options = undefined) {
      return native.decoderDecode(this.#decoder, bytes, !!options?.stream);
    }
  }

  expose(TextEncoder);
  expose(TextDecoder);
  define(globalThis, "atob", native.atob);
  define(globalThis, "btoa", native.btoa);
});
