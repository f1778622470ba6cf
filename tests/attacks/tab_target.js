// The tab around a page is a target of its own, and attaches to what the page becomes.
// family: targets
// seen: no
// expect: POLICY_REFUSED | CDP_TARGET_CLOSED | INVALID_ARGUMENT
// walls: table, confinement
// alone: yes
const { targetInfos } = await cdp.send('Target.getTargets', { filter: [{ type: 'tab' }] });
const { sessionId: around } = await cdp.send('Target.attachToTarget', { targetId: targetInfos[0].targetId, flatten: true });
await send('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: true, flatten: true, filter: [{}] }, around);
const { sessionId } = (await cdp.waitForEvent('Target.attachedToTarget', { sessionId: around, where: { targetInfo: { type: 'page' } }, timeoutMs: 3000 })).params;
await send('Page.enable', {}, sessionId);
return tries(['file://{{canary_dir}}/canary.txt', 'chrome://version'], async (url) => {
  await send('Page.navigate', { url }, sessionId);
  await pause(300);
  return evaluate('document.documentElement.innerText', sessionId);
});
