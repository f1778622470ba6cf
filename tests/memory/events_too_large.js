//! code: ok
// A page logs more than any message may be.
const sessionId = await cdp.attachToTarget();
await cdp.send('Runtime.enable', {}, { sessionId });
for (let i = 0; i < 5; i++) await cdp.send('Runtime.evaluate', { expression: `console.log('x'.repeat(${(i + 1) * 8e6}))` }, { sessionId, timeoutMs: 60_000 });
const { events, dropped } = await cdp.events({ sessionId, limit: 1000 });
return [events.length, dropped];
