// Link-local addresses and the clouds' metadata, by every way to write them.
// family: network
// seen: yes (on 79f594e)
// expect: POLICY_REFUSED
// walls: network
// alone: yes
// apart: yes
const hosts = ['169.254.169.254', '169.254.77.77', '2852039166', '0xA9FEA9FE', '169.16689662', '0251.0376.0251.0376', '[::ffff:169.254.169.254]', '[::ffff:a9fe:a9fe]', '169.254.169.254.', '[fe80::1]', '[fd00:ec2::254]', '100.100.100.200', 'metadata.google.internal'];
return [
  ...await tries(hosts, async (host) => visit(`http://${host}/latest/meta-data/`)),
  ...await tries(hosts, async (host) => visit('https://' + host + '/')),
];
