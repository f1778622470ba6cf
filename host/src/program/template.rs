//! An arrow function whose body is an expression that ends with a template. The engine loses what comes after the template's
//! last substitution from the text of such a function, and the texts of functions go to pages, where they are evaluated:
//! `page.evaluate((name) => `Hello ${name}!`, "Ada")`. In parentheses the body keeps its end.

use oxc::{
    ast::ast::{ArrowFunctionBody, ArrowFunctionExpression, Program},
    ast_visit::{Visit, walk::walk_arrow_function_expression},
    span::GetSpan,
};
use std::borrow::Cow;

/// Before which byte of the program's text what is put in.
pub(super) fn inserts(program: &Program<'_>) -> Vec<(u32, Cow<'static, str>)> {
    // Most scripts need no walk.
    if !program.source_text.contains("${") {
        return Vec::new();
    }
    let mut bodies = Bodies { text: program.source_text, inserts: Vec::new() };
    bodies.visit_program(program);
    bodies.inserts
}

struct Bodies<'a> {
    text: &'a str,
    inserts: Vec<(u32, Cow<'static, str>)>,
}

impl<'a> Visit<'a> for Bodies<'_> {
    fn visit_arrow_function_expression(&mut self, it: &ArrowFunctionExpression<'a>) {
        if !matches!(it.body, ArrowFunctionBody::FunctionBody(_)) {
            let span = it.body.span();
            let body = &self.text[span.start as usize..span.end as usize];
            if body.ends_with('`') && body.contains("${") {
                self.inserts.extend([(span.start, "(".into()), (span.end, ")".into())]);
            }
        }
        walk_arrow_function_expression(self, it);
    }
}
