(returned) => {
  const TAG = "$";
  const DEPTH_MAX = 200;
  const around = new Set();
  const tagged = (kind, value) => ({ [TAG]: kind, value });
  const is = (value, type) => {
    try {
      return Object.prototype.toString.call(value) === `[object ${type}]`;
    } catch {
      return false;
    }
  };
  // A window of another origin reveals nothing but that it is a window.
  const isWindow = (value) => {
    try {
      return value.window === value;
    } catch {
      return false;
    }
  };
  const base64 = (bytes) => {
    let text = "";
    for (let at = 0; at < bytes.length; at += 32768) text += String.fromCharCode.apply(null, bytes.subarray(at, at + 32768));
    return btoa(text);
  };
  const all = (values) => Array.from(values, plain);
  const fields = (value) => Object.keys(value).map((key) => [key, value[key]]).filter(([, field]) => typeof field !== "function" && typeof field !== "symbol");

  function plain(value) {
    switch (typeof value) {
      case "undefined": case "function": case "symbol":
        return tagged("undefined");
      case "bigint":
        return tagged("bigint", String(value));
      case "number":
        return Number.isFinite(value) && !Object.is(value, -0) ? value : tagged("number", Object.is(value, -0) ? "-0" : String(value));
      case "string":
        return value.isWellFormed?.() === false ? tagged("utf16", value.split("").map((unit) => unit.charCodeAt(0))) : value;
      case "boolean":
        return value;
    }
    if (value === null) return null;
    if (isWindow(value)) return "ref: <Window>";
    if (typeof value.nodeType === "number" && typeof value.nodeName === "string") {
      return value.nodeType === 9 ? "ref: <Document>" : "ref: <Node>";
    }
    if (is(value, "Date")) return tagged("date", Number.isNaN(+value) ? null : +value);
    if (is(value, "RegExp") || is(value, "URL")) return String(value);
    if (value instanceof Error || is(value, "Error")) {
      return tagged("error", { name: String(value.name), message: String(value.message), stack: String(value.stack ?? "") });
    }
    if (is(value, "ArrayBuffer")) return tagged("ArrayBuffer", base64(new Uint8Array(value)));
    if (ArrayBuffer.isView(value)) {
      return tagged(Object.prototype.toString.call(value).slice(8, -1), base64(new Uint8Array(value.buffer, value.byteOffset, value.byteLength)));
    }
    if (around.has(value)) throw new TypeError("what the function returned contains itself: return plain data");
    if (around.size >= DEPTH_MAX) throw new RangeError(`what the function returned is nested more than ${DEPTH_MAX} levels deep`);
    around.add(value);
    try {
      if (Array.isArray(value)) return all(value);
      if (is(value, "Map")) return tagged("map", Array.from(value, ([key, entry]) => [plain(key), plain(entry)]));
      if (is(value, "Set")) return tagged("set", all(value));
      if (typeof value.toJSON === "function") return plain(value.toJSON());
      const entries = fields(value).map(([key, field]) => [key, plain(field)]);
      return Object.hasOwn(value, TAG) || Object.hasOwn(value, "__proto__") ? tagged("object", entries) : Object.fromEntries(entries);
    } finally {
      around.delete(value);
    }
  }
  return plain(returned);
}
