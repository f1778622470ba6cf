//! The quirks of Boa, the interpreter in the guest: its error messages, its defects, and hints for a model that meets
//! them. No other file of the host depends on the interpreter, so that replacing or repairing it changes only this one.

use codemode_provider::Registry;

/// The cause of a guest's panic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Panic {
    /// The script needed more memory than the sandbox has.
    Memory,
    /// The script's functions recursed too deeply.
    Recursion,
    /// A property access hit a defect of the interpreter's inline cache.
    LostProperty,
    /// Any other defect.
    Defect,
}

/// Panic messages of the guest when a script runs out of memory.
const OF_MEMORY: &[&str] = &[
    "capacity overflow",
    "memory allocation of",
    "exceeds the maximum size",
    "out of memory",
    "detected overflow during string allocation",
];
/// The panic message when an async generator hits the recursion limit: the interpreter asserts there that nothing is
/// thrown, and only this limit makes the assertion fail.
const OF_RECURSION: &[&str] = &["assertion failed: !result.is_throw_completion()"];
/// Source files of panics in the inline cache of property accesses, after an accessor of a property, or a change in a
/// prototype, has moved the property.
const OF_PROPERTIES: &[&str] = &["vm/opcode/get/property.rs", "vm/opcode/set/property.rs", "vm/opcode/get/name.rs"];

/// The hint for a panic in a property access.
pub(super) const PROPERTIES_HINT: &str = "The interpreter lost track of a property that was deleted or defined anew by its own getter or setter, or in a \
     prototype. Name it as object[\"name\"] instead of object.name (globalThis[\"name\"] for a global), or keep the value \
     in a variable.";

/// The interpreter's message for a variable that is used before its declaration has run. It also gives this message for
/// variables that it fails to resolve in the computed names of a class's methods.
const UNINITIALIZED: &str = "access of uninitialized binding";
const UNINITIALIZED_HINT: &str = "A variable is used before the line that declares it has run: move that up. In the computed \
    name of a class's method only variables of the same function can be used: `const name = outer; class A { [name]() {} }`.";

/// Start of the interpreter's message when destructuring a value without properties, in lower case.
const CANNOT_DESTRUCTURE: &str = "cannot destructure";

/// The cause of a panic, found by its message.
pub(super) fn panic(words: &str) -> Panic {
    let is_of = |panics: &[&str]| panics.iter().any(|panic| words.contains(panic));
    if is_of(OF_MEMORY) {
        Panic::Memory
    } else if is_of(OF_RECURSION) {
        Panic::Recursion
    } else if is_of(OF_PROPERTIES) {
        Panic::LostProperty
    } else {
        Panic::Defect
    }
}

/// A hint for an error whose message alone does not suggest the remedy.
pub(super) fn hint(message: &str, registry: &Registry) -> Option<String> {
    if message.to_lowercase().starts_with(CANNOT_DESTRUCTURE) {
        let namespaces: Vec<_> = registry.namespaces().into_iter().map(|it| it.name).collect();
        return Some(format!(
            "If this is the script's own function: it is called without arguments. What there is are the globals {}.",
            namespaces.join(", ")
        ));
    }
    (message == UNINITIALIZED).then(|| UNINITIALIZED_HINT.to_owned())
}

/// A syntax error's message without its position, which refers to the transformed text that the guest received.
pub(super) fn without_place(message: &str, line: u32, column: u32) -> String {
    message.replace(&format!(" at line {line}, col {column}"), "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_are_told_apart_by_their_words() {
        let rows = [
            ("thread panicked at alloc/src/raw_vec.rs:28:5:\ncapacity overflow", Panic::Memory),
            ("memory allocation of 4294967296 bytes failed", Panic::Memory),
            ("assertion failed: !result.is_throw_completion()", Panic::Recursion),
            ("panicked at core/engine/src/vm/opcode/set/property.rs:31:9:\nindex out of bounds", Panic::LostProperty),
            ("panicked at core/engine/src/vm/mod.rs:1:1:\nindex out of bounds", Panic::Defect),
            ("", Panic::Defect),
        ];
        for (words, expected) in rows {
            assert_eq!(panic(words), expected, "{words}");
        }
    }

    #[test]
    fn the_place_in_the_other_text_is_left_out() {
        assert_eq!(without_place("unexpected token at line 3, col 14", 3, 14), "unexpected token");
        assert_eq!(without_place("unexpected token at line 3, col 14", 3, 15), "unexpected token at line 3, col 14");
    }
}
