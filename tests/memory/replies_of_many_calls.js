//! code: ok
// Each as large as it may be, all at once, and none is awaited before all are sent.
const sessionId = await cdp.attachToTarget();
const ask = () => cdp.send('Runtime.evaluate', { expression: '"x".repeat(9e6)', returnByValue: true }, { sessionId, timeoutMs: 60_000 });
const asked = await Promise.allSettled(Array.from({ length: 40 }, async () => (await ask()).result.value.length));
return asked.filter(({ value }) => value === 9e6).length > 0;
