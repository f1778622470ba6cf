//! code: ok
// Each as large as it may be, all at once: those that the sandbox cannot hold wait there.
const sessionId = await cdp.attachToTarget();
const text = 'x'.repeat(3.5e6);
const sent = Array.from({ length: 20 }, () => cdp.send('Runtime.evaluate', { expression: `'${text}'.length` }, { sessionId, timeoutMs: 60_000 }));
return (await Promise.all(sent)).length;
