// Another browser's port, asked for without any proxy, by every name that it has.
// family: browsers
// seen: no (a port in the range that 79f594e keeps pages from)
// expect: nothing
// walls: network
// alone: yes
// rules: deny victim
const urls = ['127.0.0.1', 'localhost', '127.1', '2130706433', '[::ffff:127.0.0.1]', 'a.localhost', '0.0.0.0', '127.0.0.1.', '[::1]'].map((host) => `http://${host}:{{victim_port}}/json/list`);
return tries(urls, async (url) => [await visit(url).catch((error) => error.code), await evaluate('document.documentElement.innerText')]);
