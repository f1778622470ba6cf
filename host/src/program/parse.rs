//! The parser, and what it has to say of a source that it does not accept.

use super::{form, module::Exports, position::Step, tree::Survey};
use codemode_spec::ErrorCode;
use oxc::{
    allocator::Allocator,
    ast::ast::{ArrowFunctionBody, ArrowFunctionExpression, Expression, Program, Statement},
    diagnostics::{Diagnostics, OxcDiagnostic},
    parser::{ParseOptions, Parser, ParserReturn},
    semantic::SemanticBuilder,
    span::{LabeledSpan, SourceType},
};
use std::borrow::Cow;

/// What to do instead of importing.
pub(super) const NO_MODULES_HINT: &str = "There are no modules in the sandbox: remove the import and use the namespaces \
     that the tool describes and the built-in globals (URL, TextEncoder, crypto, structuredClone, setTimeout …).";

/// Why a source is refused, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub code: ErrorCode,
    pub message: String,
    pub hint: Option<Cow<'static, str>>,
    /// The byte of the code.
    pub offset: usize,
}

impl Fault {
    pub fn new(code: ErrorCode, message: impl Into<String>, offset: usize) -> Self {
        Self { code, message: message.into(), hint: None, offset }
    }

    pub fn with_hint(mut self, hint: impl Into<Cow<'static, str>>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// The first of the diagnostics. `shift` is what their spans are ahead of the code, `length` the code's.
pub(super) fn fault_of(diagnostics: &Diagnostics, shift: usize, length: usize) -> Option<Fault> {
    let redeclared = |it: &&LabeledSpan| it.label().is_some_and(|label| label.contains("redeclared"));
    let offset = |it: &OxcDiagnostic| {
        let label = it.labels.iter().find(redeclared).or(it.labels.first());
        label.map_or(0, LabeledSpan::offset) as usize
    };
    let first = diagnostics.errors().min_by_key(|diagnostic| offset(diagnostic))?;
    let at = offset(first).saturating_sub(shift).min(length);
    let mut fault = Fault::new(ErrorCode::SyntaxError, first.message.to_string(), at);
    if let Some(help) = first.help.as_ref().filter(|help| !help.is_empty()) {
        fault.hint = Some(format!("{}. Nothing has run.", help.trim_end_matches('.')).into());
    }
    if fault.message.contains("import.meta") {
        fault.hint = Some(NO_MODULES_HINT.into());
    }
    Some(fault)
}

/// Why a source is no body of a script.
#[derive(Debug)]
pub(super) enum Refused {
    /// It does not parse. As TypeScript it may, or with something around it.
    Syntax(Fault),
    /// It parses and cannot run all the same; no other reading helps.
    Final(Fault),
}

/// A script for the guest, and the steps that led to it.
#[derive(Debug)]
pub(super) struct Prepared {
    pub source: String,
    pub steps: Vec<Step>,
    /// Whether it may well have been meant as TypeScript, see [`Survey::generic_call`].
    pub generic_call: bool,
}

impl Prepared {
    /// With the steps that were made before.
    pub fn after(mut self, steps: impl IntoIterator<Item = Step>) -> Self {
        self.steps.splice(0..0, steps);
        self
    }
}

/// Parses, without looking further.
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

/// What the code stands in while it is parsed, and when it runs: there `await` and `return` are allowed, and the code is
/// as sloppy as any script. On the same line, so that line numbers stay.
const HEAD: &str = "(async () => {";
const TAIL: &str = "\n})";

/// Makes the script of JavaScript code, the result of which may be what it exports.
pub(super) fn script(code: &str, exports: &Exports, patterns: bool) -> Result<Prepared, Refused> {
    let whole = [HEAD, code, TAIL].concat();
    let allocator = Allocator::default();
    let parsed = parse(&allocator, &whole, SourceType::script(), patterns);
    let fault = |diagnostics: &Diagnostics| fault_of(diagnostics, HEAD.len(), code.len());
    if let Some(fault) = fault(&parsed.diagnostics) {
        return Err(Refused::Syntax(fault));
    }
    let Some(function) = function_of(&parsed.program) else {
        // The code closed a bracket that it had not opened. Parsed on its own, that is found.
        return Err(Refused::Syntax(Fault::new(ErrorCode::SyntaxError, "Unexpected token", code.len())));
    };
    let ArrowFunctionBody::FunctionBody(body) = &function.body else {
        return Err(Refused::Syntax(Fault::new(ErrorCode::SyntaxError, "Unexpected token", code.len())));
    };
    let survey = Survey::of(&parsed.program);
    if let Some(fault) = survey.fault(HEAD.len()) {
        return Err(Refused::Final(fault));
    }
    let semantic = SemanticBuilder::new_compiler().build(&parsed.program);
    if let Some(fault) = fault(&semantic.diagnostics) {
        return Err(Refused::Final(fault));
    }
    let scope = form::Scope { scoping: semantic.semantic.scoping(), function: function.scope_id.get() };
    let inserts = match form::callable(body) {
        Some(span) if exports.default.is_none() => {
            let at = |offset: u32| (offset as usize).saturating_sub(HEAD.len());
            vec![(at(span.start), "(".into()), (at(span.end), ")".into())]
        }
        _ => {
            let completion = form::completion(body, &scope, exports);
            let mut inserts = vec![(0, Cow::Borrowed(HEAD)), (0, completion.head.into())];
            inserts.extend(completion.inserts.into_iter().map(|(at, text)| (at as usize - HEAD.len(), text)));
            inserts.push((code.len(), completion.tail));
            inserts.push((code.len(), TAIL.into()));
            inserts
        }
    };
    let (source, step) = Step::insert(code, inserts);
    Ok(Prepared { source, steps: vec![step], generic_call: survey.generic_call })
}

/// The function that was put around the code, unless the code closed it.
fn function_of<'p, 'a>(program: &'p Program<'a>) -> Option<&'p ArrowFunctionExpression<'a>> {
    let [Statement::ExpressionStatement(statement)] = &program.body[..] else { return None };
    let Expression::ParenthesizedExpression(parens) = &statement.expression else { return None };
    match &parens.expression {
        Expression::ArrowFunctionExpression(function)
            if function.span.end as usize + 1 == program.source_text.len() =>
        {
            Some(function)
        }
        _ => None,
    }
}

/// The best explanation of why the code is not accepted. Parsed on its own, unclosed brackets are told apart from what
/// stands around the code when it runs.
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
    // Whichever reading got further is more likely the one that was meant.
    match fault_as(SourceType::ts().with_module(true)) {
        Some(typescript) if typescript.offset > javascript.offset => typescript,
        _ => javascript,
    }
}
