//! Determines a script's result: brings the forms in which models write code to a single one.
//!
//! The result of a script is what `eval` would return, where that can be achieved by a `return` before the last
//! expression. A function as the result is called.

use oxc::{
    ast::ast::{AssignmentTarget, Expression, FunctionBody, Statement},
    semantic::Scoping,
    span::{GetSpan, Span},
    syntax::scope::ScopeId,
};
use std::borrow::Cow;

/// The exports of a module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Exports {
    /// The name of the default export.
    pub default: Option<String>,
    /// The name of the only exported function.
    pub function: Option<String>,
}

/// The names in the script.
pub(super) struct Scope<'s> {
    pub scoping: &'s Scoping,
    /// The scope of the function that wraps the code.
    pub function: Option<ScopeId>,
}

/// The insertions that make the body return its result.
#[derive(Debug, Default)]
pub(super) struct Completion {
    /// Inserted at the beginning.
    pub head: &'static str,
    /// Insertions in between: the byte offset before which the text goes, and the text.
    pub inserts: Vec<(u32, Cow<'static, str>)>,
    /// Inserted at the end.
    pub tail: Cow<'static, str>,
}

/// The entry function, which is called if the script does not call it.
const MAIN: &str = "main";
const RETURN: &str = "return (";
/// Wraps a value that may be a function, which is then called.
const CALLED: (&str, &str) = ("((f) => typeof f === 'function' ? f() : f)(", ")");

/// The single function of which the code consists, if it does: an expression, or a declaration that nothing calls.
pub(super) fn callable(body: &FunctionBody<'_>) -> Option<Span> {
    if !body.directives.is_empty() {
        return None;
    }
    let mut statements = body.statements.iter().filter(|it| !matches!(it, Statement::EmptyStatement(_)));
    match (statements.next(), statements.next()) {
        (Some(Statement::FunctionDeclaration(function)), None) => Some(function.span),
        (Some(Statement::ExpressionStatement(only)), None) if is_function(&only.expression) => {
            Some(only.expression.span())
        }
        _ => None,
    }
}

/// Determines how the body returns its result.
pub(super) fn completion(body: &FunctionBody<'_>, scope: &Scope<'_>, exports: &Exports) -> Completion {
    let mut completion = Completion::default();
    if let Some(name) = &exports.default {
        completion.tail = called(name).into();
        return completion;
    }
    if exports_as_common_js(body, scope) {
        completion.head = "const module = {exports: {}}; ";
        completion.tail = called("module.exports").into();
        return completion;
    }
    // Code that consists of a string alone is parsed as a directive.
    if body.statements.is_empty() {
        if let Some(directive) = body.directives.last() {
            insert_return(directive.expression.span, false, &mut completion);
        }
        return completion;
    }
    let last = last_of(&body.statements);
    if let Some(last) = last {
        complete(last, &mut completion);
    }
    if completion.inserts.is_empty() && last.is_none_or(is_declaration) {
        let entries = exports.function.as_deref().into_iter().chain([MAIN]);
        if let Some(name) = entries.into_iter().find(|name| is_unreferenced(name, body, scope)) {
            completion.tail = format!("\n;return {name}()").into();
        } else if last.is_none()
            && let [Statement::FunctionDeclaration(only)] = &body.statements[..]
            && let Some(name) = &only.id
        {
            completion.tail = format!("\n;return {}()", name.name).into();
        }
    }
    completion
}

/// The last statement that has an effect when executed.
fn last_of<'s, 'a>(statements: &'s [Statement<'a>]) -> Option<&'s Statement<'a>> {
    let idle = |it: &&Statement<'_>| matches!(it, Statement::EmptyStatement(_) | Statement::FunctionDeclaration(_));
    statements.iter().rev().find(|statement| !idle(statement))
}

/// Makes the statement's value the result. No `await` is needed: the body's return value is awaited, and a `try` does
/// not catch the rejection of a promise that it does not await.
fn complete(statement: &Statement<'_>, completion: &mut Completion) {
    match statement {
        Statement::ExpressionStatement(it) => {
            insert_return(it.expression.span(), may_be_function(&it.expression), completion)
        }
        Statement::ReturnStatement(it) => {
            if let Some(value) = it.argument.as_ref().filter(|value| may_be_function(value)) {
                completion.inserts.push((value.span().start, CALLED.0.into()));
                completion.inserts.push((value.span().end, CALLED.1.into()));
            }
        }
        Statement::BlockStatement(it) => complete_list(&it.body, completion),
        Statement::IfStatement(it) => {
            complete(&it.consequent, completion);
            if let Some(alternate) = &it.alternate {
                complete(alternate, completion);
            }
        }
        Statement::TryStatement(it) => {
            complete_list(&it.block.body, completion);
            if let Some(handler) = &it.handler {
                complete_list(&handler.body.body, completion);
            }
        }
        _ => {}
    }
}

fn complete_list(statements: &[Statement<'_>], completion: &mut Completion) {
    if let Some(last) = last_of(statements) {
        complete(last, completion);
    }
}

fn insert_return(span: Span, may_be_function: bool, completion: &mut Completion) {
    let (open, close) = if may_be_function { CALLED } else { ("", "") };
    completion.inserts.push((span.start, [RETURN, open].concat().into()));
    completion.inserts.push((span.end, [close, ")"].concat().into()));
}

fn called(name: &str) -> String {
    format!("\n;return {}{name}{}", CALLED.0, CALLED.1)
}

fn bare<'e, 'a>(mut expression: &'e Expression<'a>) -> &'e Expression<'a> {
    while let Expression::ParenthesizedExpression(inner) = expression {
        expression = &inner.expression;
    }
    expression
}

pub(super) fn is_function(expression: &Expression<'_>) -> bool {
    matches!(bare(expression), Expression::ArrowFunctionExpression(_) | Expression::FunctionExpression(_))
}

fn may_be_function(expression: &Expression<'_>) -> bool {
    is_function(expression) || matches!(bare(expression), Expression::Identifier(_))
}

fn is_declaration(statement: &Statement<'_>) -> bool {
    matches!(statement, Statement::VariableDeclaration(_) | Statement::ClassDeclaration(_))
}

/// Whether the script declares a function of this name and never refers to it.
fn is_unreferenced(name: &str, body: &FunctionBody<'_>, scope: &Scope<'_>) -> bool {
    let symbol = scope.function.and_then(|function| scope.scoping.get_binding(function, name.into()));
    if !symbol.is_some_and(|symbol| scope.scoping.symbol_is_unused(symbol)) {
        return false;
    }
    let declares = |statement: &Statement<'_>| match statement {
        Statement::FunctionDeclaration(function) => function.id.as_ref().is_some_and(|id| id.name == name),
        Statement::VariableDeclaration(it) => it.declarations.iter().any(|declarator| {
            declarator.id.get_identifier_name().is_some_and(|declared| declared == name)
                && declarator.init.as_ref().is_some_and(is_function)
        }),
        _ => false,
    };
    body.statements.iter().any(declares)
}

/// Whether the script assigns to `module.exports` and declares no `module`.
fn exports_as_common_js(body: &FunctionBody<'_>, scope: &Scope<'_>) -> bool {
    let assigns = |statement: &Statement<'_>| {
        let Statement::ExpressionStatement(statement) = statement else { return false };
        let Expression::AssignmentExpression(assignment) = &statement.expression else { return false };
        let AssignmentTarget::StaticMemberExpression(target) = &assignment.left else { return false };
        target.property.name == "exports"
            && matches!(&target.object, Expression::Identifier(object) if object.name == "module")
    };
    body.statements.iter().any(assigns)
        && scope.function.is_none_or(|function| scope.scoping.get_binding(function, "module".into()).is_none())
}
