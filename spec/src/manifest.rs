//! The manifest of a namespace: its methods with their schemas. Everything else is derived from it: the sandbox's
//! globals, the validation of arguments, the `.d.ts` text, the tool's description and the reference pages.

use crate::message::Layer;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// A namespace and its methods.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The global's name: an identifier that is not reserved.
    pub namespace: String,
    /// The purpose of the namespace, in a sentence.
    pub doc: String,
    /// The methods, the most useful first.
    pub methods: Vec<Method>,
    /// JavaScript between the script and the methods: a script whose completion value is a function `(call, name, fail)
    /// => object`. It is evaluated while the sandbox image is built, never in an execution. An execution calls the
    /// function once, at the first use of the global, and the returned object becomes the global's value. `call` is the
    /// object with the namespace's methods, `name` the namespace's name. `fail(error, code, hint)` returns the error,
    /// marked as one of the namespace: if the script does not catch it, the answer's error has that code and hint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layer: Option<String>,
    /// The TypeScript declaration, if the one derived from the methods does not describe what scripts see.
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
    /// The method's call signatures; at least one.
    pub signatures: Vec<Signature>,
    /// JSON schema of the value to which the method's promise resolves.
    pub returns: Json,
    /// What a call can change.
    pub effect: Effect,
    /// Whether a call runs in the background of a script, as a wait for events does: if it is still outstanding when
    /// the script ends, it is cancelled without a warning.
    #[serde(default)]
    pub background: bool,
}

/// A call signature of a method.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Signature {
    /// The positional parameters; optional ones come last.
    pub params: Vec<Param>,
}

/// A positional parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Param {
    /// The parameter's name, used in messages and types.
    pub name: String,
    /// JSON schema of the argument's plain JSON form.
    pub schema: Json,
    /// Whether the argument may be omitted.
    pub optional: bool,
}

/// What a call of a method can change. Audit, approval and replay depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// Nothing outside the host.
    Read,
    /// The browser or the servers that it talks to.
    Write,
    /// Something that needs a person's approval first. A host that cannot request approval refuses the call.
    NeedsApproval,
}

/// The property that marks an object of a layer as a handle: a stand-in for something that scripts never get, such as
/// a secret's value. The property's value is a text that says what the object is and which methods accept it. A handle
/// cannot be an argument of a call; a layer that accepts a handle sends something else in its place.
pub const HANDLE_PROPERTY: &str = "codemode.handle";

/// Names that a namespace cannot have: keywords of the language and globals of the sandbox.
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
    "SharedArrayBuffer",
    "DataView",
    "ArrayBuffer",
    "isFinite",
    "isNaN",
    "parseInt",
    "parseFloat",
    "TypedArray",
    "Int8Array",
    "Uint8Array",
    "Uint8ClampedArray",
    "Int16Array",
    "Uint16Array",
    "Int32Array",
    "Uint32Array",
    "BigInt64Array",
    "BigUint64Array",
    "Float16Array",
    "Float32Array",
    "Float64Array",
    "RangeError",
    "ReferenceError",
    "TypeError",
    "SyntaxError",
    "EvalError",
    "URIError",
    "AggregateError",
    "encodeURI",
    "encodeURIComponent",
    "decodeURI",
    "decodeURIComponent",
    "WeakRef",
    "Iterator",
    "Atomics",
    "FinalizationRegistry",
    "importScripts",
    "XMLHttpRequest",
    "WebSocket",
    "EventSource",
    "Worker",
    "DOMException",
    "Event",
    "CustomEvent",
    "EventTarget",
    "escape",
    "unescape",
];

/// Whether a name is an identifier, usable as a variable and after a dot: ASCII letters, digits, `_` and `$`, no digit
/// first.
#[must_use]
pub fn is_identifier(name: &str) -> bool {
    let mut bytes = name.bytes();
    let first = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_' || byte == b'$';
    bytes.next().is_some_and(first) && bytes.all(|byte| first(byte) || byte.is_ascii_digit())
}

impl Manifest {
    /// The namespace's layer, as it is added to the image.
    #[must_use]
    pub fn to_layer(&self) -> Option<Layer> {
        Some(Layer { namespace: self.namespace.clone(), source: self.layer.clone()? })
    }

    /// A TypeScript declaration of the namespace that is short enough for a tool's description: its own declaration if
    /// it has one, otherwise one line per signature.
    #[must_use]
    pub fn to_brief_dts(&self) -> String {
        self.declaration.clone().unwrap_or_else(|| self.derived_dts())
    }

    /// A TypeScript declaration of everything that scripts see of the namespace: one line per signature, or the brief
    /// declaration if a layer replaces the methods.
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

/// Converts a JSON schema to a TypeScript type. If the schema has a `tsType`, that is used verbatim.
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
