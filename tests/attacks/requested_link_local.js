// Link-local addresses and the clouds' metadata, by requests of the script's own.
// family: network
// seen: no
// expect: POLICY_REFUSED | CALL_FAILED
// walls: network
// alone: yes
// apart: yes
const [tab] = await browser.pages();
const hosts = ['169.254.169.254', '2852039166', '0xA9FEA9FE', '[::ffff:169.254.169.254]', '[fe80::1]', '100.100.100.200', 'metadata.google.internal'];
const text = async (answer) => { const got = await answer; return `${got.status()} ${await got.text()}`; };
return [
  ...await tries(hosts, (host) => text(tab.request.get(`http://${host}/latest/meta-data/`, { timeout: 8000 }))),
];
