//! The registry of a host's providers: validates their names and schemas, and resolves calls to methods.

use crate::{arguments::CheckedMethod, provider::Provider};
use codemode_spec::{
    Effect, ErrorCode, ErrorReport, Manifest, Method, Value,
    limits::METHOD_NAME_CHARS_MAX,
    manifest::{RESERVED_NAMES, is_identifier},
    message::Namespace,
};
use std::{collections::HashMap, sync::Arc};
use thiserror::Error;

/// Method names that would change the meaning of awaiting, printing or copying a namespace.
const RESERVED_METHODS: &[&str] =
    &["then", "catch", "finally", "constructor", "toString", "valueOf", "toJSON", "__proto__"];

/// Why a set of providers cannot be registered.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "each says it in its message")]
pub enum RegistryError {
    #[error("the namespace name {name:?} is not an identifier")]
    NotAnIdentifier { name: String },
    #[error("the namespace name {name:?} is reserved")]
    Reserved { name: String },
    #[error("two providers offer the namespace {name:?}")]
    DuplicateNamespace { name: String },
    #[error("the methods {first:?} and {second:?} of {namespace} are both written {written:?} in a script")]
    MethodCollision { namespace: String, first: String, second: String, written: String },
    #[error("the method {method:?} of {namespace} has no name that a script could write")]
    UnwritableMethod { namespace: String, method: String },
    #[error("the method {method:?} of {namespace} is reserved")]
    ReservedMethod { namespace: String, method: String },
    #[error("the method {method:?} of {namespace} has no signature")]
    NoSignature { namespace: String, method: String },
    #[error("the method {method:?} of {namespace} has a wrong schema: {fault}")]
    Schema { namespace: String, method: String, fault: String },
}

struct Entry {
    provider: Arc<dyn Provider>,
    /// Keyed by the name that a script writes.
    methods: HashMap<String, CheckedMethod>,
    namespace: Namespace,
}

/// The providers of a host, in the order of their registration.
pub struct Registry {
    entries: Vec<Entry>,
    by_name: HashMap<String, usize>,
}

impl Registry {
    /// Checks the providers' names and schemas.
    ///
    /// # Errors
    /// With the first name or schema that cannot be offered.
    pub fn new(providers: Vec<Arc<dyn Provider>>) -> Result<Self, RegistryError> {
        let mut registry = Self { entries: Vec::new(), by_name: HashMap::new() };
        for provider in providers {
            let name = provider.manifest().namespace.clone();
            if !is_identifier(&name) {
                return Err(RegistryError::NotAnIdentifier { name });
            }
            if RESERVED_NAMES.contains(&name.as_str()) {
                return Err(RegistryError::Reserved { name });
            }
            if registry.by_name.contains_key(&name) {
                return Err(RegistryError::DuplicateNamespace { name });
            }
            let methods = check_methods(provider.manifest())?;
            // In manifest order, so that the same providers always produce the same message to the guest.
            let written = provider.manifest().methods.iter().map(|method| sanitised(&method.name)).collect();
            let namespace = Namespace { name: name.clone(), methods: written };
            registry.by_name.insert(name, registry.entries.len());
            registry.entries.push(Entry { provider, methods, namespace });
        }
        Ok(registry)
    }

    /// The providers, in order.
    pub fn providers(&self) -> impl ExactSizeIterator<Item = &Arc<dyn Provider>> {
        self.entries.iter().map(|entry| &entry.provider)
    }

    /// The namespaces and their methods, as the guest needs them.
    #[must_use]
    pub fn namespaces(&self) -> Vec<Namespace> {
        self.entries.iter().map(|entry| entry.namespace.clone()).collect()
    }

    /// Whether a method's calls accompany a script: see [`Method::background`].
    #[must_use]
    pub fn is_background(&self, namespace: &str, method: &str) -> bool {
        self.method(namespace, method).is_some_and(|method| method.background)
    }

    /// A method, by the name that a script writes.
    #[must_use]
    pub fn method(&self, namespace: &str, method: &str) -> Option<&Method> {
        let entry = &self.entries[*self.by_name.get(namespace)?];
        entry.methods.get(method).map(|checked| &checked.method)
    }

    /// Resolves a call to a method and validates its arguments; returns the provider's index and the method. A `null`
    /// argument for an optional parameter that does not accept `null` is removed from the arguments.
    ///
    /// # Errors
    /// `UNKNOWN_METHOD` with the nearest name, `APPROVAL_REQUIRED` for a method that needs approval (no host can ask a
    /// person yet), or `INVALID_ARGUMENT` with all faults.
    pub fn resolve(
        &self,
        namespace: &str,
        method: &str,
        arguments: &mut [Value],
    ) -> Result<(usize, &Method), ErrorReport> {
        let index =
            self.by_name.get(namespace).copied().ok_or_else(|| {
                ErrorReport::new(ErrorCode::UnknownMethod, format!("there is no namespace {namespace}"))
            })?;
        let entry = &self.entries[index];
        let checked = entry.methods.get(method).ok_or_else(|| unknown_method(entry, method))?;
        if checked.method.effect == Effect::NeedsApproval {
            let message = format!("{namespace}.{method} may be called only with a person's approval");
            return Err(ErrorReport::new(ErrorCode::ApprovalRequired, message));
        }
        checked.check(namespace, arguments)?;
        Ok((index, &checked.method))
    }
}

fn unknown_method(entry: &Entry, method: &str) -> ErrorReport {
    let Namespace { name, methods } = &entry.namespace;
    let hint = match nearest(method, methods.iter().map(String::as_str)) {
        Some(near) => format!("Did you mean {name}.{near}? The methods are: {}.", methods.join(", ")),
        None => format!("The methods are: {}.", methods.join(", ")),
    };
    ErrorReport::new(ErrorCode::UnknownMethod, format!("{name}.{method} does not exist")).with_hint(hint)
}

fn check_methods(manifest: &Manifest) -> Result<HashMap<String, CheckedMethod>, RegistryError> {
    let namespace = || manifest.namespace.clone();
    let mut methods: HashMap<String, CheckedMethod> = HashMap::new();
    for method in &manifest.methods {
        let written = sanitised(&method.name);
        if !is_identifier(&written) {
            return Err(RegistryError::UnwritableMethod { namespace: namespace(), method: method.name.clone() });
        }
        if RESERVED_METHODS.contains(&written.as_str()) {
            return Err(RegistryError::ReservedMethod { namespace: namespace(), method: method.name.clone() });
        }
        if let Some(first) = methods.get(&written) {
            return Err(RegistryError::MethodCollision {
                namespace: namespace(),
                first: first.method.name.clone(),
                second: method.name.clone(),
                written,
            });
        }
        if method.signatures.is_empty() {
            return Err(RegistryError::NoSignature { namespace: namespace(), method: method.name.clone() });
        }
        let checked = CheckedMethod::new(method.clone()).map_err(|fault| RegistryError::Schema {
            namespace: namespace(),
            method: method.name.clone(),
            fault,
        })?;
        methods.insert(written, checked);
    }
    Ok(methods)
}

/// The identifier under which a script calls a method: characters that an identifier cannot contain become `_`.
fn sanitised(name: &str) -> String {
    let mut written: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '$' { c } else { '_' }).collect();
    if written.starts_with(|c: char| c.is_ascii_digit()) {
        written.insert(0, '_');
    }
    written
}

/// The candidate most similar to a name, if any is similar enough to have been meant.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Similarity is expensive to compute for a long name, and no real name is that long.
    let lower = Some(name).filter(|name| name.len() <= METHOD_NAME_CHARS_MAX)?.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&lower, &candidate.to_lowercase()), candidate))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}
