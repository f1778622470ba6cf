//! code: ok
// As many values as a result may have, next to its bound.
return Array.from({ length: 25_000 }, (_, id) => ({ id, name: 'n' + id, ok: true }));
