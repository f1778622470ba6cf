//! code: ok
return '\ud800'.repeat(1000).repeat(600);
