// Arguments are checked against the manifest before anything is done; every fault is named at once.

// --- all is well
//! result: ["a",{"limit":3,"tags":["x"]}]
await tools.strict('a', { limit: 3, tags: ['x'] })
// --- what is optional may be left out or be undefined
//! result: [["a"],["a",{"$type":"undefined"}]]
[await tools.strict('a'), await tools.strict('a', undefined)]
// --- every fault at once
//! error: INVALID_ARGUMENT
//! message: /^tools.strict: name.*options.*limit.*options.*tags.*options.*more/
//! hint: /^Call it as tools.strict\(name: string, options\?: /
await tools.strict(5, { limit: 11, tags: ['x', 7], more: true })
// --- too few
//! error: INVALID_ARGUMENT
//! message: tools.strict: name is missing
await tools.strict()
// --- too many
//! error: INVALID_ARGUMENT
//! message: tools.strict: 3 arguments were given, it takes at most 2
await tools.strict('a', {}, 'b')
// --- the faults are a list for programs
//! result: ["name is missing"]
(await tools.strict().catch((error) => error)).details.faults
// --- one of two forms
//! result: [["a"],["a",1],[{"name":"a"}]]
[await tools.either('a'), await tools.either('a', 1), await tools.either({ name: 'a' })]
// --- neither form
//! error: INVALID_ARGUMENT
//! hint: /tools\.either\(name: string, count\?: number\) or tools\.either\(query: /
await tools.either(5)
// --- null for what may be left out is nothing
//! result: [["a",{"$type":"undefined"}],["a",{"limit":3}]]
[await tools.strict('a', null), await tools.strict('a', { limit: 3, tags: null })]
// --- but not within it, nor for what is needed
//! error: INVALID_ARGUMENT
//! message: tools.strict: name: null is not of type "string"; options.tags.0: null is not of type "string"
await tools.strict(null, { tags: [null] })
// --- where anything may be given, null is null
//! result: [null,{"a":null}]
await tools.arguments(null, { a: null })
// --- of several forms, the one is meant that begins like the arguments
//! error: INVALID_ARGUMENT
//! message: tools.either: query: "name" is a required property
await tools.either({ title: null })
// --- also if another one has fewer faults
//! error: INVALID_ARGUMENT
//! message: tools.either: query: "name" is a required property; 2 arguments were given, it takes at most 1
await tools.either({}, 1)
// --- NaN is no integer
//! error: INVALID_ARGUMENT
await tools.text(NaN)
// --- a fraction neither
//! error: INVALID_ARGUMENT
//! message: /count/
await tools.text(1.5)
// --- an integer that is written as a float is one
//! result: 2
(await tools.text(2.0)).length
// --- wrong arguments reach no provider, but are calls
//! result: "INVALID_ARGUMENT"
//! calls: 1
await tools.panic('argument').catch((error) => error.code)
// --- a name that a script cannot write
//! result: "tidy"
await tools.tidy_up()
