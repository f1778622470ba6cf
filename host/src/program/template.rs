//! Repairs arrow functions whose body is an expression that ends with a template. The engine loses the text after the
//! template's last substitution when it converts such a function to a string, and functions are sent to pages as
//! strings: `page.evaluate((name) => `Hello ${name}!`, "Ada")`. Parentheses around the body preserve its end.

use oxc::{
    ast::ast::{ArrowFunctionBody, ArrowFunctionExpression, Program},
    ast_visit::{Visit, walk::walk_arrow_function_expression},
    span::GetSpan,
};
use std::borrow::Cow;

/// The insertions: byte offsets of the program's text, and the texts to insert before them.
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
