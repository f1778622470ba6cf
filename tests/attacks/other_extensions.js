// Other extensions and viewers that browsers have built in: web store, speech, feedback, hangouts, reader, wallet; the
// print preview; and what a page of another site may load of any of them.
// family: viewer
// seen: no
// expect: nothing
// leak: LOADED
// walls: table
const ids = [
  'mhjfbmdgcfjbbpaeojofohoefgiehjai', 'ahfgeienlihckogmohjhadlkjgocpleb', 'nkeimhogjdpnpccoofpliimaahmaaome', 'neajdppkdcdipfabeoofebfddakdcjhd', 'gfdkimpbcpahaombhbimeihdjnejgicl', 'inlocgbkjapdagjnhbdfmkkkhpkpkeih',
  'fignfifoniblkonapihmkfakmlgkbkcf', 'kcpnhnigfcghipknhhlhbkfdcacnhobl', 'ekcojahopbpjjbpeekfbbidjdanohdhb', 'jlgkpaicikihijadgifklkbpdajbkhjo', 'cjlaeehoipngghikfjogbdkpbdgebppb', 'nmmhkkegccagdldgiimedpiccmgmieda',
];
await send('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: false, flatten: true });
await visit(html(ids.map((id) => `<iframe src="chrome-extension://${id}/index.html"></iframe>`).join('')));
await evaluate('print()').catch((error) => error.code);
const loaded = await evaluate(`Promise.all(${JSON.stringify(ids)}.flatMap((id) => ['manifest.json', 'index.html', 'background.html'].map((file) => fetch('chrome-extension://' + id + '/' + file).then((answer) => 'LOADED ' + id, () => 0))))`);
await pause(200);
const { targetInfos } = await cdp.send('Target.getTargets', { filter: [{}] });
return [loaded, targetInfos.filter(({ url }) => url.startsWith('chrome-extension:') || url.startsWith('chrome://print')).map(({ type, url }) => `LOADED ${type} ${url}`)];
