//! Repairs `this` in an arrow function within an arrow function. The engine captures a function's `this` only for the
//! arrow functions directly inside it that mention `this`. If only a nested arrow function mentions it, nothing is
//! captured, and `this` is that of an enclosing function or the global object: `list.map((row) => row.map((cell) =>
//! this.format(cell)))` would not find its method. So a mention of `this`, which is never evaluated, is inserted into
//! the outermost arrow function.

use oxc::{
    ast::ast::{
        ArrowFunctionBody, ArrowFunctionExpression, Function, Program, PropertyDefinition, StaticBlock, ThisExpression,
    },
    ast_visit::{
        Visit,
        walk::{walk_arrow_function_expression, walk_function, walk_static_block},
    },
    span::GetSpan,
    syntax::scope::ScopeFlags,
};
use std::borrow::Cow;

/// The insertions: byte offsets of the program's text, and the texts to insert before them.
pub(super) fn inserts(program: &Program<'_>) -> Vec<(u32, Cow<'static, str>)> {
    // Most scripts need no walk.
    if !program.source_text.contains("this") {
        return Vec::new();
    }
    let mut arrows = Arrows::default();
    arrows.visit_program(program);
    arrows.inserts
}

/// The innermost construct that determines `this` at the current node.
#[derive(Clone, Copy, Debug, Default)]
enum Around {
    /// Only the program.
    #[default]
    Program,
    /// A function, a method, or a field's initialiser.
    Receiver,
    /// An arrow function.
    Arrow(Mentions),
}

/// Where an arrow function mentions `this`.
#[derive(Clone, Copy, Debug, Default)]
struct Mentions {
    itself: bool,
    further_inside: bool,
}

#[derive(Default)]
struct Arrows {
    around: Around,
    inserts: Vec<(u32, Cow<'static, str>)>,
}

impl Arrows {
    /// Walks the inside of a construct, and returns what the walk has recorded for it.
    fn within(&mut self, inner: Around, walk: impl FnOnce(&mut Self)) -> Around {
        let outer = std::mem::replace(&mut self.around, inner);
        walk(self);
        std::mem::replace(&mut self.around, outer)
    }

    fn mention_in(&mut self, body: &ArrowFunctionBody<'_>) {
        match body {
            ArrowFunctionBody::FunctionBody(body) => match body.directives.last() {
                Some(directive) => self.inserts.push((directive.span.end, ";if(0)this;".into())),
                None => self.inserts.push((body.span.start + 1, "if(0)this;".into())),
            },
            expression => {
                self.inserts.push((expression.span().start, "(0&&this,".into()));
                self.inserts.push((expression.span().end, ")".into()));
            }
        }
    }
}

impl<'a> Visit<'a> for Arrows {
    fn visit_this_expression(&mut self, _: &ThisExpression) {
        if let Around::Arrow(mentions) = &mut self.around {
            mentions.itself = true;
        }
    }

    fn visit_arrow_function_expression(&mut self, it: &ArrowFunctionExpression<'a>) {
        let is_outermost = matches!(self.around, Around::Receiver);
        let inner = Around::Arrow(Mentions::default());
        let inner = self.within(inner, |walker| walk_arrow_function_expression(walker, it));
        let Around::Arrow(mentions) = inner else { return };
        if let Around::Arrow(around) = &mut self.around {
            around.further_inside |= mentions.itself || mentions.further_inside;
        }
        if is_outermost && mentions.further_inside && !mentions.itself {
            self.mention_in(&it.body);
        }
    }

    fn visit_function(&mut self, it: &Function<'a>, flags: ScopeFlags) {
        self.within(Around::Receiver, |walker| walk_function(walker, it, flags));
    }

    fn visit_property_definition(&mut self, it: &PropertyDefinition<'a>) {
        self.visit_property_key(&it.key);
        if let Some(value) = &it.value {
            self.within(Around::Receiver, |walker| walker.visit_expression(value));
        }
    }

    fn visit_static_block(&mut self, it: &StaticBlock<'a>) {
        self.within(Around::Receiver, |walker| walk_static_block(walker, it));
    }
}
