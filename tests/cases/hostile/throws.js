// Anything can be thrown.

// --- an error
//! error: SCRIPT_ERROR
//! message: Error: bad
//! hint: Read the message and the stack, correct the script and send it again.
//! details.name: "Error"
//! details.line: 1
//! details.stack: /at <main> \(script\.js:1:7\)/
throw new Error('bad')
// --- the frame shows where
//! error: SCRIPT_ERROR
//! message: TypeError: no
//! details.line: 3
//! details.frame: "  1 | const f = () => {\n  2 |   // Here.\n> 3 |    throw new TypeError('no');\n    |          ^\n  4 | };\n  5 | f();"
const f = () => {
  // Here.
   throw new TypeError('no');
};
f();
// --- an error of the engine
//! error: SCRIPT_ERROR
//! message: /^TypeError: .+/
//! details.line: 2
const object = {};
object.missing.field
// --- a name that is not there
//! error: SCRIPT_ERROR
//! message: ReferenceError: missing is not defined
missing
// --- after an await
//! error: SCRIPT_ERROR
//! message: Error: later
//! details.line: 2
await fake.echo(1);
throw new Error('later')
// --- a string
//! error: SCRIPT_ERROR
//! message: /^string: .*oh no/
//! details.name: "string"
throw 'oh no'
// --- a number
//! error: SCRIPT_ERROR
//! message: number: 42
throw 42
// --- null
//! error: SCRIPT_ERROR
//! message: /null$/
throw null
// --- undefined
//! error: SCRIPT_ERROR
//! message: undefined: undefined
throw undefined
// --- a symbol
//! error: SCRIPT_ERROR
//! message: symbol: Symbol(s)
throw Symbol('s')
// --- a bigint
//! error: SCRIPT_ERROR
//! message: bigint: 5n
throw 5n
// --- a boolean
//! error: SCRIPT_ERROR
//! message: boolean: false
throw false
// --- a plain object
//! error: SCRIPT_ERROR
//! message: object: { code: 7, why: 'x' }
throw { code: 7, why: 'x' }
// --- an object with a message
//! error: SCRIPT_ERROR
//! message: /: like an error$/
throw { message: 'like an error', name: 'Custom' }
// --- an array
//! error: SCRIPT_ERROR
//! message: object: [ 1, 2 ]
throw [1, 2]
// --- a function
//! error: SCRIPT_ERROR
//! message: /Function/
throw function named() {}
// --- a date
//! error: SCRIPT_ERROR
//! message: object: 1970-01-01T00:00:00.000Z
throw new Date(0)
// --- each kind of error
//! error: SCRIPT_ERROR
//! message: RangeError: r
throw new RangeError('r')
// --- an error class of one's own
//! error: SCRIPT_ERROR
//! message: LoginError: no such user
class LoginError extends Error { constructor(message) { super(message); this.name = 'LoginError' } }
throw new LoginError('no such user')
// --- with a cause
//! error: SCRIPT_ERROR
//! message: Error: outer
//! details.causes: ["TypeError: middle","Error: inner"]
throw new Error('outer', { cause: new TypeError('middle', { cause: new Error('inner') }) })
// --- with a cause that is no error
//! error: SCRIPT_ERROR
//! details.causes: ["{ status: 404 }"]
throw new Error('outer', { cause: { status: 404 } })
// --- with itself as its cause
//! error: SCRIPT_ERROR
//! message: Error: x
const error = new Error('x');
error.cause = error;
throw error
// --- an AggregateError
//! error: SCRIPT_ERROR
//! message: /AggregateError/
throw new AggregateError([new Error('a'), new Error('b')], 'both')
// --- of Promise.any
//! error: SCRIPT_ERROR
//! message: /AggregateError/
await Promise.any([Promise.reject(1), Promise.reject(2)])
// --- a frozen error
//! error: SCRIPT_ERROR
//! message: Error: frozen
throw Object.freeze(new Error('frozen'))
// --- an error without a message
//! error: SCRIPT_ERROR
//! message: /^Error:? ?$/
throw new Error()
// --- a DOMException
//! error: SCRIPT_ERROR
//! message: AbortError: stopped
throw new DOMException('stopped', 'AbortError')
// --- a proxy
//! error: SCRIPT_ERROR
throw new Proxy({}, {})
// --- a proxy whose traps throw
//! error: SCRIPT_ERROR
throw new Proxy({}, { get() { throw new Error('trap') }, ownKeys() { throw new Error('trap') }, getPrototypeOf() { throw new Error('trap') } })
// --- a proxy of an error
//! error: SCRIPT_ERROR
throw new Proxy(new Error('inside'), {})
// --- a revoked proxy
//! error: SCRIPT_ERROR
const { proxy, revoke } = Proxy.revocable({}, {});
revoke();
throw proxy
// --- an error whose getters throw
//! error: SCRIPT_ERROR
const error = new Error('x');
for (const key of ['message', 'name', 'stack', 'cause']) {
  Object.defineProperty(error, key, { get() { throw new Error('asked for ' + key) } });
}
throw error
// --- an error whose fields are no text
//! error: SCRIPT_ERROR
const error = new Error('x');
error.message = { a: 1 }; error.name = 5; error.stack = [];
throw error
// --- an object without a prototype
//! error: SCRIPT_ERROR
//! message: /a: 1/
throw Object.assign(Object.create(null), { a: 1 })
// --- a namespace
//! error: SCRIPT_ERROR
throw fake
// --- a promise
//! error: SCRIPT_ERROR
throw Promise.resolve(1)
// --- a rejected promise
//! error: SCRIPT_ERROR
//! warnings: ["/lost/"]
throw Promise.reject(new Error('lost'))
// --- a rejection is as good as a throw
//! error: SCRIPT_ERROR
//! message: Error: rejected
Promise.reject(new Error('rejected'))
// --- in a nested function
//! error: SCRIPT_ERROR
//! details.stack: /inner.*outer/
const inner = () => { throw new Error('x') };
function outer() { inner() }
outer()
// --- in a callback
//! error: SCRIPT_ERROR
//! details.line: 2
[1].map(() => {
  throw new Error('x')
})
// --- a stack that was forged
//! error: SCRIPT_ERROR
const error = new Error('x');
error.stack = 'at script.js:99999:1 at script.js:-1:0 at script.js';
throw error
// --- a very long stack
//! error: SCRIPT_ERROR
const error = new Error('x');
error.stack = 'at script.js:1:1\n'.repeat(100000);
throw error
// --- finally goes before
//! error: SCRIPT_ERROR
//! message: Error: from finally
try { throw new Error('from try') } finally { throw new Error('from finally') }
// --- a lone surrogate in a message
//! error: SCRIPT_ERROR
//! message: Error: a�b
throw new Error('a\ud83db')
// --- a message with line breaks and control characters
//! error: SCRIPT_ERROR
//! message: /^Error: a\nb\x00/
throw new Error('a\nb\0')
// --- the console before it is kept
//! error: SCRIPT_ERROR
//! console: ["one", "warn: two"]
console.log('one'); console.warn('two'); throw new Error('x')
// --- the refusal of an argument with a very long path
//! error: INVALID_ARGUMENT
//! message: /^fake.echo: argument 1\.x{1000}/
await fake.echo({ ['x'.repeat(1000000)]: () => 1 })
