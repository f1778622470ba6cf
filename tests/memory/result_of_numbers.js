//! code: RESULT_TOO_LARGE
return new Array(3e6).fill(1.5);
