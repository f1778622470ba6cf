//! code: ok
// Each failure is long, and is caught.
let failed = 0;
for (let i = 0; i < 25; i++) {
  const calls = Array.from({ length: 150 }, () => cdp.send('Target.createTarget', { url: 'about:blank', browserContextId: '😀'.repeat(1000) }));
  failed += (await Promise.allSettled(calls)).filter(({ status }) => status === 'rejected').length;
}
return failed;
