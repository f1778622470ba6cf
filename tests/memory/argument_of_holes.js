//! code: INVALID_ARGUMENT
const sessionId = await cdp.attachToTarget();
await cdp.send('Runtime.evaluate', { expression: '1', x: new Array(4e6) }, { sessionId });
