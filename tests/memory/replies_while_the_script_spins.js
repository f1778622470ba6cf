//! code: ok
// Replies arrive while nobody takes them.
const sessionId = await cdp.attachToTarget();
const ask = () => cdp.send('Runtime.evaluate', { expression: '"x".repeat(6e6)', returnByValue: true }, { sessionId, timeoutMs: 60_000 });
const asked = Array.from({ length: 30 }, () => ask().then(() => 'came', (error) => error.code));
await cdp.send('Runtime.evaluate', { expression: '1' }, { sessionId, timeoutMs: 60_000 });
for (let i = 0; i < 4; i++) {
  const until = Date.now();
  for (let j = 0; j < 1e6; j++);
  await Promise.resolve();
}
return [...new Set(await Promise.all(asked))].sort();
