//! code: ok
return new Set(Array.from({ length: 90_000 }, (_, ms) => new Date(ms)));
