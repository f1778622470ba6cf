//! The in-page engine: the scripts of `js`, concatenated in the order of their dependencies.
//!
//! It knows the page's elements and nothing of the host: operations come in and plain JSON goes out.

use std::sync::LazyLock;

/// An expression that creates the engine of an isolated world, or returns the existing one: concurrent verbs share it,
/// and with it the elements that it retains. A page cannot define a symbol in another world.
///
/// Without comment lines and indentation, since each document gets the whole text.
pub(crate) static ENGINE: LazyLock<String> = LazyLock::new(|| {
    let lines = SOURCE.lines().map(str::trim_start).filter(|line| !line.starts_with("//"));
    lines.flat_map(|line| [line, "\n"]).collect()
});

const SOURCE: &str = concat!(
    "globalThis[Symbol.for('codemode.engine')] ??= (() => { \"use strict\";\n",
    include_str!("../js/dom.js"),
    include_str!("../js/matching.js"),
    include_str!("../js/roles.js"),
    include_str!("../js/names.js"),
    include_str!("../js/states.js"),
    include_str!("../js/css.js"),
    include_str!("../js/words.js"),
    include_str!("../js/steps.js"),
    include_str!("../js/point.js"),
    include_str!("../js/act.js"),
    include_str!("../js/forms.js"),
    include_str!("../js/slot.js"),
    include_str!("../js/read.js"),
    include_str!("../js/table.js"),
    include_str!("../js/text.js"),
    include_str!("../js/aria.js"),
    include_str!("../js/outline.js"),
    include_str!("../js/mark.js"),
    include_str!("../js/engine.js"),
    "return new Engine(); })()"
);

#[cfg(test)]
mod tests;
