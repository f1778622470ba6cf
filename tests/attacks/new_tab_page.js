// Empty and unusual addresses, which the browser completes as it likes.
// family: addresses
// seen: no
// expect: nothing
// leak: AT (chrome|chrome-untrusted|file|devtools):
// walls: table
const urls = ['', ' ', 'about:', 'about:newtab', 'about:home', 'about:blank#file:///', 'newtab', 'settings', '{{canary_dir}}/canary.txt', '//{{canary_dir}}/canary.txt', 'file', 'localhost/../..{{canary_dir}}', 'data:text/html,<script>location="file://{{canary_dir}}/canary.html"</script>', 'blob:null/file:///x', 'about:srcdoc'];
return tries(urls, async (url) => {
  const opened = await tab(url);
  await pause(100);
  return 'AT ' + await evaluate('location.href + document.documentElement.innerText', opened);
});
