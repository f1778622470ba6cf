// A fake host for the cases of the `browser` layer: answers calls from a table, and implements `events` and `watch` for the
// events in it. `providers/browser/tests/layer/basics.js` describes the format of the table.
const makeFake = (answers) => {
  const log = [], calls = [];
  let seq = 0; const waiting = [];
  const counts = {};
  const push = (e) => { log.push({ seq: seq++, ...e }); for (const w of waiting.splice(0)) w(); };
  const read = ({ since = 0, types, page }) => log.filter((e) => e.seq >= since && types.includes(e.type) && (page === undefined || e.page === page));
  const answerOf = (verb, args) => {
    const set = answers[verb];
    if (set === undefined) {
      if (verb === "open") return { page: "P1", url: args.url ?? "about:blank" };
      return { value: null };
    }
    if (!Array.isArray(set)) return set;
    const at = counts[verb] = (counts[verb] ?? -1) + 1;
    return set[Math.min(at, set.length - 1)];
  };
  const call = new Proxy({}, { get: (_, verb) => (args) => {
    if (verb === "then") throw new Error("then");
    args = JSON.parse(JSON.stringify(args, (k, v) => ArrayBuffer.isView(v) ? { bytes: [...v] } : v));
    if (verb === "events") {
      return new Promise((resolve) => {
        const look = () => {
          const events = read(args);
          if (events.length || args.timeoutMs === 0) resolve({ events, next: seq }); else waiting.push(look);
        };
        look();
      });
    }
    calls.push([verb, args]);
    const error = new Error();
    return (async () => {
      await null;
      if (verb === "watch" && answers.watch === undefined) return { next: seq };
      const answer = answerOf(verb, args);
      for (const e of answer.emits ?? []) { push(e); }
      for (let i = 0; i < (answer.delay ?? 0); i++) await null;
      if (answer.wait) await new Promise((r) => setTimeout(r, answer.wait));
      for (const e of answer.later ?? []) { setTimeout(() => push(e), 5); }
      if (answer.error) { Object.defineProperty(error, "name", { value: "CallError", writable: true, configurable: true }); Object.defineProperty(error, "message", { value: answer.error.message, writable: true, configurable: true }); Object.defineProperty(error, "stack", { value: `CallError: ${answer.error.message}\n` + String(error.stack).split("\n").filter((l) => /^\s+at /.test(l)).join("\n"), writable: true, configurable: true }); Object.assign(error, answer.error.fields); throw error; }
      const { emits, later, delay, wait, ...rest } = answer;
      if (rest.bytes) return { value: new Uint8Array(rest.bytes) };
      return rest;
    })();
  } });
  const fail = (error, code, hint) => Object.assign(error, { code, hint, retryable: code === "CALL_TIMEOUT" });
  return { call, calls, push, fail };
};
