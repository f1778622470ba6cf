//! code: ok
// What waits holds its pattern: those that are too large are refused, those that are not wait within the bound.
const sessionId = await cdp.attachToTarget();
const wait = (where) => cdp.waitForEvent('Runtime.consoleAPICalled', { sessionId, where, timeoutMs: 500 }).then(() => 'came', (error) => error.code);
const large = await Promise.all(Array.from({ length: 5 }, () => wait({ args: new Array(2e6) })));
const long = await wait({ args: new Array(4e4).fill(7) });
const small = await Promise.all(Array.from({ length: 50 }, () => wait({ args: new Array(5e3).fill(7) })));
const codes = (all) => [...new Set(all)].join();
return [codes(large), long, codes(small)];
