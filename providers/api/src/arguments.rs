//! Validates arguments against the manifest's schemas, and reports all faults at once, before the call has any effect.

use codemode_spec::{
    ErrorCode, ErrorReport, Method, Param, Signature, Value,
    error::clip,
    limits::{FAULT_CHARS_MAX, FAULT_ECHO_CHARS_MAX, FAULTS_LISTED_MAX},
    manifest::ts_type,
};
use jsonschema::{ValidationError, Validator};
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

/// A method with its schemas compiled.
pub(crate) struct CheckedMethod {
    pub(crate) method: Method,
    /// One list per signature, with one validator per parameter.
    validators: Vec<Vec<Validator>>,
}

impl CheckedMethod {
    pub(crate) fn new(method: Method) -> Result<Self, String> {
        let compile = |signature: &Signature| {
            signature
                .params
                .iter()
                .map(|param| {
                    jsonschema::validator_for(&param.schema).map_err(|error| format!("{}: {error}", param.name))
                })
                .collect::<Result<Vec<_>, _>>()
        };
        let validators = method.signatures.iter().map(compile).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { method, validators })
    }

    /// Accepts arguments that match one of the signatures, and normalises them: `null` for an optional parameter or
    /// field counts as omitted. Otherwise reports every fault against the signature that was most likely meant: one
    /// whose first parameter has the type of the first argument, and among those the one with the fewest faults.
    pub(crate) fn check(&self, namespace: &str, arguments: &mut [Value]) -> Result<(), ErrorReport> {
        let plain: Vec<Option<Json>> = arguments.iter().map(Value::to_plain_json).collect();
        let mut best: Option<((bool, usize), Vec<String>)> = None;
        for (signature, validators) in self.method.signatures.iter().zip(&self.validators) {
            let faults = faults(signature, validators, &plain);
            if faults.is_empty() {
                signature.params.iter().zip(arguments).for_each(|(param, argument)| leave_out(param, argument));
                return Ok(());
            }
            let rank = (!is_of_kind(signature, &plain), faults.len());
            if best.as_ref().is_none_or(|(best, _)| rank < *best) {
                best = Some((rank, faults));
            }
        }
        let (_, faults) = best.unwrap_or_default();
        let name = format!("{namespace}.{}", self.method.name);
        let usage: Vec<_> = self.method.signatures.iter().map(|signature| usage(&name, signature)).collect();
        Err(ErrorReport::new(ErrorCode::InvalidArgument, format!("{name}: {}", faults.join("; ")))
            .with_hint(format!("Call it as {}.", usage.join(" or ")))
            .with_detail("faults", faults))
    }
}

fn usage(name: &str, signature: &Signature) -> String {
    let params: Vec<_> = signature
        .params
        .iter()
        .map(|param| format!("{}{}: {}", param.name, if param.optional { "?" } else { "" }, ts_type(&param.schema)))
        .collect();
    format!("{name}({})", params.join(", "))
}

fn faults(signature: &Signature, validators: &[Validator], arguments: &[Option<Json>]) -> Vec<String> {
    let mut faults = Vec::new();
    for (place, (param, validator)) in signature.params.iter().zip(validators).enumerate() {
        match arguments.get(place).and_then(Option::as_ref) {
            None if param.optional => {}
            None => faults.push(format!("{} is missing", param.name)),
            Some(Json::Null) if is_left_out(param) => {}
            // Most arguments are right, and listing the faults takes longer.
            Some(argument) if validator.is_valid(argument) => {}
            Some(argument) => {
                let counts = |error: &ValidationError<'_>| {
                    let path = error.instance_path().to_string();
                    !(error.instance().is_null()
                        && path.strip_prefix('/').is_some_and(|key| is_left_out_of(param, key)))
                };
                faults.extend(described(&param.name, validator.iter_errors(argument).filter(counts)));
            }
        }
    }
    if arguments.len() > signature.params.len() {
        let most = signature.params.len();
        faults.push(format!("{} arguments were given, it takes at most {most}", arguments.len()));
    }
    faults
}

/// Whether the first argument has the type of the first parameter. A missing argument counts as a match.
fn is_of_kind(signature: &Signature, arguments: &[Option<Json>]) -> bool {
    let (Some(param), Some(Some(argument))) = (signature.params.first(), arguments.first()) else { return true };
    match param.schema["type"].as_str() {
        Some("string") => argument.is_string(),
        Some("object") => argument.is_object(),
        Some("array") => argument.is_array(),
        Some("boolean") => argument.is_boolean(),
        Some("number" | "integer") => argument.is_number(),
        _ => true,
    }
}

/// Whether `null` for the parameter counts as omitted: the parameter is optional and does not accept `null`.
fn is_left_out(param: &Param) -> bool {
    param.optional && has_type(&param.schema)
}

/// As [`is_left_out`], for a field of the parameter.
fn is_left_out_of(param: &Param, key: &str) -> bool {
    let required = param.schema["required"].as_array().is_some_and(|required| required.iter().any(|it| it == key));
    !required && has_type(&param.schema["properties"][key])
}

fn has_type(schema: &Json) -> bool {
    match &schema["type"] {
        Json::String(kind) => kind != "null",
        Json::Array(kinds) => kinds.iter().all(|kind| kind != "null"),
        _ => false,
    }
}

/// Removes the `null`s that count as omitted from an accepted argument.
fn leave_out(param: &Param, argument: &mut Value) {
    match argument {
        Value::Null if is_left_out(param) => *argument = Value::Undefined,
        Value::Object(fields) => {
            fields.retain(|(key, value)| *value != Value::Null || !is_left_out_of(param, &key.to_string_lossy()));
        }
        _ => {}
    }
}

/// The faults of a value according to its schema, each prefixed with its path starting at `name`; at most the first
/// few, each truncated.
#[must_use]
pub fn faults_of(name: &str, validator: &Validator, value: &Json) -> Vec<String> {
    described(name, validator.iter_errors(value))
}

fn described<'e>(name: &str, errors: impl Iterator<Item = ValidationError<'e>>) -> Vec<String> {
    let fault = |error: ValidationError<'_>| {
        let path = error.instance_path().to_string().replace('/', ".");
        let mut path = format!("{name}{path}").trim_start_matches('.').to_owned();
        clip(&mut path, FAULT_ECHO_CHARS_MAX);
        let mut what = error.to_string();
        if what.len() > FAULT_CHARS_MAX {
            // Without the value: what the schema requires is the helpful part.
            what = error.masked().to_string();
        }
        clip(&mut what, FAULT_CHARS_MAX);
        if path.is_empty() { what } else { format!("{path}: {what}") }
    };
    errors.take(FAULTS_LISTED_MAX).map(fault).collect()
}

/// The argument at an index, as a Rust type; `None` if it was omitted or is `undefined`.
///
/// # Errors
/// When the argument does not deserialize as the type, which the manifest's schema should have caught.
pub fn argument<T: DeserializeOwned>(arguments: &[Value], place: usize) -> Result<Option<T>, ErrorReport> {
    let Some(json) = arguments.get(place).and_then(Value::to_plain_json) else { return Ok(None) };
    serde_json::from_value(json)
        .map(Some)
        .map_err(|error| ErrorReport::new(ErrorCode::InvalidArgument, format!("argument {}: {error}", place + 1)))
}

/// The options object at an index, or the defaults if it was omitted.
///
/// # Errors
/// As [`argument`].
pub fn options<T: DeserializeOwned + Default>(arguments: &[Value], place: usize) -> Result<T, ErrorReport> {
    argument(arguments, place).map(Option::unwrap_or_default)
}
