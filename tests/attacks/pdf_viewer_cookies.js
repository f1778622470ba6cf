// The cookies of another key, which the host keeps in its folder.
// family: viewer
// seen: yes (on 79f594e)
// expect: POLICY_REFUSED | CALL_TIMEOUT
// walls: table, confinement
await prepared();
await viewer(`(async () => {
  for (const tab of await chrome.tabs.query({}))
    if (tab.url === '{{site}}/') chrome.tabs.update(tab.id, { url: 'file://{{cookies_file}}' });
})()`);
return (await told(AT_FILE)) ?? 'nothing was told';
