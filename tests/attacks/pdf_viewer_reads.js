// What the viewer can read by itself.
// family: viewer
// seen: no
// expect: POLICY_REFUSED | CALL_TIMEOUT
// walls: table, confinement
await viewer(`(async () => {
  const read = (name, promise) => promise.then((text) => tell('READ ' + name + ' ' + String(text).slice(0, 300)), (error) => tell('READ ' + name + ' ' + error));
  const file = 'file://{{canary_dir}}/canary.txt';
  read('fetch', fetch(file).then((answer) => answer.text()));
  read('xhr', new Promise((done, failed) => { const x = new XMLHttpRequest(); x.open('GET', file); x.onload = () => done(x.responseText); x.onerror = failed; x.send(); }));
  read('apis', Promise.resolve(Object.keys(chrome).join()));
})()`);
await told(/READ apis/); await pause(300);
return (await happened('Runtime.bindingCalled')).map((event) => event.params.payload);
