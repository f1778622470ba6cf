// Commands that reach beyond the pages.
// family: browsers
// seen: yes (on 79f594e)
// expect: POLICY_REFUSED | UNKNOWN_METHOD | INVALID_ARGUMENT
// walls: table
// alone: yes
// Told by one of these, or guessed.
const all = (await cdp.send('Target.getTargets', { filter: [{}] })).targetInfos;
const browser = all.find(({ type }) => type === 'browser') ?? (await cdp.send('Target.getTargetInfo').catch(() => ({}))).targetInfo;
const targetId = browser?.targetId ?? 'browser';
const commands = {
  'Target.attachToBrowserTarget': {},
  'Target.attachToTarget': { targetId },
  'Target.exposeDevToolsProtocol': { targetId },
  'Target.setRemoteLocations': { locations: [{ host: '127.0.0.1', port: 1 }] },
  'Target.openDevTools': { targetId },
  'Target.createBrowserContext': { proxyServer: 'socks5://127.0.0.1:1' },
  'Browser.executeBrowserCommand': { commandId: 'openTabSearch' },
  'Browser.setDockTile': { badgeLabel: 'x' },
  'Browser.addPrivacySandboxEnrollmentOverride': { url: '{{site}}' },
  'Tethering.bind': { port: 1 },
  'Extensions.loadUnpacked': { path: '{{canary_dir}}' },
  'Extensions.getExtensions': {},
  'PWA.install': { manifestId: '{{site}}' },
  'Security.setIgnoreCertificateErrors': { ignore: true },
  'SystemInfo.getFeatureState': { featureState: 'x' },
  'Memory.prepareForLeakDetection': {},
  'Fetch.enable': {},
};
return tries(Object.keys(commands), (method) => cdp.send(method, commands[method]));
