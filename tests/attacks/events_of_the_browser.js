// A wait for an event of one of the browser's own pages asks that page for it.
// family: events
// seen: yes (on 79f594e)
// expect: POLICY_REFUSED
// leak: "origin": ?"chrome:
// walls: table
// alone: yes
// browser: whole
await cdp.send('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: false, flatten: true, filter: [{ type: 'tab', exclude: true }, {}] });
const session = await until(async () => {
  const events = await happened('Target.attachedToTarget');
  return events.map((event) => event.params).find(({ targetInfo }) => targetInfo.url.startsWith('chrome:'))?.sessionId;
});
return tries(['waitForEvent', 'events'], async (way) => {
  if (way === 'waitForEvent') return cdp.waitForEvent('Runtime.executionContextCreated', { sessionId: session, timeoutMs: 3000 });
  await cdp.events({ sessionId: session, names: ['Log.entryAdded', 'Network.requestWillBeSent', 'Page.frameNavigated'] });
  return cdp.events({ sessionId: session, names: ['Runtime.executionContextCreated'] });
});
