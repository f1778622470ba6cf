//! What Boa, the interpreter in the guest, says and does that a script is not to blame for: its words for errors, where
//! it breaks, and what to tell a model then. No other file of the host knows whose words these are: replacing or
//! repairing the interpreter changes this one.

use codemode_provider::Registry;

/// What a panic of the guest means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Panic {
    /// The script wanted more memory than there is.
    Memory,
    /// The script's functions called each other too deeply.
    Recursion,
    /// The interpreter lost track of a property.
    LostProperty,
    /// A defect.
    Defect,
}

/// How the guest panics where a script wants more memory than there is.
const OF_MEMORY: &[&str] = &[
    "capacity overflow",
    "memory allocation of",
    "exceeds the maximum size",
    "out of memory",
    "detected overflow during string allocation",
];
/// How it panics where an async generator meets the limit on recursion: of nothing else that can be thrown there is it
/// so sure that it cannot be.
const OF_RECURSION: &[&str] = &["assertion failed: !result.is_throw_completion()"];
/// Where it panics if the place of a property, which the interpreter remembers for each place in the source, was changed
/// by an accessor of that property or in a prototype.
const OF_PROPERTIES: &[&str] = &["vm/opcode/get/property.rs", "vm/opcode/set/property.rs", "vm/opcode/get/name.rs"];

/// What to write instead where the interpreter loses track of a property.
pub(super) const PROPERTIES_HINT: &str = "The interpreter lost track of a property that was deleted or defined anew by its own getter or setter, or in a \
     prototype. Name it as object[\"name\"] instead of object.name (globalThis[\"name\"] for a global), or keep the value \
     in a variable.";

/// What it says of a variable that is used before its declaration has run. It also says so where it loses sight of one: it
/// does not look for variables in the computed names of a class's methods.
const UNINITIALIZED: &str = "access of uninitialized binding";
const UNINITIALIZED_HINT: &str = "A variable is used before the line that declares it has run: move that up. In the computed \
    name of a class's method only variables of the same function can be used: `const name = outer; class A { [name]() {} }`.";

/// How its message begins where a value has no properties to take out, in lower case.
const CANNOT_DESTRUCTURE: &str = "cannot destructure";

/// What the last words of a guest that panicked mean.
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

/// What to do about an error whose message alone does not say it.
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

/// A message about a syntax error without its own words for the place, which are of the text that the guest was given.
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
