//! code: ok
// The host reads the list of targets itself.
for (let i = 0; i < 3; i++) await cdp.send('Target.createTarget', { url: 'data:text/html,' + 'x'.repeat(1.5e6) }, { timeoutMs: 60_000 });
const lists = await Promise.allSettled(Array.from({ length: 10 }, () => cdp.send('Target.getTargets')));
return lists.length;
