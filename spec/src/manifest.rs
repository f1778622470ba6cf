//! What a namespace offers: the one source of the sandbox's globals, of argument validation, of the `.d.ts` text, of the
//! tool's description and of the reference pages.

use crate::message::Layer;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// A namespace and its methods.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The global's name: an identifier that is not reserved.
    pub namespace: String,
    /// What it is for, in a sentence.
    pub doc: String,
    /// Its methods, the most useful first.
    pub methods: Vec<Method>,
    /// JavaScript that stands between the script and the methods: a script whose value is a function `(call, name,
    /// fail) => object`. It is evaluated when the sandbox image is made, never in an execution. There the function is called
    /// once, at the first use of the global, with the namespace of the methods, and what it returns is the global's value.
    /// `fail(error, code, hint)` returns the error as one of the namespace: thrown on, it is the answer's with that code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layer: Option<String>,
    /// The TypeScript declaration, where the one that is derived from the methods does not say what scripts see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declaration: Option<String>,
}

/// A method of a namespace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Method {
    /// The method's name, an identifier.
    pub name: String,
    /// What the method does, in a sentence.
    pub doc: String,
    /// The forms in which it may be called; at least one.
    pub signatures: Vec<Signature>,
    /// JSON schema of what its promise resolves to.
    pub returns: Json,
    /// What calling it can change.
    pub effect: Effect,
    /// Whether its calls accompany a script, as a wait for events does: one that has not ended when the script ends is
    /// cancelled without a warning.
    #[serde(default)]
    pub background: bool,
}

/// One form of calling a method.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Signature {
    /// Positional parameters; optional ones stand last.
    pub params: Vec<Param>,
}

/// A positional parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Param {
    /// Its name, for messages and types.
    pub name: String,
    /// JSON schema of the plain JSON form of the argument.
    pub schema: Json,
    /// Whether it may be left out.
    pub optional: bool,
}

/// What calling a method can change. Audit, approval and replay are built on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// Nothing outside the host.
    Read,
    /// The browser or what it talks to.
    Write,
    /// Something that a person should be asked about first. A host that cannot ask refuses the call.
    NeedsApproval,
}

/// The property by which an object of a layer says that it stands for something that no script has: its value says what
/// the object is and what takes it. Such an object is no argument of a call; a layer that takes one sends something else.
pub const HANDLE_PROPERTY: &str = "codemode.handle";

/// Names that a namespace cannot have: words of the language and globals of the sandbox.
pub const RESERVED_NAMES: &[&str] = &[
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "debugger",
    "default",
    "delete",
    "do",
    "else",
    "enum",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "function",
    "if",
    "implements",
    "import",
    "in",
    "instanceof",
    "interface",
    "let",
    "new",
    "null",
    "package",
    "private",
    "protected",
    "public",
    "return",
    "static",
    "super",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "var",
    "void",
    "while",
    "with",
    "yield",
    "undefined",
    "NaN",
    "Infinity",
    "arguments",
    "eval",
    "globalThis",
    "console",
    "Object",
    "Function",
    "Array",
    "String",
    "Number",
    "Boolean",
    "Symbol",
    "BigInt",
    "Math",
    "JSON",
    "Date",
    "RegExp",
    "Error",
    "Promise",
    "Proxy",
    "Reflect",
    "Map",
    "Set",
    "WeakMap",
    "WeakSet",
    "URL",
    "URLSearchParams",
    "TextEncoder",
    "TextDecoder",
    "setTimeout",
    "setInterval",
    "clearTimeout",
    "clearInterval",
    "queueMicrotask",
    "structuredClone",
    "crypto",
    "performance",
    "atob",
    "btoa",
    "fetch",
    "require",
    "process",
    "WebAssembly",
    "AbortController",
    "AbortSignal",
    "then",
];

/// Whether a name can stand after a dot and as a variable: ASCII letters, digits, `_` and `$`, no digit first.
#[must_use]
pub fn is_identifier(name: &str) -> bool {
    let mut bytes = name.bytes();
    let first = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_' || byte == b'$';
    bytes.next().is_some_and(first) && bytes.all(|byte| first(byte) || byte.is_ascii_digit())
}

impl Manifest {
    /// The layer, as it becomes part of the image.
    #[must_use]
    pub fn to_layer(&self) -> Option<Layer> {
        Some(Layer { namespace: self.namespace.clone(), source: self.layer.clone()? })
    }

    /// The namespace as a TypeScript declaration, short enough for a tool's description: its own, or one line a signature.
    #[must_use]
    pub fn to_brief_dts(&self) -> String {
        self.declaration.clone().unwrap_or_else(|| self.derived_dts())
    }

    /// The namespace as a TypeScript declaration, with everything that scripts see: one line a signature, unless a layer
    /// makes something else of the methods.
    #[must_use]
    pub fn to_dts(&self) -> String {
        if self.layer.is_some() { self.to_brief_dts() } else { self.derived_dts() }
    }

    fn derived_dts(&self) -> String {
        let mut text = format!("/** {} */\ndeclare const {}: {{\n", self.doc, self.namespace);
        for method in &self.methods {
            let refused =
                if method.effect == Effect::NeedsApproval { " Refused: it needs a person's approval." } else { "" };
            text.push_str(&format!("  /** {}{refused} */\n", method.doc));
            for signature in &method.signatures {
                let params: Vec<_> = signature
                    .params
                    .iter()
                    .map(|param| {
                        let mark = if param.optional { "?" } else { "" };
                        format!("{}{mark}: {}", param.name, ts_type(&param.schema))
                    })
                    .collect();
                let returns = ts_type(&method.returns);
                text.push_str(&format!("  {}({}): Promise<{returns}>;\n", method.name, params.join(", ")));
            }
        }
        text.push_str("};\n");
        text
    }
}

/// A JSON schema as a TypeScript type. A schema's `tsType`, where it has one, is taken as it is.
#[must_use]
pub fn ts_type(schema: &Json) -> String {
    if let Some(given) = schema.get("tsType").and_then(Json::as_str) {
        return given.to_owned();
    }
    if let Some(values) = schema.get("enum").and_then(Json::as_array) {
        return values.iter().map(Json::to_string).collect::<Vec<_>>().join(" | ");
    }
    if let Some(value) = schema.get("const") {
        return value.to_string();
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(options) = schema.get(key).and_then(Json::as_array) {
            return options.iter().map(ts_type).collect::<Vec<_>>().join(" | ");
        }
    }
    match schema.get("type") {
        Some(Json::Array(types)) => types.iter().filter_map(Json::as_str).map(ts_word).collect::<Vec<_>>().join(" | "),
        Some(Json::String(kind)) => match kind.as_str() {
            "array" => match schema.get("items").map_or_else(|| "unknown".to_owned(), ts_type) {
                item if item.contains(' ') => format!("({item})[]"),
                item => format!("{item}[]"),
            },
            "object" => ts_object(schema),
            kind => ts_word(kind).to_owned(),
        },
        _ => "unknown".to_owned(),
    }
}

fn ts_word(kind: &str) -> &str {
    match kind {
        "integer" => "number",
        "object" => "Record<string, unknown>",
        "array" => "unknown[]",
        other => other,
    }
}

fn ts_object(schema: &Json) -> String {
    let Some(properties) = schema.get("properties").and_then(Json::as_object) else {
        return "Record<string, unknown>".to_owned();
    };
    let required: Vec<_> =
        schema.get("required").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str).collect();
    let fields: Vec<_> = properties
        .iter()
        .map(|(name, property)| {
            let mark = if required.contains(&name.as_str()) { "" } else { "?" };
            format!("{name}{mark}: {}", ts_type(property))
        })
        .collect();
    format!("{{ {} }}", fields.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn identifiers() {
        assert!(is_identifier("cdp") && is_identifier("$a_1"));
        assert!(!is_identifier("") && !is_identifier("1a") && !is_identifier("a-b") && !is_identifier("ä"));
    }

    #[test]
    fn declarations() {
        let object = json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"enum": ["x", "y"]}},
            "required": ["a"]});
        let manifest = Manifest {
            namespace: "demo".into(),
            doc: "A demo.".into(),
            methods: vec![Method {
                name: "go".into(),
                doc: "Goes.".into(),
                signatures: vec![Signature {
                    params: vec![
                        Param { name: "to".into(), schema: object, optional: false },
                        Param {
                            name: "names".into(),
                            schema: json!({"type": "array", "items": {"type": ["string", "null"]}}),
                            optional: true,
                        },
                    ],
                }],
                returns: json!({}),
                effect: Effect::Write,
                background: false,
            }],
            layer: None,
            declaration: None,
        };
        let declared = Manifest { declaration: Some("declare const demo: Demo;\n".into()), ..manifest.clone() };
        assert_eq!(declared.to_brief_dts(), "declare const demo: Demo;\n");
        assert_eq!(declared.to_dts(), manifest.to_dts());
        let layered = Manifest { layer: Some("(call) => call".into()), ..declared };
        assert_eq!(layered.to_dts(), "declare const demo: Demo;\n");
        let mut asking = manifest.clone();
        asking.methods[0].effect = Effect::NeedsApproval;
        assert!(asking.to_dts().contains("/** Goes. Refused: it needs a person's approval. */"), "{}", asking.to_dts());
        assert_eq!(
            manifest.to_dts(),
            "/** A demo. */\ndeclare const demo: {\n  /** Goes. */\n  go(to: { a: number, b?: \"x\" | \"y\" }, \
             names?: (string | null)[]): Promise<unknown>;\n};\n"
        );
    }
}
