// No PDF is needed: a page may open the viewer in a window, and is caught there before the window has an address.
// family: viewer
// seen: no
// expect: POLICY_REFUSED | CALL_TIMEOUT
// walls: table, confinement
// alone: yes
await prepared();
await cdp.send('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: true, flatten: true, filter: [{ type: 'page' }] });
const drive = `(async () => {
  if (chrome.tabs) for (const tab of await chrome.tabs.query({}))
    if (tab.url === '{{site}}/') chrome.tabs.update(tab.id, { url: 'file://{{canary_dir}}/canary.txt' });
})()`;
await visit('{{site}}/echo?body=opener');
await evaluate(`{ const a = document.createElement('a'); a.href = 'chrome-extension://mhjfbmdgcfjbbpaeojofohoefgiehjai/index.html'; a.target = '_blank'; document.body.append(a); a.click() }`);
const { sessionId } = await until(async () => {
  const events = await happened('Target.attachedToTarget');
  return events.map((event) => event.params).find((caught) => caught.waitingForDebugger && caught.targetInfo.type === 'page');
});
await prepare(sessionId, drive);
await send('Runtime.runIfWaitingForDebugger', {}, sessionId);
for (let i = 0; i < 20; i++) evaluate(drive, sessionId).catch((error) => error);
return (await told(AT_FILE)) ?? 'nothing was told';
