//! Validates a command's parameters against the protocol, and reports all faults at once.

use crate::{
    protocol::Protocol,
    schema::{Property, Shape},
};
use codemode_spec::{
    error::clip,
    limits::{FAULT_CHARS_MAX, FAULT_ECHO_CHARS_MAX, FAULTS_LISTED_MAX, METHOD_NAME_CHARS_MAX},
};
use serde_json::{Map, Value as Json};

/// How far references and nested values are followed; the protocol contains recursive types.
const DEPTH_MAX: usize = 24;
/// The maximum number of enumeration values listed in a fault.
const VALUES_LISTED_MAX: usize = 24;
/// The description of an unrestricted type.
const ANY: &str = "any value";

impl Protocol {
    /// Checks the parameters of a command against the live protocol, including nested objects and arrays: unknown
    /// parameters (with the nearest name), missing ones, wrong types and wrong enumeration values. Empty if there is no
    /// fault, or if the command itself is unknown, which this function does not report.
    #[must_use]
    pub fn check(&self, method: &str, params: &Map<String, Json>) -> Vec<String> {
        let Some(command) = self.command(method) else { return Vec::new() };
        let domain = method.split_once('.').map_or(method, |(domain, _)| domain);
        let mut checker = Checker { protocol: self, faults: Vec::new() };
        checker.members(domain, "", &command.parameters, params, DEPTH_MAX);
        checker.faults
    }
}

struct Checker<'a> {
    protocol: &'a Protocol,
    faults: Vec<String>,
}

impl Checker<'_> {
    fn fault(&mut self, path: &str, what: &str) {
        if !self.is_full() {
            let mut fault = format!("{}: {what}", shown(path));
            clip(&mut fault, FAULT_CHARS_MAX);
            self.faults.push(fault);
        }
    }

    /// Whether enough faults were found: a reader needs no more, and searching for more takes time.
    fn is_full(&self) -> bool {
        self.faults.len() >= FAULTS_LISTED_MAX
    }

    fn members(&mut self, domain: &str, path: &str, specs: &[Property], given: &Map<String, Json>, left: usize) {
        for (name, value) in given {
            if self.is_full() {
                return;
            }
            let path = join(path, name);
            match specs.iter().find(|spec| spec.name == *name) {
                Some(spec) if spec.optional && value.is_null() => {
                    let wanted = self.wanted(domain, &spec.shape);
                    if wanted != ANY {
                        self.fault(&path, &format!("is null; leave it out or give {wanted}"));
                    }
                }
                Some(spec) => self.value(domain, &path, &spec.shape, value, left),
                None => self.fault(&path, &unknown(name, specs)),
            }
        }
        for spec in specs.iter().filter(|spec| !spec.optional && !given.contains_key(&spec.name)) {
            let what = format!("is missing; it is required, {}", self.wanted(domain, &spec.shape));
            self.fault(&join(path, &spec.name), &what);
        }
    }

    fn value(&mut self, domain: &str, path: &str, shape: &Shape, value: &Json, left: usize) {
        let Some(left) = left.checked_sub(1).filter(|_| !self.is_full()) else { return };
        if let Some(reference) = &shape.reference {
            if let Some((domain, shape)) = self.protocol.resolve(domain, reference) {
                self.value(domain, path, shape, value, left);
            }
            return;
        }
        let fits = match shape.kind.as_deref() {
            Some("string" | "binary") => value.is_string(),
            // JavaScript has a single number type, and Chromium accepts 1.0 as 1.
            Some("integer") => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.fract() == 0.0),
            Some("number") => value.is_number(),
            Some("boolean") => value.is_boolean(),
            Some("array") => value.is_array(),
            Some("object") => value.is_object(),
            _ => true,
        };
        if !fits {
            self.fault(path, &format!("is {}, must be {}", kind_of(value), self.wanted(domain, shape)));
            return;
        }
        match value {
            Json::String(text) if !shape.values.is_empty() && !shape.values.contains(text) => {
                self.fault(path, &format!("is {:?}, must be {}", shown(text), one_of(&shape.values)));
            }
            Json::Array(items) => {
                if let Some(shape) = &shape.items {
                    for (index, item) in items.iter().enumerate() {
                        self.value(domain, &format!("{path}[{index}]"), shape, item, left);
                    }
                }
            }
            Json::Object(members) if !shape.properties.is_empty() => {
                self.members(domain, path, &shape.properties, members, left);
            }
            _ => {}
        }
    }

    /// Describes the type that a shape requires, for a fault.
    fn wanted(&self, domain: &str, shape: &Shape) -> String {
        let (mut domain, mut shape) = (domain, shape);
        for _ in 0..DEPTH_MAX {
            let Some(next) = shape.reference.as_ref().and_then(|name| self.protocol.resolve(domain, name)) else {
                break;
            };
            (domain, shape) = next;
        }
        match shape.kind.as_deref() {
            Some("string") if !shape.values.is_empty() => one_of(&shape.values),
            Some("binary") => "a string in base64".to_owned(),
            Some("any") | None => ANY.to_owned(),
            Some("array") => match shape.items.as_deref() {
                Some(Shape { reference: Some(name), .. }) => format!("an array of {name}"),
                Some(Shape { kind: Some(kind), .. }) => format!("an array of {kind}"),
                _ => "an array".to_owned(),
            },
            Some("object") if !shape.properties.is_empty() => {
                let names: Vec<_> = shape
                    .properties
                    .iter()
                    .take(VALUES_LISTED_MAX)
                    .map(|property| format!("{}{}", property.name, if property.optional { "?" } else { "" }))
                    .collect();
                format!("an object {{{}}}", names.join(", "))
            }
            Some(kind @ ("integer" | "object")) => format!("an {kind}"),
            Some(kind) => format!("a {kind}"),
        }
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// The part of a given text that a fault repeats.
fn shown(text: &str) -> String {
    let mut shown: String = text.chars().take(FAULT_ECHO_CHARS_MAX + 1).collect();
    clip(&mut shown, FAULT_ECHO_CHARS_MAX);
    shown
}

fn unknown(name: &str, specs: &[Property]) -> String {
    let lower = shown(name).to_lowercase();
    let near = specs
        .iter()
        // Similarity is expensive to compute for a long name, and no real name is that long.
        .filter(|_| name.len() <= METHOD_NAME_CHARS_MAX)
        .map(|spec| (strsim::jaro_winkler(&lower, &spec.name.to_lowercase()), &spec.name))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|(a, _), (b, _)| a.total_cmp(b));
    let names: Vec<_> = specs.iter().map(|spec| spec.name.as_str()).collect();
    match near {
        Some((_, near)) => format!("is unknown; did you mean {near}?"),
        None if names.is_empty() => "is unknown; there are no parameters".to_owned(),
        None => format!("is unknown; there are {}", names.join(", ")),
    }
}

fn one_of(values: &[String]) -> String {
    let listed: Vec<_> = values.iter().take(VALUES_LISTED_MAX).map(|value| format!("{value:?}")).collect();
    let more = values.len() - listed.len();
    let rest = if more > 0 { format!(" or one of {more} more") } else { String::new() };
    format!("one of {}{rest}", listed.join(", "))
}

fn kind_of(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "a boolean",
        Json::Number(_) => "a number",
        Json::String(_) => "a string",
        Json::Array(_) => "an array",
        Json::Object(_) => "an object",
    }
}
