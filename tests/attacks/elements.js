// Everything by which a page can have something else in it, or run it.
// family: pages
// seen: no
// expect: nothing
// walls: confinement
const body = (base) => `
<iframe src="${base}.html"></iframe><iframe src="view-source:${base}.html"></iframe><object data="${base}.html"></object><object data="${base}.svg" type="image/svg+xml"></object>
<embed src="${base}.html"><embed src="${base}.pdf" type="application/pdf"><img id=img src="${base}.svg"><link rel=stylesheet href="${base}.css"><script src="${base}.js"></script>
<link rel=prefetch href="${base}.txt"><link rel=preload as=fetch href="${base}.txt"><link rel=import href="${base}.html"><link rel=manifest href="${base}.txt">
<video src="${base}.txt"></video><audio src="${base}.txt"></audio><track src="${base}.txt"><frameset><frame src="${base}.html"></frameset>
<svg><use href="${base}.svg#a"></use><image id=image href="${base}.svg"/></svg><input type=image src="${base}.svg"><portal src="${base}.html"></portal><fencedframe src="${base}.html"></fencedframe>
<style>@import "${base}.css"; @font-face { font-family: f; src: url(${base}.txt) } body { background: url(${base}.svg); cursor: url(${base}.svg), auto; font-family: f }</style>
<form action="${base}.html" target=f id=form></form><iframe name=f></iframe><a id=a href="${base}.html" download=x>a</a><a id=ping href="/" ping="${base}.html">p</a>`;
const look = `(async () => {
  const said = []; addEventListener('message', (event) => said.push(event.data));
  try { form.submit() } catch {} try { a.click() } catch {}
  const base = BASE;
  const soon = (promise) => Promise.race([promise, new Promise((done) => setTimeout(done, 700, 'late'))]).catch(String);
  const asked = [];
  for (const name of ['.txt', '.html', '.css']) {
    asked.push(soon(fetch(base + name).then((r) => r.text())), soon(fetch(base + name, { mode: 'no-cors' }).then((r) => r.type)));
    asked.push(soon(new Promise((done) => { const x = new XMLHttpRequest(); x.open('GET', base + name); x.onloadend = () => done(x.responseText); x.send() })));
  }
  asked.push(soon(import(base + '.js').then(() => globalThis.canary)));
  for (const make of [() => new Worker(base + '.js'), () => new SharedWorker(base + '.js'), () => new EventSource(base + '.txt'), () => new Worker(URL.createObjectURL(new Blob(['importScripts("' + base + '.js"); postMessage(self.canary)']))) ])
    asked.push(soon(new Promise((done, failed) => { const w = make(); (w.port ?? w).onmessage = (event) => done(event.data); w.onerror = () => done('error') })));
  said.push(...await Promise.all(asked));
  for (const frame of document.querySelectorAll('iframe,object,embed,frame,portal,fencedframe')) try { said.push(frame.contentDocument.documentElement.innerText) } catch (error) { said.push('closed') }
  said.push('image:' + img.naturalWidth + 'x' + img.naturalHeight, globalThis.canary, getComputedStyle(document.documentElement).getPropertyValue('--canary'), document.title);
  for (let i = 0; i < frames.length; i++) try { said.push(frames[i].canary, frames[i].document.body.innerText) } catch {}
  await new Promise((done) => setTimeout(done, 200));
  return said;
})()`;
const base = 'file://{{canary_dir}}/canary';
return tries(['http', 'data', 'blank', 'blob', 'srcdoc'], async (kind) => {
  const code = body(base), text = look.replace('BASE', JSON.stringify(base));
  if (kind === 'http') await visit(html(code));
  if (kind === 'data') await visit('data:text/html,' + encodeURIComponent(code));
  if (kind === 'blank') await visit('about:blank');
  if (kind === 'blob') {
    await visit('{{site}}/');
    const url = await evaluate(`URL.createObjectURL(new Blob([${JSON.stringify(code)}], { type: 'text/html' }))`);
    await visit(url);
  }
  if (kind === 'srcdoc') await visit(html(`<iframe srcdoc="${code.replaceAll('"', '&quot;')}"></iframe>`));
  if (kind === 'blank') await send('Page.setDocumentContent', { frameId: (await send('Page.getFrameTree')).frameTree.frame.id, html: `<base href="file://{{canary_dir}}/">` + code });
  return evaluate(kind === 'srcdoc' ? `frames[0].eval(${JSON.stringify(text)})` : text);
});
