//! What a caller of the tool sends, and the one schema that it is described and checked by.

use codemode_spec::{
    ErrorCode, ErrorReport,
    limits::{WALL_MS_DEFAULT, WALL_MS_MAX, WALL_MS_MIN},
};
use jsonschema::Validator;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::sync::LazyLock;

/// What a caller of the tool sends. Unknown fields are errors.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExecuteRequest {
    /// JavaScript or TypeScript.
    pub code: String,
    /// Wall time in milliseconds.
    #[serde(default)]
    pub timeout_ms: Option<u64>,
    /// The browser session to run in.
    #[serde(default)]
    pub session: SessionRequest,
}

/// Which browser session an execution runs in.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionRequest {
    /// How the session lives.
    #[serde(default)]
    pub mode: SessionMode,
}

/// How a browser session lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum SessionMode {
    /// A fresh browser, closed at the end.
    #[default]
    OneShot,
}

static VALIDATOR: LazyLock<Validator> = LazyLock::new(|| {
    jsonschema::validator_for(&ExecuteRequest::schema()).expect("the schema is written below, and a test compiles it")
});

impl ExecuteRequest {
    /// A request with the defaults.
    pub fn new(code: impl Into<String>) -> Self {
        Self { code: code.into(), timeout_ms: None, session: SessionRequest::default() }
    }

    /// The JSON schema of a request.
    #[must_use]
    pub fn schema() -> Json {
        json!({
            "type": "object",
            "properties": {
                "code": {"type": "string", "description": "The script"},
                "timeout_ms": {
                    "type": "integer",
                    "minimum": WALL_MS_MIN,
                    "maximum": WALL_MS_MAX,
                    "default": WALL_MS_DEFAULT,
                },
                "session": {
                    "type": "object",
                    "properties": {
                        "mode": {"enum": ["one-shot"], "description": "one-shot: a fresh browser, closed at the end"},
                    },
                    "additionalProperties": false,
                },
            },
            "required": ["code"],
            "additionalProperties": false,
        })
    }

    /// Reads a request.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` with every fault.
    pub fn from_json(request: Json) -> Result<Self, ErrorReport> {
        let faults: Vec<String> = VALIDATOR
            .iter_errors(&request)
            .map(|error| match error.instance_path().to_string().trim_start_matches('/').replace('/', ".") {
                path if path.is_empty() => error.to_string(),
                path => format!("{path}: {error}"),
            })
            .collect();
        if !faults.is_empty() {
            return Err(invalid(&faults));
        }
        serde_json::from_value(request).map_err(|error| invalid(&[error.to_string()]))
    }
}

fn invalid(faults: &[String]) -> ErrorReport {
    ErrorReport::new(ErrorCode::InvalidArgument, faults.join("; "))
        .with_hint("Send {code: string, timeout_ms?: integer, session?: {mode?: \"one-shot\"}}.")
        .with_detail("faults", faults)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_and_the_most_that_can_be_said() {
        let least = ExecuteRequest::from_json(json!({"code": "1"})).unwrap();
        assert_eq!((least.code.as_str(), least.timeout_ms, least.session.mode), ("1", None, SessionMode::OneShot));
        let most = json!({"code": "1", "timeout_ms": 5, "session": {"mode": "one-shot"}});
        assert_eq!(ExecuteRequest::from_json(most).unwrap().timeout_ms, Some(5));
    }

    #[test]
    fn every_fault_is_named_at_once() {
        let request = json!({"kode": "1", "timeout_ms": "soon", "session": {"mode": "for ever", "key": 1}});
        let error = ExecuteRequest::from_json(request).unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidArgument);
        for word in ["kode", "code", "timeout_ms", "session.mode", "key"] {
            assert!(error.message.contains(word), "{word} is missing in: {}", error.message);
        }
        assert_eq!(ExecuteRequest::from_json(json!({})).unwrap_err().code, ErrorCode::InvalidArgument);
        assert!(ExecuteRequest::from_json(json!({"code": "1", "timeout_ms": 0})).is_err());
    }
}
