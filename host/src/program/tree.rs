//! Surveys a syntax tree before anything else walks it: its depth, and the features that the sandbox lacks.

use super::fault::{Fault, NO_MODULES_HINT};
use codemode_spec::ErrorCode;
use oxc::{
    ast::ast::{
        ArrowFunctionExpression, BinaryExpression, BindingPattern, Class, Decorator, Expression, Function,
        IdentifierReference, ImportExpression, MethodDefinition, ObjectExpression, ObjectPropertyKind, Program,
        PropertyKey, Statement, TSNamespaceDeclaration, TSType, TSTypeName, VariableDeclaration,
    },
    ast_visit::{
        Visit,
        walk::{
            walk_arrow_function_expression, walk_binary_expression, walk_binding_pattern, walk_class, walk_expression,
            walk_function, walk_object_expression, walk_statement, walk_ts_namespace_declaration, walk_ts_type,
            walk_ts_type_name, walk_variable_declaration,
        },
    },
    span::GetSpan,
    syntax::{operator::BinaryOperator, scope::ScopeFlags},
};

/// The deepest nesting of expressions, statements and types. Later tree walks need stack for each level. A sum of that
/// many terms is more than the engine can evaluate, and does not occur in real scripts.
pub(super) const TREE_DEPTH_MAX: usize = 6_000;

/// The findings of a walk over the tree. Offsets are those of the tree's spans.
#[derive(Debug, Default)]
pub(super) struct Survey {
    depth: usize,
    /// Where the tree is too deep. The nodes below were not visited.
    too_deep: Option<u32>,
    import_call: Option<u32>,
    decorator: Option<u32>,
    using: Option<u32>,
    /// A function, a class or `arguments` in the computed name of a class's method: the engine does not resolve
    /// variables there, and breaks.
    function_in_method_name: Option<u32>,
    in_method_name: bool,
    /// An object literal or a class without a prototype that defines a conversion: the engine gives a wrong result when
    /// the conversion recurses into it.
    converted_without_prototype: Option<u32>,
    /// Whether `a<b>(c)` occurs: two comparisons in JavaScript, a generic call in TypeScript, and no author means the
    /// former.
    pub generic_call: bool,
}

impl Survey {
    pub fn of(program: &Program<'_>) -> Self {
        let mut survey = Self::default();
        survey.visit_program(program);
        survey
    }

    /// The reason why the program cannot run, if any. `shift` is the offset of the code in the parsed text.
    pub fn fault(&self, shift: usize) -> Option<Fault> {
        let at = |offset: u32| (offset as usize).saturating_sub(shift);
        if let Some(offset) = self.too_deep {
            let message =
                format!("the script nests an expression or a statement more than {TREE_DEPTH_MAX} levels deep");
            return Some(Fault::new(ErrorCode::SourceTooNested, message, at(offset)));
        }
        if let Some(offset) = self.import_call {
            let fault = Fault::new(ErrorCode::UnsupportedOperation, "import() has nothing to import", at(offset));
            return Some(fault.with_hint(NO_MODULES_HINT));
        }
        if let Some(offset) = self.using {
            let fault = Fault::new(ErrorCode::SyntaxError, "using declarations are not supported", at(offset));
            return Some(fault.with_hint(
                "Declare it with const and dispose of it in finally: `const x = open(); try { … } finally { x.close() }`. \
                 Nothing has run.",
            ));
        }
        if let Some(offset) = self.function_in_method_name {
            let message =
                "a function, a class or `arguments` in the computed name of a class's method is not supported";
            let fault = Fault::new(ErrorCode::SyntaxError, message, at(offset));
            return Some(fault.with_hint(
                "Compute the name before the class: `const name = keys.find((key) => …); class A { [name]() {} }`. \
                 Nothing has run.",
            ));
        }
        if let Some(offset) = self.converted_without_prototype {
            let message = "a toString or valueOf of an object that is written without a prototype is not supported";
            let fault = Fault::new(ErrorCode::SyntaxError, message, at(offset));
            return Some(fault.with_hint(
                "Leave out `__proto__: null` or `extends null`, or take the prototype away afterwards: \
                 `Object.setPrototypeOf(object, null)`. Nothing has run.",
            ));
        }
        self.decorator.map(|offset| {
            Fault::new(ErrorCode::SyntaxError, "decorators are not supported", at(offset))
                .with_hint("Apply the decorator as a plain function call instead; nothing has run.")
        })
    }

    fn function_at(&mut self, offset: u32) {
        if self.in_method_name {
            self.function_in_method_name.get_or_insert(offset);
        }
    }

    fn enter(&mut self, offset: impl FnOnce() -> u32) -> bool {
        if self.depth >= TREE_DEPTH_MAX {
            self.too_deep.get_or_insert_with(offset);
            return false;
        }
        self.depth += 1;
        true
    }
}

/// Whether a key names a method that converts an object to a primitive value.
fn is_conversion(key: &PropertyKey<'_>) -> bool {
    ["toString", "valueOf"].iter().any(|name| key.is_specific_static_name(name))
}

fn is_null(expression: &Expression<'_>) -> bool {
    matches!(expression.without_parentheses(), Expression::NullLiteral(_))
}

impl<'a> Visit<'a> for Survey {
    fn visit_expression(&mut self, it: &Expression<'a>) {
        if self.enter(|| it.span().start) {
            walk_expression(self, it);
            self.depth -= 1;
        }
    }

    fn visit_statement(&mut self, it: &Statement<'a>) {
        if self.enter(|| it.span().start) {
            walk_statement(self, it);
            self.depth -= 1;
        }
    }

    fn visit_binding_pattern(&mut self, it: &BindingPattern<'a>) {
        if self.enter(|| it.span().start) {
            walk_binding_pattern(self, it);
            self.depth -= 1;
        }
    }

    fn visit_ts_type(&mut self, it: &TSType<'a>) {
        if self.enter(|| it.span().start) {
            walk_ts_type(self, it);
            self.depth -= 1;
        }
    }

    fn visit_ts_type_name(&mut self, it: &TSTypeName<'a>) {
        if self.enter(|| it.span().start) {
            walk_ts_type_name(self, it);
            self.depth -= 1;
        }
    }

    fn visit_ts_namespace_declaration(&mut self, it: &TSNamespaceDeclaration<'a>) {
        if self.enter(|| it.span.start) {
            walk_ts_namespace_declaration(self, it);
            self.depth -= 1;
        }
    }

    fn visit_import_expression(&mut self, it: &ImportExpression<'a>) {
        self.import_call.get_or_insert(it.span.start);
    }

    fn visit_variable_declaration(&mut self, it: &VariableDeclaration<'a>) {
        if it.kind.is_using() || it.kind.is_await() {
            self.using.get_or_insert(it.span.start);
        }
        walk_variable_declaration(self, it);
    }

    fn visit_method_definition(&mut self, it: &MethodDefinition<'a>) {
        self.visit_decorators(&it.decorators);
        let around = std::mem::replace(&mut self.in_method_name, it.computed);
        self.visit_property_key(&it.key);
        self.in_method_name = around;
        self.visit_function(&it.value, ScopeFlags::Function);
    }

    fn visit_function(&mut self, it: &Function<'a>, flags: ScopeFlags) {
        self.function_at(it.span.start);
        walk_function(self, it, flags);
    }

    fn visit_arrow_function_expression(&mut self, it: &ArrowFunctionExpression<'a>) {
        self.function_at(it.span.start);
        walk_arrow_function_expression(self, it);
    }

    fn visit_object_expression(&mut self, it: &ObjectExpression<'a>) {
        let properties = || it.properties.iter().filter_map(ObjectPropertyKind::as_property).filter(|it| !it.computed);
        let has_none =
            properties().any(|it| !it.method && it.key.is_specific_static_name("__proto__") && is_null(&it.value));
        if has_none && properties().any(|it| is_conversion(&it.key)) {
            self.converted_without_prototype.get_or_insert(it.span.start);
        }
        walk_object_expression(self, it);
    }

    fn visit_class(&mut self, it: &Class<'a>) {
        self.function_at(it.span.start);
        let has_none = it.heritage.as_ref().is_some_and(|heritage| is_null(&heritage.expression));
        let mut keys =
            it.body.body.iter().filter(|it| !it.r#static() && !it.computed()).filter_map(|it| it.property_key());
        if has_none && keys.any(is_conversion) {
            self.converted_without_prototype.get_or_insert(it.span.start);
        }
        walk_class(self, it);
    }

    fn visit_identifier_reference(&mut self, it: &IdentifierReference<'a>) {
        if it.name == "arguments" {
            self.function_at(it.span.start);
        }
    }

    fn visit_decorator(&mut self, it: &Decorator<'a>) {
        self.decorator.get_or_insert(it.span.start);
    }

    fn visit_binary_expression(&mut self, it: &BinaryExpression<'a>) {
        if it.operator == BinaryOperator::GreaterThan
            && let Expression::BinaryExpression(left) = &it.left
            && left.operator == BinaryOperator::LessThan
            && matches!(it.right, Expression::ParenthesizedExpression(_))
        {
            self.generic_call = true;
        }
        walk_binary_expression(self, it);
    }
}
