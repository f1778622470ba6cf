// Everything that is not a page, attached to in every way that there is, and asked where it is.
// family: targets
// seen: no
// expect: POLICY_REFUSED
// leak: INSIDE (chrome|devtools)
// walls: table
// alone: yes
// browser: whole
const inside = 'globalThis.chrome && "INSIDE " + location.href + " " + Object.keys(chrome)';
const { targetInfos } = await cdp.send('Target.getTargets', { filter: [{}] });
const strange = targetInfos.filter(({ url, type }) => type !== 'page' && type !== 'tab' && !url.startsWith('http'));
if (strange.length === 0) throw new Error('there is none');
return tries(strange.map(({ targetId, type }) => ({ type, targetId })), async ({ targetId }) => {
  const { sessionId } = await cdp.send('Target.attachToTarget', { targetId, flatten: true });
  return evaluate(inside, sessionId);
});
