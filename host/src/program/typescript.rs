//! Converts TypeScript to JavaScript: removes types, and turns enums and namespaces into objects.

use super::{
    fault::{Fault, fault_of},
    parse::parse,
    position::{Lines, Place, Step, Unit},
    script::{Refused, SOURCE_NAME},
    tree::Survey,
};
use codemode_spec::ErrorCode;
use oxc::{
    allocator::Allocator,
    codegen::{Codegen, CodegenOptions, CommentOptions},
    semantic::SemanticBuilder,
    span::SourceType,
    transformer::{TransformOptions, Transformer},
};
use std::path::Path;

/// Returns equivalent JavaScript, and the mapping of its bytes back to the TypeScript.
pub(super) fn strip(code: &str) -> Result<(String, Step), Refused> {
    let allocator = Allocator::default();
    // Parse as a module, which allows top-level `await` and namespaces.
    let mut parsed = parse(&allocator, code, SourceType::ts().with_module(true), false);
    if let Some(fault) = fault_of(&parsed.diagnostics, 0, code.len()) {
        return Err(Refused::Syntax(fault));
    }
    if let Some(fault) = Survey::of(&parsed.program).fault(0) {
        return Err(Refused::Final(fault));
    }
    let semantic =
        SemanticBuilder::new_compiler().with_excess_capacity(2.0).with_enum_eval(true).build(&parsed.program);
    if let Some(fault) = fault_of(&semantic.diagnostics, 0, code.len()) {
        return Err(Refused::Final(fault));
    }
    let scoping = semantic.semantic.into_scoping();
    let path = Path::new(SOURCE_NAME);
    let transformed = Transformer::new(&allocator, path, &TransformOptions::default())
        .build_with_scoping(scoping, &mut parsed.program);
    if let Some(fault) = fault_of(&transformed.diagnostics, 0, code.len()) {
        return Err(Refused::Final(fault));
    }
    let options = CodegenOptions {
        source_map_path: Some(path.to_owned()),
        comments: CommentOptions::disabled(),
        // Indentation would let a small source grow without bound.
        indent_width: 0,
        ..CodegenOptions::default()
    };
    let printed = Codegen::new().with_options(options).build(&parsed.program);
    let Some(map) = printed.map else {
        return Err(Refused::Final(Fault::new(ErrorCode::HostFault, "the types could not be stripped", 0)));
    };
    let (new, old) = (Lines::new(&printed.code, Unit::Utf16), Lines::new(code, Unit::Utf16));
    let mut pairs: Vec<_> = map
        .get_tokens()
        .map(|token| {
            let at = |lines: &Lines<'_>, line: u32, column: u32| {
                lines.offset(Place { line: line.saturating_add(1), column: column.saturating_add(1) })
            };
            (at(&new, token.get_dst_line(), token.get_dst_col()), at(&old, token.get_src_line(), token.get_src_col()))
        })
        .collect();
    pairs.sort_by_key(|(new, _)| *new);
    Ok((printed.code, Step::Printed(pairs)))
}
