// Other ways to show a PDF, and other ways to be there when it begins.
// family: viewer
// seen: yes (on 79f594e)
// expect: nothing
// walls: table, confinement
// alone: yes
const drive = `(async () => {
  if (chrome.tabs) for (const tab of await chrome.tabs.query({}))
    if (tab.url === '{{site}}/') chrome.tabs.update(tab.id, { url: 'file://{{canary_dir}}/canary.txt' });
})()`;
const at = async (url, attach, more = {}) => {
  await prepared(more);
  const { targetId } = await cdp.send('Target.createTarget', { url: 'about:blank', ...more });
  page = (await cdp.attachToTarget(targetId)).sessionId;
  const { next } = await cdp.events({ names: ['Runtime.bindingCalled'], limit: 1000 });
  const before = (await happened('Target.attachedToTarget')).length;
  await attach(targetId);
  await send('Page.enable');
  const since = await now();
  send('Page.navigate', { url }).catch((error) => error);
  const caught = await untilSettled(since, async () => {
    const events = await happened('Target.attachedToTarget');
    return events.slice(before).map((event) => event.params).find((one) => one.targetInfo.type === 'iframe' && (one.targetInfo.url === '' || one.targetInfo.url.startsWith('chrome-extension:')));
  });
  await prepare(caught.sessionId, drive);
  await send('Runtime.runIfWaitingForDebugger', {}, caught.sessionId).catch((error) => error);
  const text = await told(AT_FILE, next);
  if (!text) throw new Error('nothing was told');
  return text;
};
const page_session = (waitForDebuggerOnStart) => () => send('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart, flatten: true });
const related = (targetId) => cdp.send('Target.autoAttachRelated', { targetId, waitForDebuggerOnStart: true });
const everywhere = (targetId) => send('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: true, flatten: true, filter: [{}] });
return [
  ...await tries(['embed', 'iframe', 'object'], (name) => at(html(`<${name} type="application/pdf" width=300 height=300 ${name === 'object' ? 'data' : 'src'}="{{site}}/pdf"></${name}>`), page_session(true))),
  ...await tries(['related'], () => at('{{site}}/pdf', related)),
  ...await tries(['context'], async () => at('{{site}}/pdf', page_session(true), await cdp.send('Target.createBrowserContext'))),
  ...await tries(['every type'], () => at('{{site}}/pdf', everywhere)),
];
