// The viewer opens the file in a new tab. That is caught while it has no address, and what is sent to it then waits in
// line until the file is there.
// family: viewer
// seen: yes (on 79f594e)
// expect: POLICY_REFUSED | CALL_TIMEOUT
// walls: table, confinement
// alone: yes
await cdp.send('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: true, flatten: true, filter: [{ type: 'page' }] });
await viewer(`chrome.tabs && chrome.tabs.create({ url: 'file://{{canary_dir}}/canary.txt' })`);
const { sessionId } = await until(async () => {
  const events = await happened('Target.attachedToTarget');
  return events.map((event) => event.params).find((caught) => caught.waitingForDebugger && caught.targetInfo.type === 'page');
});
const ran = send('Runtime.runIfWaitingForDebugger', {}, sessionId);
const read = [];
for (let i = 0; i < 40; i++) {
  read.push(evaluate(TEXT, sessionId).catch((error) => error.message));
  await pause(5);
}
await ran;
return (await Promise.all(read)).find((text) => text && text.startsWith('file:')) ?? (await read[0]);
