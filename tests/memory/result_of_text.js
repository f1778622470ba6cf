//! code: ok
// As large as a result may be, next to its bound.
return 'x'.repeat(1024).repeat(15 * 1024);
