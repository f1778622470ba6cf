//! code: ok
// Calls wait behind those that never end, each with a name of megabytes.
const sessionId = await cdp.attachToTarget();
const settled = [];
const never = () => cdp.send('Runtime.evaluate', { expression: 'new Promise(() => {})', awaitPromise: true }, { sessionId, timeoutMs: 2500 });
for (let i = 0; i < 256; i++) settled.push(never().catch(() => {}));
const name = 'm'.repeat(1024).repeat(3 * 1024);
for (let i = 0; i < 10; i++) {
  for (let j = 0; j < 3; j++) settled.push(cdp[name]().catch(() => {}));
  await new Promise((resolve) => setTimeout(resolve, 50));
}
await Promise.all(settled);
return settled.length;
