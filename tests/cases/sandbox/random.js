// Randomness comes from the execution's seed.

// --- numbers are spread
//! result: [true,true,100]
const numbers = Array.from({ length: 100 }, () => Math.random());
[numbers.every((n) => n >= 0 && n < 1), numbers.some((n) => n > 0.5) && numbers.some((n) => n < 0.5), new Set(numbers).size]
// --- a seed gives its numbers
//! result: true
//! seed: 7
globalThis.drawn = [Math.random(), crypto.randomUUID()];
drawn[0] !== 0 && drawn[1].length === 36
// --- UUIDs
//! result: [true,100]
const ids = Array.from({ length: 100 }, () => crypto.randomUUID());
[ids.every((id) => /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id)), new Set(ids).size]
// --- values
//! result: [true,true]
const bytes = new Uint8Array(64);
const same = crypto.getRandomValues(bytes);
[same === bytes, new Set(bytes).size > 16]
// --- other views
//! result: true
crypto.getRandomValues(new Uint32Array(8)).some((n) => n > 65536)
// --- too many
//! error: SCRIPT_ERROR
//! message: /QuotaExceededError/
crypto.getRandomValues(new Uint8Array(65537))
// --- floats are no bytes
//! error: SCRIPT_ERROR
//! message: /TypeMismatchError|TypeError/
crypto.getRandomValues(new Float64Array(1))
// --- a shuffle as it is often written
//! result: [1000,1000,false]
const list = Array.from({ length: 1000 }, (_, i) => i).sort(() => Math.random() - 0.5);
[list.length, new Set(list).size, list.every((item, index) => item === index)]
