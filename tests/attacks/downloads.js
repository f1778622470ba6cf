// Downloads that mean to land elsewhere, by their name or by a command.
// family: files
// seen: no
// expect: POLICY_REFUSED
// walls: table, confinement
const folders = ['{{drop_dir}}', '{{drop_dir}}/sub', '/proc/self/root{{drop_dir}}', '../../../../../../../..{{drop_dir}}'];
const attempts = [
  ...await tries(folders, (downloadPath) => cdp.send('Browser.setDownloadBehavior', { behavior: 'allow', downloadPath })),
  ...await tries(folders, (downloadPath) => cdp.send('Browser.setDownloadBehavior', { behavior: 'allowAndName', downloadPath, eventsEnabled: true })),
  ...await tries(folders, (downloadPath) => send('Page.setDownloadBehavior', { behavior: 'allow', downloadPath })),
];
const names = ['plain.txt', '../../../../../../../../../..{{drop_dir}}/up.txt', '..%2f..%2fx.txt', '{{drop_dir}}/absolute.txt', '..\\..\\x.txt', '.bashrc'];
for (const name of names) {
  await send('Page.navigate', { url: '{{site}}/echo?body=dropped&type=application/octet-stream&attachment=' + encodeURIComponent(name) });
  await visit(html(`<a id=a download="${name}" href="{{site}}/echo?body=dropped&type=application/octet-stream">a</a><a id=b download=b href="data:,dropped">b</a>`));
  await evaluate('a.click(); b.download = a.download; b.click()');
}
// A file that is downloaded to where scripts may read.
await evaluate(`for (const href of ['file://{{canary_dir}}/canary.txt', 'view-source:file://{{canary_dir}}/canary.txt']) { a.href = href; a.click() }`);
await pause(500);
return attempts;
