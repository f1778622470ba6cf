// Commands that concern the user's tabs and settings, not the script's.
// family: external
// seen: yes (on 79f594e)
// expect: POLICY_REFUSED | INVALID_ARGUMENT
// walls: table
// alone: yes
const { targetInfos } = await cdp.send('Target.getTargets');
// Not the script's own, which it may close.
const users = targetInfos.find(({ type, targetId }) => type === 'page' && !page.endsWith(targetId)).targetId;
const commands = [
  ['Target.autoAttachRelated', { targetId: users, waitForDebuggerOnStart: true }],
  ['Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: true }],
  ['Target.closeTarget', { targetId: users }],
  ['Target.attachToBrowserTarget', {}],
  ['Target.setRemoteLocations', { locations: [] }],
  ['Target.createBrowserContext', { proxyServer: 'http://127.0.0.1:1' }],
  ['Security.setIgnoreCertificateErrors', { ignore: true }],
  ['Storage.getCookies', {}], ['Storage.clearCookies', {}],
  ['Browser.setDownloadBehavior', { behavior: 'deny' }], ['Browser.grantPermissions', { permissions: ['geolocation'] }], ['Browser.setWindowBounds', { windowId: 1, bounds: { windowState: 'minimized' } }],
  ['Browser.close', {}], ['Browser.crash', {}], ['SystemInfo.getInfo', {}], ['Tracing.start', {}], ['Fetch.enable', {}],
];
return tries(commands, ([method, params]) => cdp.send(method, params));
