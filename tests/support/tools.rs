//! A provider for behaviour that the test kit's fake lacks: large replies, strict schemas, a panic, calls that wait for
//! each other.

use async_trait::async_trait;
use codemode_provider::{CallContext, Ending, ExecutionContext, Provider, ProviderRuntime};
use codemode_spec::{
    Effect, ErrorCode, ErrorReport, Manifest, Method, Param, Signature, Value, message::Encoded, value::ErrorValue,
    value::Text,
};
use serde_json::{Value as Json, json};
use std::sync::Arc;
use tokio::sync::watch;

/// The namespace `tools`.
pub struct Tools {
    manifest: Manifest,
}

struct Runtime {
    arrived: watch::Sender<usize>,
}

impl Default for Tools {
    fn default() -> Self {
        Self { manifest: manifest() }
    }
}

#[async_trait]
impl Provider for Tools {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    async fn create(&self, _: ExecutionContext) -> Result<Arc<dyn ProviderRuntime>, ErrorReport> {
        Ok(Arc::new(Runtime { arrived: watch::Sender::new(0) }))
    }
}

#[async_trait]
impl ProviderRuntime for Runtime {
    async fn call(&self, method: &str, arguments: Vec<Value>, _: CallContext) -> Result<Encoded, ErrorReport> {
        let number = |place: usize| match arguments.get(place) {
            Some(Value::Number(number)) => *number as usize,
            _ => 0,
        };
        let reply = match method {
            "text" => Ok(Value::from("x".repeat(number(0)))),
            "bytes" => Ok(Value::from(vec![7_u8; number(0)])),
            "kinds" => Ok(kinds()),
            "nested" => Ok((0..number(0)).fold(Value::Null, |inner, _| Value::Array(vec![inner]))),
            "arguments" | "strict" | "either" => Ok(Value::Array(arguments)),
            "meet" => {
                self.arrived.send_modify(|arrived| *arrived += 1);
                let enough = |arrived: &usize| *arrived >= number(0);
                // The provider holds the sender, so that waiting cannot fail.
                let _ = self.arrived.subscribe().wait_for(enough).await;
                Ok(Value::Undefined)
            }
            "refuse" => Err(ErrorReport::new(ErrorCode::PolicyRefused, "this is not done here")
                .with_hint("Do something else.")
                .with_detail("rule", "manners")
                .with_detail("tries", 3)),
            "panic" => panic!("the provider panics, as it was told"),
            // The name in the manifest, not the one that scripts use.
            "tidy-up" => Ok(Value::from("tidy")),
            other => Err(ErrorReport::new(ErrorCode::HostFault, format!("{other} is not a method of the manifest"))),
        };
        reply.map(Encoded::from)
    }

    async fn dispose(&self, _: Ending) -> Result<(), ErrorReport> {
        Ok(())
    }
}

/// A value of every kind, created outside any script.
fn kinds() -> Value {
    let cause = ErrorValue { name: "RangeError".into(), message: "deep".into(), stack: "".into(), cause: None };
    let error = ErrorValue {
        name: "TypeError".into(),
        message: "bad".into(),
        stack: "TypeError: bad\n    at elsewhere".into(),
        cause: Some(Value::Error(Box::new(cause))),
    };
    let fields: [(&str, Value); 17] = [
        ("undefined", Value::Undefined),
        ("null", Value::Null),
        ("true", true.into()),
        ("number", 1.5.into()),
        ("nan", f64::NAN.into()),
        ("minusZero", (-0.0).into()),
        ("infinity", f64::INFINITY.into()),
        ("bigint", Value::BigInt("-123456789012345678901234567890".into())),
        ("text", "aä€🦀".into()),
        ("surrogate", Value::String(Text::Utf16(vec![0x61, 0xD83D, 0x62]))),
        ("date", Value::Date(0.0)),
        ("noDate", Value::Date(f64::NAN)),
        ("bytes", vec![0_u8, 127, 255].into()),
        ("map", Value::Map(vec![(Value::Array(vec![1.0.into()]), "v".into()), ("k".into(), Value::Null)])),
        ("set", Value::Set(vec![1.0.into(), "1".into()])),
        ("error", Value::Error(Box::new(error))),
        ("array", Value::Array(vec![Value::Undefined, Value::Object(vec![("__proto__".into(), 1.0.into())])])),
    ];
    Value::Object(fields.into_iter().map(|(key, value)| (key.into(), value)).collect())
}

fn manifest() -> Manifest {
    let param = |name: &str, schema: Json, optional| Param { name: name.into(), schema, optional };
    let method = |name: &str, signatures: Vec<Vec<Param>>| Method {
        name: name.into(),
        doc: "For tests.".into(),
        signatures: signatures.into_iter().map(|params| Signature { params }).collect(),
        returns: json!({}),
        effect: Effect::Read,
        background: false,
    };
    let count = || vec![param("count", json!({"type": "integer", "minimum": 0}), false)];
    let options = json!({
        "type": "object",
        "properties": {
            "limit": {"type": "integer", "minimum": 1, "maximum": 10},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "additionalProperties": false,
    });
    let strict = vec![param("name", json!({"type": "string", "minLength": 1}), false), param("options", options, true)];
    let either = vec![
        vec![param("name", json!({"type": "string"}), false), param("count", json!({"type": "integer"}), true)],
        vec![param("query", json!({"type": "object", "required": ["name"]}), false)],
    ];
    Manifest {
        namespace: "tools".into(),
        doc: "For tests.".into(),
        methods: vec![
            method("text", vec![count()]),
            method("bytes", vec![count()]),
            method("kinds", vec![vec![]]),
            method("nested", vec![count()]),
            method("arguments", vec![(1..=5).map(|place| param(&format!("a{place}"), json!({}), true)).collect()]),
            method("strict", vec![strict]),
            method("either", either),
            method("meet", vec![count()]),
            method("refuse", vec![vec![]]),
            method("panic", vec![vec![]]),
            method("tidy-up", vec![vec![]]),
        ],
        layer: None,
        declaration: None,
    }
}
