// A tab is prepared while it shows an http page; the viewer's own rights then move it to a file.
// family: viewer
// seen: yes (on 79f594e)
// expect: POLICY_REFUSED | CALL_TIMEOUT
// walls: table, confinement
await prepared();
await viewer(`(async () => {
  for (const tab of await chrome.tabs.query({}))
    if (!tab.active || !tab.url.endsWith('/pdf')) chrome.tabs.update(tab.id, { url: 'file://{{canary_dir}}/canary.txt' });
})()`);
return (await told(AT_FILE)) ?? 'nothing was told';
