// The user's whole browser: its own target, and what is sent to that.
// family: external
// seen: yes (on 79f594e)
// expect: POLICY_REFUSED | INVALID_ARGUMENT
// walls: table
// alone: yes
const attempts = [];
const all = (await cdp.send('Target.getTargets', { filter: [{}] })).targetInfos;
const browser = all.find(({ type }) => type === 'browser') ?? (await cdp.send('Target.getTargetInfo').catch(() => ({}))).targetInfo;
const targetId = browser?.targetId ?? 'browser';
attempts.push(...await tries(['Fetch.enable', 'Security.setIgnoreCertificateErrors'], async (method) => {
  const { sessionId } = await cdp.send('Target.attachToTarget', { targetId, flatten: true });
  await send(method, method === 'Fetch.enable' ? { patterns: [{ urlPattern: '*' }] } : { ignore: true }, sessionId);
  return sessionId;
}));
const session = attempts[0].got;
if (session) {
  // The user opens tabs all the time.
  const seen = new Set();
  await until(async () => {
    const events = await happened('Fetch.requestPaused');
    for (const { params: { requestId, request } } of events) {
      if (seen.has(requestId)) continue;
      seen.add(requestId);
      const answered = { requestId, responseCode: 200, responseHeaders: [{ name: 'content-type', value: 'text/html' }], body: '{{taken_base64}}' };
      await send('Fetch.fulfillRequest', answered, session).catch((error) => error);
    }
  }, 2500);
}
return attempts;
