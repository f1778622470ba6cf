//! JSON schemas of parameters.

use codemode_spec::{Param, limits::WALL_MS_MAX, manifest::ts_type};
use serde_json::{Value as Json, json};

pub(crate) fn required(name: &str, schema: Json) -> Param {
    Param { name: name.into(), schema, optional: false }
}

pub(crate) fn optional(name: &str, schema: Json) -> Param {
    Param { name: name.into(), schema, optional: true }
}

pub(crate) fn any() -> Json {
    json!({"tsType": "any"})
}

pub(crate) fn nothing() -> Json {
    json!({"tsType": "void"})
}

pub(crate) fn text() -> Json {
    json!({"type": "string"})
}

pub(crate) fn count() -> Json {
    json!({"type": "integer", "minimum": 1})
}

pub(crate) fn object() -> Json {
    json!({"type": "object", "tsType": "object"})
}

pub(crate) fn timeout() -> Json {
    json!({"type": "integer", "minimum": 1, "maximum": WALL_MS_MAX})
}

/// An object with these fields and no others.
pub(crate) fn fields(properties: Json, required: &[&str]) -> Json {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// A session: its id, or the answer of `attachToTarget`.
pub(crate) fn session() -> Json {
    json!({
        "type": ["string", "object"],
        "properties": {"sessionId": text()},
        "required": ["sessionId"],
        // Kept short in the types: the documentation of `attachToTarget` mentions the other form.
        "tsType": "string",
    })
}

/// Like [`fields`], but also accepts the answer of `attachToTarget`: it may therefore have a `targetId`, which the
/// types do not mention.
pub(crate) fn fields_or_session(properties: Json, required: &[&str]) -> Json {
    let mut schema = fields(properties, required);
    let types = ts_type(&schema);
    schema["properties"]["targetId"] = text();
    schema["tsType"] = types.into();
    schema
}
