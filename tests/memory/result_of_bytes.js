//! code: ok
return new Uint8Array(16e6);
