// A tab that the viewer moves to a file, while commands for it are under way: judged by where it was.
// family: viewer
// seen: yes (on 79f594e)
// expect: POLICY_REFUSED | CALL_TIMEOUT
// walls: table, confinement
const { targetId } = await cdp.send('Target.createTarget', { url: '{{site}}/' });
const { sessionId } = await cdp.send('Target.attachToTarget', { targetId, flatten: true });
await viewer(`(async () => {
  for (const tab of await chrome.tabs.query({}))
    if (tab.url === '{{site}}/') chrome.tabs.update(tab.id, { url: 'file://{{canary_dir}}/canary.txt' });
})()`);
const read = [];
for (let i = 0; i < 500; i++) {
  read.push(evaluate(TEXT, sessionId).catch((error) => error.code));
  await pause(4);
}
return (await Promise.all(read)).find((text) => String(text).startsWith('file:')) ?? 'nothing was read';
