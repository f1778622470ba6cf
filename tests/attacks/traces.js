// Traces whose settings name a file to write, and the settings of others that name one.
// family: files
// seen: no
// expect: POLICY_REFUSED | CDP_PROTOCOL_ERROR
// walls: table, confinement
const bytes = (text) => [...text].map((c) => c.charCodeAt(0));
const path = bytes('{{drop_dir}}/trace');
// TraceConfig: one buffer (1), one data source (2), write_into_file (8), output_path (29).
const name = [10, 11, ...bytes("track_event")], source = [10, name.length, ...name];
const config = [10, 3, 8, 128, 8, 18, source.length, ...source, 64, 1, 0xea, 1, path.length, ...path];
const base64 = (list) => {
  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  let text = '';
  for (let i = 0; i < list.length; i += 3) {
    const n = (list[i] << 16) | ((list[i + 1] ?? 0) << 8) | (list[i + 2] ?? 0);
    text += digits[n >> 18] + digits[(n >> 12) & 63] + (i + 1 < list.length ? digits[(n >> 6) & 63] : '=') + (i + 2 < list.length ? digits[n & 63] : '=');
  }
  return text;
};
return tries(['chrome', 'system', 'auto'], async (tracingBackend) => {
  await cdp.send('Tracing.start', { perfettoConfig: base64(config), tracingBackend, transferMode: 'ReturnAsStream' }, { timeoutMs: 3000 });
  await pause(100);
  await cdp.send('Tracing.end', {}, { timeoutMs: 3000 });
});
