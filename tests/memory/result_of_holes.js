//! code: RESULT_TOO_LARGE
// A hole is one byte in the sandbox and half a kilobyte in the answer.
return new Array(16e6);
