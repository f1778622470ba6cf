// Prints and archives of a page that shows files.
// family: pages
// seen: no
// expect: nothing
// walls: confinement
const base = 'file://{{canary_dir}}/canary';
const body = `<base href="file://{{canary_dir}}/"><p>printed</p><img src="${base}.svg"><iframe src="${base}.html"></iframe><object data="${base}.txt"></object>`;
const all = async (handle) => {
  let text = '';
  for (;;) {
    const { data, eof } = await send('IO.read', { handle, size: 500000 });
    text += data;
    if (eof) return text;
  }
};
const frame = async () => (await send('Page.getFrameTree')).frameTree.frame.id;
return tries(['pdf', 'stream', 'mhtml', 'resource', 'snapshot'], async (way) => {
  await visit(html(body));
  await send('Page.setDocumentContent', { frameId: await frame(), html: body });
  await pause(200);
  if (way === 'pdf') return (await send('Page.printToPDF', { headerTemplate: body, footerTemplate: body, displayHeaderFooter: true, generateTaggedPDF: true })).data.length;
  if (way === 'stream') return all((await send('Page.printToPDF', { transferMode: 'ReturnAsStream', headerTemplate: body, displayHeaderFooter: true })).stream).then((text) => text.length);
  if (way === 'mhtml') return (await send('Page.captureSnapshot')).data;
  if (way === 'snapshot') return JSON.stringify(await send('DOMSnapshot.captureSnapshot', { computedStyles: [] }));
  const { frameTree } = await send('Page.getResourceTree');
  return tries(['txt', 'svg', 'html'].map((name) => base + '.' + name), (url) => send('Page.getResourceContent', { frameId: frameTree.frame.id, url })).then(JSON.stringify);
});
