//! code: ok
// A large result while calls, replies and arguments are there.
const sessionId = await cdp.attachToTarget();
const large = (length) => cdp.send('Runtime.evaluate', { expression: `"x".repeat(${length})`, returnByValue: true }, { sessionId });
const text = 'y'.repeat(1024).repeat(3 * 1024);
const result = 'x'.repeat(1024).repeat(15 * 1024);
for (let i = 0; i < 8; i++) large(9e6).catch(() => {});
for (let i = 0; i < 8; i++) cdp.send('Runtime.evaluate', { expression: `"${text}"` }, { sessionId }).catch(() => {});
await cdp.send('Runtime.evaluate', { expression: '1' }, { sessionId });
return result;
