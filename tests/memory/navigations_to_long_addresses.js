//! code: ok
// Two bytes become six when an address is written out.
const path = 'é'.repeat(1024).repeat(1800);
for (let i = 0; i < 8; i++) {
  const { targetId } = await cdp.send('Target.createTarget', { url: 'about:blank' });
  const sessionId = await cdp.attachToTarget(targetId);
  await cdp.send('Page.navigate', { url: 'http://127.0.0.1:9/' + path }, { sessionId, timeoutMs: 30 }).catch(() => {});
}
return 1;
