// URL and URLSearchParams. An instance is an object with native data: the helpers throw for any other receiver.
(function (native, shared) {
  "use strict";
  const { define, expose, getOwnPropertyDescriptor, getPrototypeOf, isObject, ownKeys, requireArguments } = shared;
  const { apply, setPrototypeOf, tag, TypeError } = shared;
  const iteratorKey = Symbol.iterator;

  class URLSearchParams {
    constructor(init = "") {
      const params = native.paramsNew(new.target.prototype);
      if (!isObject(init)) {
        native.paramsParse(params, `${init}`);
      } else if (init[iteratorKey] !== undefined && init[iteratorKey] !== null) {
        for (const pair of init) appendPair(params, pair);
      } else {
        appendRecord(params, init);
      }
      return params;
    }
    get size() {
      return native.paramsSize(this);
    }
    append(name, value) {
      requireArguments("URLSearchParams.append", 2, arguments.length);
      native.paramsAppend(this, `${name}`, `${value}`);
    }
    delete(name, value) {
      requireArguments("URLSearchParams.delete", 1, arguments.length);
      native.paramsDelete(this, `${name}`, value === undefined ? undefined : `${value}`);
    }
    get(name) {
      requireArguments("URLSearchParams.get", 1, arguments.length);
      return native.paramsGet(this, `${name}`);
    }
    getAll(name) {
      requireArguments("URLSearchParams.getAll", 1, arguments.length);
      return native.paramsGetAll(this, `${name}`);
    }
    has(name, value) {
      requireArguments("URLSearchParams.has", 1, arguments.length);
      return native.paramsHas(this, `${name}`, value === undefined ? undefined : `${value}`);
    }
    set(name, value) {
      requireArguments("URLSearchParams.set", 2, arguments.length);
      native.paramsSet(this, `${name}`, `${value}`);
    }
    sort() {
      native.paramsSort(this);
    }
    toString() {
      return native.paramsText(this);
    }
    forEach(callback, receiver = undefined) {
      if (typeof callback !== "function") throw new TypeError("URLSearchParams.forEach needs a function");
      for (let index = 0; ; index++) {
        const pair = native.paramsAt(this, index);
        if (pair === undefined) return;
        apply(callback, receiver, [pair[1], pair[0], this]);
      }
    }
    entries() {
      return new ParamsIterator(this, "entries");
    }
    keys() {
      return new ParamsIterator(this, "keys");
    }
    values() {
      return new ParamsIterator(this, "values");
    }
  }

  const appendPair = (params, pair) => {
    if (!isObject(pair)) throw new TypeError("each query pair must be an array [name, value]");
    let count = 0;
    let name;
    let value;
    for (const item of pair) {
      if (count === 0) name = `${item}`;
      if (count === 1) value = `${item}`;
      count++;
    }
    if (count !== 2) throw new TypeError("each query pair must be an array [name, value]");
    native.paramsAppend(params, name, value);
  };

  // Appends the own enumerable properties, as the platform specifies.
  const appendRecord = (params, record) => {
    const keys = ownKeys(record);
    for (let index = 0; index < keys.length; index++) {
      const descriptor = getOwnPropertyDescriptor(record, keys[index]);
      if (descriptor === undefined || !descriptor.enumerable) continue;
      native.paramsAppend(params, `${keys[index]}`, `${record[keys[index]]}`);
    }
  };

  // The iterator is live, as the platform specifies: it also returns pairs that are added during the iteration.
  class ParamsIterator {
    #params;
    #kind;
    #index = 0;
    constructor(params, kind) {
      native.paramsSize(params);
      this.#params = params;
      this.#kind = kind;
    }
    next() {
      const pair = native.paramsAt(this.#params, this.#index);
      if (pair === undefined) return { value: undefined, done: true };
      this.#index++;
      const value = this.#kind === "keys" ? pair[0] : this.#kind === "values" ? pair[1] : pair;
      return { value, done: false };
    }
  }
  delete ParamsIterator.prototype.constructor;
  tag(ParamsIterator, "URLSearchParams Iterator");
  setPrototypeOf(ParamsIterator.prototype, getPrototypeOf(getPrototypeOf([][iteratorKey]())));

  class URL {
    constructor(url, base = undefined) {
      requireArguments("URL", 1, arguments.length);
      return native.urlNew(new.target.prototype, `${url}`, base === undefined ? undefined : `${base}`);
    }
    static canParse(url, base = undefined) {
      requireArguments("URL.canParse", 1, arguments.length);
      return native.urlParses(`${url}`, base === undefined ? undefined : `${base}`);
    }
    static parse(url, base = undefined) {
      requireArguments("URL.parse", 1, arguments.length);
      const input = `${url}`;
      const from = base === undefined ? undefined : `${base}`;
      return native.urlParses(input, from) ? native.urlNew(URL.prototype, input, from) : null;
    }
    get href() {
      return native.urlGet(this, "href");
    }
    set href(value) {
      native.urlSet(this, "href", `${value}`);
    }
    get origin() {
      return native.urlGet(this, "origin");
    }
    get protocol() {
      return native.urlGet(this, "protocol");
    }
    set protocol(value) {
      native.urlSet(this, "protocol", `${value}`);
    }
    get username() {
      return native.urlGet(this, "username");
    }
    set username(value) {
      native.urlSet(this, "username", `${value}`);
    }
    get password() {
      return native.urlGet(this, "password");
    }
    set password(value) {
      native.urlSet(this, "password", `${value}`);
    }
    get host() {
      return native.urlGet(this, "host");
    }
    set host(value) {
      native.urlSet(this, "host", `${value}`);
    }
    get hostname() {
      return native.urlGet(this, "hostname");
    }
    set hostname(value) {
      native.urlSet(this, "hostname", `${value}`);
    }
    get port() {
      return native.urlGet(this, "port");
    }
    set port(value) {
      native.urlSet(this, "port", `${value}`);
    }
    get pathname() {
      return native.urlGet(this, "pathname");
    }
    set pathname(value) {
      native.urlSet(this, "pathname", `${value}`);
    }
    get search() {
      return native.urlGet(this, "search");
    }
    set search(value) {
      native.urlSet(this, "search", `${value}`);
    }
    get hash() {
      return native.urlGet(this, "hash");
    }
    set hash(value) {
      native.urlSet(this, "hash", `${value}`);
    }
    get searchParams() {
      return native.urlSearchParams(this, paramsPrototype);
    }
    toString() {
      return native.urlGet(this, "href");
    }
    toJSON() {
      return native.urlGet(this, "href");
    }
  }

  const paramsPrototype = URLSearchParams.prototype;
  define(paramsPrototype, iteratorKey, paramsPrototype.entries);
  expose(URLSearchParams);
  expose(URL);
});
