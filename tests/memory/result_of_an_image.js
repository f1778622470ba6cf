//! code: ok
// An image next to its bound, and text beside it.
const png = new Uint8Array(10e6);
png.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
return { png, text: 'x'.repeat(1024).repeat(3 * 1024) };
