// The same way into the browser's settings, where a script may ask for more than a page may.
// family: viewer
// seen: yes (on 79f594e)
// expect: POLICY_REFUSED | CALL_TIMEOUT
// leak: PREPARED chrome:
// walls: table
await prepared();
await viewer(`(async () => {
  for (const tab of await chrome.tabs.query({}))
    if (!tab.url.endsWith('/pdf')) chrome.tabs.update(tab.id, { url: 'chrome://settings/content' });
})()`);
return (await told(/PREPARED chrome/)) ?? 'nothing was told';
