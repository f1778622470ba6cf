// Nothing but a proxy in the environment, as companies have it: the same pages, without any command of the script.
// family: browsers
// seen: yes (on 79f594e)
// expect: nothing
// walls: network
// alone: yes
// env: http_proxy={{proxy}}
// env: HTTP_PROXY={{proxy}}
// env: no_proxy=
// rules: deny victim
const urls = ['127.0.0.1', 'localhost', '127.1', '2130706433', '[::ffff:127.0.0.1]', 'a.localhost', '0.0.0.0', '127.0.0.1.'].map((host) => `http://${host}:{{victim_port}}/json/list`);
return tries(urls, async (url) => [await visit(url).catch((error) => error.code), await evaluate('document.documentElement.innerText')]);
