//! Runs the parser, and selects the best explanation of a syntax error.

use super::fault::{Fault, fault_of};
use codemode_spec::ErrorCode;
use oxc::{
    allocator::Allocator,
    parser::{ParseOptions, Parser, ParserReturn},
    span::SourceType,
};

/// Parses the source in one way, without trying others.
pub(super) fn parse<'a>(
    allocator: &'a Allocator,
    source: &'a str,
    kind: SourceType,
    patterns: bool,
) -> ParserReturn<'a> {
    let options = ParseOptions {
        parse_regular_expression: patterns,
        allow_return_outside_function: true,
        ..ParseOptions::default()
    };
    Parser::new(allocator, source, kind).with_options(options).parse()
}

/// The best explanation of why the code is refused. The code is parsed without its wrapper, so that an unclosed bracket
/// is not reported at the wrapper's end.
pub(super) fn explain(code: &str, wrapped: Fault) -> Fault {
    let fault_as = |kind: SourceType| {
        let allocator = Allocator::default();
        fault_of(&parse(&allocator, code, kind, false).diagnostics, 0, code.len())
    };
    let Some(javascript) = fault_as(SourceType::mjs()) else { return wrapped };
    if fault_as(SourceType::jsx()).is_none() {
        return Fault::new(ErrorCode::SyntaxError, "JSX is not supported", javascript.offset)
            .with_hint("There is no React in the sandbox; build strings or plain objects instead. Nothing has run.");
    }
    // The reading that got further is more likely the intended one.
    match fault_as(SourceType::ts().with_module(true)) {
        Some(typescript) if typescript.offset > javascript.offset => typescript,
        _ => javascript,
    }
}
