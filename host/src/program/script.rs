//! Makes the script that the guest evaluates from code that parses.

use super::{
    fault::{Fault, fault_of},
    form::{self, Exports},
    parse::parse,
    position::Step,
    receiver, template,
    tree::Survey,
};
use codemode_spec::ErrorCode;
use oxc::{
    allocator::Allocator,
    ast::ast::{ArrowFunctionBody, ArrowFunctionExpression, Expression, Program, Statement},
    diagnostics::Diagnostics,
    semantic::SemanticBuilder,
    span::SourceType,
};
use std::borrow::Cow;

/// A script's file name in stack traces.
pub const SOURCE_NAME: &str = "script.js";

/// Why code cannot be the body of a script.
#[derive(Debug)]
pub(super) enum Refused {
    /// It does not parse. It may parse as TypeScript, or as an expression.
    Syntax(Fault),
    /// It parses but cannot run; no other reading helps.
    Final(Fault),
}

/// A script for the guest, and the transformations that led to it.
#[derive(Debug)]
pub(super) struct Prepared {
    pub source: String,
    pub steps: Vec<Step>,
    /// Whether it was probably meant as TypeScript, see [`Survey::generic_call`].
    pub generic_call: bool,
}

impl Prepared {
    /// Prepends earlier transformations.
    pub fn after(mut self, steps: impl IntoIterator<Item = Step>) -> Self {
        self.steps.splice(0..0, steps);
        self
    }
}

/// The wrapper around the code, for parsing and for running: it allows `await` and `return`, and does not make the code
/// strict. It is on the same line, so that line numbers do not change.
const HEAD: &str = "(async () => {";
const TAIL: &str = "\n})";

/// Makes the script from JavaScript code, whose result may be one of its exports.
pub(super) fn script(code: &str, exports: &Exports, patterns: bool) -> Result<Prepared, Refused> {
    let whole = [HEAD, code, TAIL].concat();
    let allocator = Allocator::default();
    let parsed = parse(&allocator, &whole, SourceType::script(), patterns);
    let fault = |diagnostics: &Diagnostics| fault_of(diagnostics, HEAD.len(), code.len());
    if let Some(fault) = fault(&parsed.diagnostics) {
        return Err(Refused::Syntax(fault));
    }
    let Some(function) = function_of(&parsed.program) else {
        // The code closes a bracket that it did not open. Parsing it without the wrapper will find that.
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
    let at = |offset: u32| (offset as usize).saturating_sub(HEAD.len());
    // Insert the repairs first: an insertion at the end of an expression belongs inside it.
    let repairs = receiver::inserts(&parsed.program).into_iter().chain(template::inserts(&parsed.program));
    let mut inserts: Vec<_> = repairs.map(|(offset, text)| (at(offset), text)).collect();
    match form::callable(body) {
        Some(span) if exports.default.is_none() => {
            inserts.extend([(at(span.start), "(".into()), (at(span.end), ")".into())]);
        }
        _ => {
            let completion = form::completion(body, &scope, exports);
            inserts.splice(0..0, [(0, Cow::Borrowed(HEAD)), (0, completion.head.into())]);
            inserts.extend(completion.inserts.into_iter().map(|(offset, text)| (at(offset), text)));
            inserts.push((code.len(), completion.tail));
            inserts.push((code.len(), TAIL.into()));
        }
    }
    let (source, step) = Step::insert(code, inserts);
    Ok(Prepared { source, steps: vec![step], generic_call: survey.generic_call })
}

/// The function that wraps the code, unless the code closed it.
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
