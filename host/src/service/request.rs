//! What a caller of the tool sends, and the one schema that it is described and checked by.

use crate::network::NetworkRules;
use codemode_provider::faults_of;
use codemode_spec::{
    ErrorCode, ErrorReport,
    limits::{RESULT_CHARS_MAX, RESULT_CHARS_MIN, WALL_MS_DEFAULT, WALL_MS_MAX, WALL_MS_MIN},
    session::SessionRequest,
    whole,
};
use jsonschema::Validator;
use schemars::{JsonSchema, generate::SchemaSettings};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use std::sync::LazyLock;

/// The name of the one tool.
pub const TOOL: &str = "browser_execute";

/// What a caller of the tool sends. Unknown fields are errors. Every surface sends this, and its derived schema is what
/// MCP's tool shows and what every request is checked by.
#[derive(Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[serde(deny_unknown_fields)]
#[schemars(description = "")]
pub struct ExecuteRequest {
    /// JavaScript or TypeScript.
    #[schemars(description = "")]
    pub code: String,
    /// Wall time in milliseconds.
    #[serde(default, deserialize_with = "whole::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(description = "", range(min = WALL_MS_MIN, max = WALL_MS_MAX), extend("default" = WALL_MS_DEFAULT))]
    pub timeout_ms: Option<u64>,
    /// Characters of the result; the host's own choice if absent.
    #[serde(default, deserialize_with = "whole::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(description = "", range(min = RESULT_CHARS_MIN, max = RESULT_CHARS_MAX))]
    pub result_chars: Option<u64>,
    /// The browser session to run in; the host's own choice if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(description = "")]
    pub session: Option<SessionRequest>,
}

static VALIDATOR: LazyLock<Validator> = LazyLock::new(|| {
    jsonschema::validator_for(&ExecuteRequest::schema()).expect("the schema is derived, and a test compiles it")
});

impl ExecuteRequest {
    /// A request with the defaults.
    pub fn new(code: impl Into<String>) -> Self {
        Self { code: code.into(), timeout_ms: None, result_chars: None, session: None }
    }

    /// The JSON schema of a request, as short as it can be said: it is read with every list of tools.
    #[must_use]
    pub fn schema() -> Json {
        let mut settings = SchemaSettings::draft2020_12();
        settings.meta_schema = None;
        settings.inline_subschemas = true;
        let mut schema = settings.into_generator().into_root_schema_for::<Self>().to_value();
        shorten(&mut schema);
        schema
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
        request.check_meaning()?;
        Ok(request)
    }

    /// Checks a request that was not read from JSON: by the schema, and for what the schema cannot say.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` with every fault.
    pub fn check(&self) -> Result<(), ErrorReport> {
        // The schema says nothing of the code but that it is a text, which may be long.
        let Self { code: _, timeout_ms, result_chars, session } = self;
        let (timeout_ms, result_chars) = (*timeout_ms, *result_chars);
        let shape = Self { code: String::new(), timeout_ms, result_chars, session: session.clone() };
        let shape = serde_json::to_value(shape).expect("plain data can be written as JSON");
        let faults = faults_of("", &VALIDATOR, &shape);
        if faults.is_empty() { self.check_meaning() } else { Err(invalid(&faults)) }
    }

    /// Looks for what the schema cannot say.
    fn check_meaning(&self) -> Result<(), ErrorReport> {
        let mut faults = self.session.as_ref().map(SessionRequest::faults).unwrap_or_default();
        let lists = self.session.as_ref().and_then(|session| session.network.as_ref());
        let wrong = lists.and_then(|lists| NetworkRules::parse(lists).err());
        faults.extend(wrong.into_iter().flat_map(|wrong| wrong.lines()).map(|line| format!("session.{line}")));
        if faults.is_empty() { Ok(()) } else { Err(invalid(&faults)) }
    }
}

/// Takes out of a derived schema what tells a model nothing: how Rust keeps a number, that an absent field may not be `null`
/// either, and defaults that are nothing.
fn shorten(schema: &mut Json) {
    match schema {
        Json::Object(fields) => {
            for name in ["$schema", "title", "format"] {
                // A property of that name is a schema, and no text.
                if fields.get(name).is_some_and(Json::is_string) {
                    fields.shift_remove(name);
                }
            }
            let says_nothing =
                |value: &Json| matches!(value.as_str(), Some("")) || *value == json!([]) || value.is_null();
            for name in ["description", "default"] {
                if fields.get(name).is_some_and(says_nothing) {
                    fields.shift_remove(name);
                }
            }
            if let Some(Json::Array(kinds)) = fields.get_mut("type") {
                kinds.retain(|kind| kind != "null");
                if let [kind] = kinds.as_slice() {
                    fields["type"] = kind.clone();
                }
            }
            fields.values_mut().for_each(shorten);
        }
        Json::Array(items) => items.iter_mut().for_each(shorten),
        _ => {}
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
        let session = SessionRequest {
            mode: SessionMode::Reuse,
            key,
            ttl_ms: Some(60_000),
            wait_ms: Some(0),
            ..SessionRequest::default()
        };
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

    /// What a model reads, to the letter: what the derivation adds by itself is seen here.
    #[test]
    fn the_derived_schema_is_short_and_whole() {
        let schema = ExecuteRequest::schema();
        let list = json!({"type": "array", "items": {"type": "string"}});
        let lists = json!({"allow": list, "deny": list});
        assert_eq!(schema["required"], json!(["code"]));
        assert_eq!(schema["additionalProperties"], false);
        let properties = &schema["properties"];
        assert_eq!(properties["code"], json!({"type": "string"}));
        let timeout = json!({"type": "integer", "minimum": 1, "maximum": 600_000, "default": 60_000});
        assert_eq!(properties["timeout_ms"], timeout);
        assert_eq!(properties["result_chars"], json!({"type": "integer", "minimum": 200, "maximum": 240_000}));
        let session = &properties["session"]["properties"];
        assert_eq!(properties["session"]["additionalProperties"], false);
        assert_eq!(session["mode"]["enum"], json!(["one-shot", "reuse", "dynamic"]));
        assert_eq!(session["key"], json!({"type": "string", "description": "names the browser"}));
        assert_eq!(session["wait_ms"]["minimum"], 0);
        assert_eq!(session["network"]["properties"], lists);
        let text = schema.to_string();
        for word in ["null", "format", "$schema", "title", "\"\""] {
            assert!(!text.contains(word), "{word} in {text}");
        }
    }

    #[test]
    fn a_request_of_a_program_is_checked_as_a_request_in_json_is() {
        let request = ExecuteRequest { timeout_ms: Some(0), result_chars: Some(1), ..ExecuteRequest::new("1") };
        let told = request.check().unwrap_err();
        assert_eq!(told.details["faults"].as_array().map(Vec::len), Some(2), "{told:?}");
        let json = ExecuteRequest::from_json(json!({"code": "1", "timeout_ms": 0, "result_chars": 1})).unwrap_err();
        assert_eq!(told, json);
        ExecuteRequest::new("1").check().unwrap();
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
