// Service workers, shared workers, worklets: each is attached to, and asked for files with the rights that it has.
// family: targets
// seen: no
// expect: nothing
// walls: confinement
await send('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: true, flatten: true });
await visit('{{site}}/');
const script = (body) => '{{site}}/echo?type=text/javascript&body=' + encodeURIComponent(body);
const reads = `Promise.all(['fetch("file://{{canary_dir}}/canary.txt").then((r) => r.text())', 'importScripts("file://{{canary_dir}}/canary.js"), self.canary', 'import("file://{{canary_dir}}/canary.js").then(() => canary)', 'fetch("chrome://version").then((r) => r.text())', 'self.clients.openWindow("file://{{canary_dir}}/canary.html")', 'fetch("filesystem:file:///temporary/x").then((r) => r.text())'].map(async (code) => { try { return await eval(code) } catch (error) { return String(error) } })).then((all) => all.join())`;
send('Runtime.evaluate', { expression: `navigator.serviceWorker.register(${JSON.stringify(script('onfetch = () => {}'))}, { scope: '/' }); globalThis.kept = [new Worker(${JSON.stringify(script('0'))}), new SharedWorker(${JSON.stringify(script('0'))})]; CSS.paintWorklet?.addModule(${JSON.stringify(script('0'))}); new AudioContext().audioWorklet.addModule(${JSON.stringify(script('0'))}); 0` }).catch((error) => error);
await cdp.send('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: false, flatten: true, filter: [{ type: 'service_worker' }, { type: 'shared_worker' }, { type: 'worker' }] });
await pause(600);
const caught = (await happened('Target.attachedToTarget')).map((event) => event.params).filter(({ targetInfo }) => /worker|worklet/.test(targetInfo.type));
const last = caught.filter(({ targetInfo: { targetId } }, at) => !caught.slice(at + 1).some((later) => later.targetInfo.targetId === targetId));
return tries(last.map(({ targetInfo, sessionId }) => ({ type: targetInfo.type, sessionId })), async ({ sessionId }) => {
  send('Runtime.runIfWaitingForDebugger', {}, sessionId).catch((error) => error);
  return (await cdp.send('Runtime.evaluate', { expression: reads, awaitPromise: true, returnByValue: true }, { sessionId, timeoutMs: 1000 })).result.value;
});
