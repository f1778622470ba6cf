//! Handles exports and imports, since the sandbox has no modules: an exported value is the script's result, and an
//! import is an error whose hint names the alternatives.
//!
//! The code is rewritten without moving a byte, so that positions do not change.

use super::{
    fault::{Fault, NO_MODULES_HINT},
    form::{Exports, is_function},
    parse::parse,
};
use codemode_spec::ErrorCode;
use oxc::{
    allocator::Allocator,
    ast::ast::{
        Declaration, ExportDefaultDeclaration, ExportDefaultDeclarationKind, Function, ImportDeclarationSpecifier,
        ImportOrExportKind, ModuleExportName, Statement, TSModuleReference,
    },
    span::{GetSpan, SourceType, Span},
};

/// Code without imports and exports.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rewritten {
    pub code: String,
    pub exports: Exports,
}

/// Rewrites the exports of the code; `None` if it does not parse or has neither exports nor imports.
///
/// # Errors
/// When it imports something, or exports something that cannot be a result.
pub(super) fn rewrite(code: &str) -> Result<Option<Rewritten>, Fault> {
    let allocator = Allocator::default();
    let parsed = parse(&allocator, code, SourceType::ts().with_module(true), false);
    let mut bytes = code.as_bytes().to_vec();
    let mut entry = None;
    let mut functions = Vec::new();
    for statement in &parsed.program.body {
        let span = statement.span();
        match statement {
            Statement::ImportDeclaration(it) => {
                let is_type = |specifier: &ImportDeclarationSpecifier<'_>| matches!(specifier, ImportDeclarationSpecifier::ImportSpecifier(it) if it.import_kind == ImportOrExportKind::Type);
                let named = it.specifiers.as_ref().is_some_and(|all| !all.is_empty() && all.iter().all(is_type));
                if it.import_kind != ImportOrExportKind::Type && !named {
                    return Err(nothing_to_import(&it.source.value, span));
                }
                blank(&mut bytes, span, b";");
            }
            Statement::TSImportEqualsDeclaration(it) => {
                if let TSModuleReference::ExternalModuleReference(module) = &it.module_reference {
                    return Err(nothing_to_import(&module.expression.value, span));
                }
            }
            Statement::ExportAllDeclaration(it) => return Err(nothing_to_import(&it.source.value, span)),
            Statement::ExportFromDeclaration(it) => return Err(nothing_to_import(&it.source.value, span)),
            Statement::ExportDeclaration(it) => {
                functions.extend(functions_of(&it.declaration));
                blank(&mut bytes, Span::new(span.start, it.declaration.span().start), b"");
            }
            Statement::ExportNamedDeclaration(it) => {
                let default = it.specifiers.iter().find(|specifier| name_of(&specifier.exported) == Some("default"));
                if let Some(name) = default.and_then(|specifier| name_of(&specifier.local)) {
                    entry = Some(name.to_owned());
                }
                blank(&mut bytes, span, b";");
            }
            Statement::ExportDefaultDeclaration(it) => entry = default_export(code, it, &mut bytes)?.or(entry),
            _ => {}
        }
    }
    // Only ASCII was written, over whole tokens.
    let rewritten = String::from_utf8(bytes).unwrap_or_else(|_| code.to_owned());
    let function = if functions.len() == 1 { functions.pop() } else { None };
    let exports = Exports { default: entry, function };
    Ok((rewritten != code).then_some(Rewritten { code: rewritten, exports }))
}

/// The names of the functions that an exported declaration declares.
fn functions_of(declaration: &Declaration<'_>) -> Vec<String> {
    match declaration {
        Declaration::FunctionDeclaration(it) => it.id.iter().map(|id| id.name.to_string()).collect(),
        Declaration::VariableDeclaration(it) => {
            let functions = it.declarations.iter().filter(|it| it.init.as_ref().is_some_and(is_function));
            functions.filter_map(|it| Some(it.id.get_identifier_name()?.to_string())).collect()
        }
        _ => Vec::new(),
    }
}

fn nothing_to_import(module: &str, span: Span) -> Fault {
    let name: String = module.chars().take(80).collect();
    let message = format!("there is no module '{name}' to import");
    Fault::new(ErrorCode::UnsupportedOperation, message, span.start as usize).with_hint(NO_MODULES_HINT)
}

fn name_of<'n>(name: &'n ModuleExportName<'_>) -> Option<&'n str> {
    match name {
        ModuleExportName::IdentifierName(it) => Some(it.name.as_str()),
        ModuleExportName::IdentifierReference(it) => Some(it.name.as_str()),
        ModuleExportName::StringLiteral(_) => None,
    }
}

/// Turns a default export into a declaration, and returns its name.
fn default_export(
    code: &str,
    export: &ExportDefaultDeclaration<'_>,
    bytes: &mut [u8],
) -> Result<Option<String>, Fault> {
    let start = export.span.start;
    let value = Span::new(start, export.declaration.span().start);
    Ok(match &export.declaration {
        ExportDefaultDeclarationKind::FunctionDeclaration(function) => {
            if let Some(name) = &function.id {
                blank(bytes, value, b"");
                return Ok(Some(name.name.to_string()));
            }
            let name = unused_name(code);
            let head = format!("{} {name}", head_of(function));
            blank(bytes, Span::new(start, parameters_of(function)), head.as_bytes());
            Some(name.to_owned())
        }
        ExportDefaultDeclarationKind::ClassDeclaration(it) => {
            let fault = Fault::new(ErrorCode::SyntaxError, "a class cannot be the script", it.span.start as usize);
            return Err(fault.with_hint("Export a function: `export default async () => { … }`. Nothing has run."));
        }
        ExportDefaultDeclarationKind::TSInterfaceDeclaration(_) => {
            blank(bytes, value, b"");
            None
        }
        _ => {
            let name = unused_name(code);
            blank(bytes, value, format!("var {name}=").as_bytes());
            Some(name.to_owned())
        }
    })
}

fn head_of(function: &Function<'_>) -> &'static str {
    match (function.r#async, function.generator) {
        (false, false) => "function",
        (true, false) => "async function",
        (false, true) => "function*",
        (true, true) => "async function*",
    }
}

fn parameters_of(function: &Function<'_>) -> u32 {
    function.type_parameters.as_ref().map_or(function.params.span.start, |it| it.span.start)
}

/// A name that the code does not use, short enough to replace `export default`.
fn unused_name(code: &str) -> &'static str {
    const NAMES: &[&str] = &["$default", "$export", "$exported", "_default_", "$$default", "$result_"];
    NAMES.iter().copied().find(|name| !code.contains(name)).unwrap_or("$_$_$_$")
}

/// Overwrites the span with the text, padded with spaces; line ends after the text are preserved.
fn blank(bytes: &mut [u8], span: Span, text: &[u8]) {
    let place = &mut bytes[span.start as usize..span.end as usize];
    for (index, byte) in place.iter_mut().enumerate() {
        match text.get(index) {
            Some(written) => *byte = *written,
            None if matches!(byte, b'\n' | b'\r') => {}
            None => *byte = b' ',
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exports_become_declarations_of_the_same_length() {
        let rows = [
            ("export default 1", "var $default=  1", Some("$default")),
            ("export default async () => {}", "var $default=  async () => {}", Some("$default")),
            ("export default\n{a: 1}", "var $default= \n{a: 1}", Some("$default")),
            ("export default async function main() {}", "               async function main() {}", Some("main")),
            ("export default function () {}", "function $default       () {}", Some("$default")),
            ("export default function* () {}", "function* $default       () {}", Some("$default")),
            ("const $default = 1\nexport default 2", "const $default = 1\nvar $export=   2", Some("$export")),
            ("export const a = 1", "       const a = 1", None),
            ("export {main as default, b}", ";                          ", Some("main")),
            ("import type {A} from 'a'\n1", ";                       \n1", None),
            ("import {type A} from 'a'", ";                       ", None),
            ("export interface A {}", "       interface A {}", None),
        ];
        for (code, expected, entry) in rows {
            let exports = Exports { default: entry.map(Into::into), function: None };
            let rewritten = Rewritten { code: expected.into(), exports };
            assert_eq!(rewrite(code), Ok(Some(rewritten)), "{code}");
        }
        let functions = [
            ("export const run = async () => 1", Some("run")),
            ("export async function run() {}\nexport const a = 1", Some("run")),
            ("export const a = 1, f = (() => 1)", Some("f")),
            ("export function a() {}\nexport const b = () => 1", None),
            ("export const {a} = f()", None),
        ];
        for (code, function) in functions {
            let exports = rewrite(code).unwrap().unwrap().exports;
            assert_eq!(exports, Exports { default: None, function: function.map(Into::into) }, "{code}");
        }
        assert_eq!(rewrite("a.export; 'import x'"), Ok(None));
    }

    #[test]
    fn imports_say_what_to_use_instead() {
        for code in [
            "import {chromium} from 'playwright'",
            "import x from 'x'",
            "import 'x'",
            "export * from 'x'",
            "export {a} from 'x'",
            "import fs = require('fs')",
        ] {
            let fault = rewrite(code).unwrap_err();
            assert_eq!(fault.code, ErrorCode::UnsupportedOperation, "{code}");
            assert_eq!(fault.hint.as_deref(), Some(NO_MODULES_HINT));
        }
        assert_eq!(rewrite("export default class {}").unwrap_err().code, ErrorCode::SyntaxError);
    }
}
