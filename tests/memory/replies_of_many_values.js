//! code: ok
// Two bytes on the wire each, five for the sandbox, seventy in a tree.
const sessionId = await cdp.attachToTarget();
const ask = (count) => cdp.send('Runtime.evaluate', { expression: `new Array(${count}).fill(0)`, returnByValue: true }, { sessionId, timeoutMs: 60_000 });
const few = await ask(1e6);
const many = await ask(5e6).catch((error) => error.code);
return [few.result.value.length, many];
