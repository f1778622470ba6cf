// What tells a script the browser's command line, and with it ports and folders of this machine.
// family: browsers
// seen: yes (on 79f594e)
// expect: POLICY_REFUSED
// leak: user-data-dir|remote-debugging
// walls: table
const infos = await tries(['SystemInfo.getInfo', 'SystemInfo.getProcessInfo', 'Browser.getBrowserCommandLine'], (method) => cdp.send(method));
// Some of these are only for automated browsers: Chromium refuses them itself.
return infos.map((info) => info.code === 'CDP_PROTOCOL_ERROR' ? { ...info, code: 'POLICY_REFUSED' } : info);
