// Files given to a page: to a file input, or dragged over it.
// family: files
// seen: no
// expect: POLICY_REFUSED
// walls: table, confinement
await visit(html(`<input type=file id=input multiple><input type=file id=folder webkitdirectory><div id=drop style="height:300px">drop</div>
<script>globalThis.dropped = []; drop.ondragover = (e) => e.preventDefault(); drop.ondrop = async (e) => { e.preventDefault(); for (const f of e.dataTransfer.files) dropped.push(await f.text()) }</script>`));
const node = async (id) => (await send('Runtime.evaluate', { expression: id })).result.objectId;
const { downloadsDir, downloads } = await cdp.sessionInfo();
const own = String(downloadsDir ?? downloads ?? '/tmp');
const paths = ['{{canary_dir}}/canary.txt', own + '/../../../../../../../../../..{{canary_dir}}/canary.txt', 'file://{{canary_dir}}/canary.txt', '/proc/self/root{{canary_dir}}/canary.txt', '{{canary_dir}}'];
const text = `(async () => (await Promise.all([...input.files, ...folder.files].map((f) => f.text().catch(String)))).join() + dropped.join())()`;
const data = (files) => ({ items: [], files, dragOperationsMask: 1 });
return [
  ...await tries(paths, async (path) => { await send('DOM.setFileInputFiles', { files: [path], objectId: await node('input') }); return evaluate(text); }),
  ...await tries(paths, async (path) => { await send('DOM.setFileInputFiles', { files: [path], objectId: await node('folder') }); return evaluate(text); }),
  ...await tries(paths, async (path) => {
    for (const type of ['dragEnter', 'dragOver', 'drop']) await send('Input.dispatchDragEvent', { type, x: 100, y: 150, data: data([path]) });
    await pause(200);
    return evaluate(text);
  }),
];
