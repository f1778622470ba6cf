//! What a caller of the tool sends, and the one schema that it is described and checked by.

use crate::network::NetworkRules;
use codemode_provider::faults_of;
use codemode_spec::{
    ErrorCode, ErrorReport,
    limits::{
        LEASE_WAIT_MS_DEFAULT, LEASE_WAIT_MS_MAX, RESULT_CHARS_MAX, RESULT_CHARS_MIN, SESSION_IDLE_MS_DEFAULT,
        SESSION_IDLE_MS_MAX, SESSION_IDLE_MS_MIN, WALL_MS_DEFAULT, WALL_MS_MAX, WALL_MS_MIN,
    },
    session::SessionRequest,
    whole,
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
    #[serde(default, deserialize_with = "whole::optional")]
    pub timeout_ms: Option<u64>,
    /// Characters of the result; the host's own choice if absent.
    #[serde(default, deserialize_with = "whole::optional")]
    pub result_chars: Option<u64>,
    /// The browser session to run in; the host's own choice if absent.
    #[serde(default)]
    pub session: Option<SessionRequest>,
}

static VALIDATOR: LazyLock<Validator> = LazyLock::new(|| {
    jsonschema::validator_for(&ExecuteRequest::schema()).expect("the schema is written below, and a test compiles it")
});

impl ExecuteRequest {
    /// A request with the defaults.
    pub fn new(code: impl Into<String>) -> Self {
        Self { code: code.into(), timeout_ms: None, result_chars: None, session: None }
    }

    /// The JSON schema of a request.
    #[must_use]
    pub fn schema() -> Json {
        let hosts = json!({"type": "array", "items": {"type": "string"}});
        json!({
            "type": "object",
            "properties": {
                "code": {"type": "string"},
                "timeout_ms": {
                    "type": "integer",
                    "minimum": WALL_MS_MIN,
                    "maximum": WALL_MS_MAX,
                    "default": WALL_MS_DEFAULT,
                },
                "result_chars": {
                    "type": "integer",
                    "minimum": RESULT_CHARS_MIN,
                    "maximum": RESULT_CHARS_MAX,
                },
                "session": {
                    "type": "object",
                    "properties": {
                        "mode": {
                            "enum": ["one-shot", "reuse", "dynamic"],
                            "description": "one-shot: a fresh browser, closed at the end. reuse: the key's browser, kept \
                                            between calls with its logins. dynamic: the key's if there is one, else \
                                            one-shot until cdp.startSession()",
                        },
                        "key": {"type": "string", "description": "names the browser"},
                        "ttl_ms": {
                            "type": "integer",
                            "minimum": SESSION_IDLE_MS_MIN,
                            "maximum": SESSION_IDLE_MS_MAX,
                            "default": SESSION_IDLE_MS_DEFAULT,
                            "description": "kept unused so long",
                        },
                        "wait_ms": {
                            "type": "integer",
                            "minimum": 0,
                            "maximum": LEASE_WAIT_MS_MAX,
                            "default": LEASE_WAIT_MS_DEFAULT,
                            "description": "waits while another call uses it",
                        },
                        "network": {
                            "properties": {"allow": hosts, "deny": hosts},
                            "description": "hosts, *.hosts, CIDRs, :ports",
                        },
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
        let faults = faults_of("", &VALIDATOR, &request);
        if !faults.is_empty() {
            return Err(invalid(&faults));
        }
        let request: Self = serde_json::from_value(request).map_err(|error| invalid(&[error.to_string()]))?;
        request.check()?;
        Ok(request)
    }

    /// Looks for what the schema cannot say.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` with every fault.
    pub fn check(&self) -> Result<(), ErrorReport> {
        let mut faults = self.session.as_ref().map(SessionRequest::faults).unwrap_or_default();
        let lists = self.session.as_ref().and_then(|session| session.network.as_ref());
        let wrong = lists.and_then(|lists| NetworkRules::parse(lists).err());
        faults.extend(wrong.into_iter().flat_map(|wrong| wrong.lines()).map(|line| format!("session.{line}")));
        if faults.is_empty() { Ok(()) } else { Err(invalid(&faults)) }
    }
}

fn invalid(faults: &[String]) -> ErrorReport {
    ErrorReport::new(ErrorCode::InvalidArgument, faults.join("; "))
        .with_hint(
            "Send {code: string, timeout_ms?: integer, result_chars?: integer, session?: {mode: \"one-shot\" | \"reuse\" | \"dynamic\", key?: \
             string, ttl_ms?: integer, wait_ms?: integer, network?: {allow?: string[], deny?: string[]}}}.",
        )
        .with_detail("faults", faults)
}

#[cfg(test)]
mod tests {
    use super::*;
    use codemode_spec::session::SessionMode;

    #[test]
    fn the_least_and_the_most_that_can_be_said() {
        let least = ExecuteRequest::from_json(json!({"code": "1"})).unwrap();
        assert_eq!((least.code.as_str(), least.timeout_ms, least.session), ("1", None, None));
        let session = json!({"mode": "reuse", "key": "shop", "ttl_ms": 60_000, "wait_ms": 0});
        let most =
            ExecuteRequest::from_json(json!({"code": "1", "timeout_ms": 5, "result_chars": 5e4, "session": session}))
                .unwrap();
        assert_eq!((most.timeout_ms, most.result_chars), (Some(5), Some(50_000)));
        let key = Some("shop".to_owned());
        let session =
            SessionRequest { mode: SessionMode::Reuse, key, ttl_ms: Some(60_000), wait_ms: Some(0), network: None };
        assert_eq!(most.session, Some(session));
    }

    #[test]
    fn whole_numbers_may_be_written_as_floats() {
        let request = r#"{"code": "1", "timeout_ms": 1e3, "session": {"mode": "reuse", "key": "a", "ttl_ms": 6e4, "wait_ms": 0.0}}"#;
        let request = ExecuteRequest::from_json(serde_json::from_str(request).unwrap()).unwrap();
        let session = request.session.unwrap();
        assert_eq!((request.timeout_ms, session.ttl_ms, session.wait_ms), (Some(1_000), Some(60_000), Some(0)));
        let error = ExecuteRequest::from_json(json!({"code": "1", "timeout_ms": 1.5})).unwrap_err();
        assert!(error.message.contains("timeout_ms"), "{error}");
    }

    #[test]
    fn a_call_names_what_it_may_reach() {
        let request = |network| json!({"code": "1", "session": {"network": network}});
        let lists = json!({"allow": ["*.shop.test", "10.0.0.0/8:443"], "deny": []});
        let read = ExecuteRequest::from_json(request(lists)).unwrap().session.unwrap().network.unwrap();
        assert_eq!((read.allow.len(), read.deny.len()), (2, 0));
        let error = ExecuteRequest::from_json(request(json!({"deny": ["http://a.test", "*x", "b.test"]}))).unwrap_err();
        assert_eq!(error.details["faults"].as_array().map(Vec::len), Some(2), "{error:?}");
        assert!(error.message.contains("session.network.deny: \"http://a.test\""), "{}", error.message);
        assert!(ExecuteRequest::from_json(request(json!({"forbid": []}))).is_err());
    }

    #[test]
    fn every_fault_is_named_at_once() {
        let request = json!({"kode": "1", "timeout_ms": "soon", "session": {"mode": "for ever", "kee": 1}});
        let error = ExecuteRequest::from_json(request).unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidArgument);
        for word in ["kode", "code", "timeout_ms", "session.mode", "kee"] {
            assert!(error.message.contains(word), "{word} is missing in: {}", error.message);
        }
        assert_eq!(ExecuteRequest::from_json(json!({})).unwrap_err().code, ErrorCode::InvalidArgument);
        assert!(ExecuteRequest::from_json(json!({"code": "1", "timeout_ms": 0})).is_err());
        for long in [json!({"k".repeat(1_000_000): 1}), json!({"code": ["k".repeat(1_000_000)]})] {
            let error = ExecuteRequest::from_json(long).unwrap_err();
            assert!(error.message.len() < 1_500 && error.message.contains("code"), "{error}");
        }
        let keyless = ExecuteRequest::from_json(json!({"code": "1", "session": {"mode": "reuse"}})).unwrap_err();
        assert!(keyless.message.contains("session.key"), "{keyless}");
    }
}
