// Camera, microphone and the machine's other devices, granted by the script to its own page.
// family: permissions
// seen: yes (on 79f594e)
// expect: POLICY_REFUSED
// leak: STATE granted
// walls: table
await visit('{{site}}/');
const devices = ['videoCapture', 'audioCapture', 'midi', 'midiSysex', 'localNetworkAccess', 'localNetwork', 'loopbackNetwork', 'displayCapture', 'captureBrowserPage' ];
const names = ['camera', 'microphone', 'midi', { name: 'midi', sysex: true }, 'local-network-access', 'local-network', 'loopback-network', 'usb', 'serial', 'hid', 'bluetooth', 'display-capture', 'speaker-selection', 'camera-pan-tilt-zoom'];
const state = (name) => evaluate(`navigator.permissions.query(${JSON.stringify(name.name ? name : { name })}).then((status) => 'STATE ' + status.state, (error) => error.name)`);
// A name that this Chromium has not is no grant.
const known = (attempts) => attempts.map((attempt) => /CDP_PROTOCOL|INVALID_ARG/.test(attempt.code) ? { ...attempt, code: 'POLICY_REFUSED' } : attempt);
return [
  ...known(await tries(devices, async (name) => { await cdp.send('Browser.grantPermissions', { permissions: [name] }); return 'granted'; })),
  ...known(await tries(names, async (name) => { await cdp.send('Browser.setPermission', { permission: name.name ? name : { name }, setting: 'granted' }); return state(name); })),
];
