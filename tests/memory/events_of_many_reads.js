//! code: ok
// The ring is full, and is read three hundred times at once.
const sessionId = await cdp.attachToTarget();
await cdp.send('Runtime.enable', {}, { sessionId });
await cdp.send('Runtime.evaluate', { expression: `for (let i = 0; i < 3000; i++) console.log('x'.repeat(9000), {a: [1, 2, 3]}, i)` }, { sessionId, timeoutMs: 60_000 });
let read = 0;
await Promise.all(Array.from({ length: 300 }, () => cdp.events({ sessionId, limit: 1000 }).then(({ events }) => { read += events.length })));
return read > 300;
