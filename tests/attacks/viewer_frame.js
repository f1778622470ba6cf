// The viewer in a frame of a page, without any PDF.
// family: viewer
// seen: no
// expect: nothing
// walls: table, confinement
await prepared();
await viewer(`(async () => {
  if (chrome.tabs) for (const tab of await chrome.tabs.query({}))
    if (tab.url === '{{site}}/') chrome.tabs.update(tab.id, { url: 'file://{{canary_dir}}/canary.txt' });
})()`, html('<iframe src="chrome-extension://mhjfbmdgcfjbbpaeojofohoefgiehjai/index.html"></iframe>'));
return (await told(AT_FILE)) ?? 'nothing was told';
