//! The caller on whose behalf a service executes, and the caller's rights.

use crate::{exec::Share, network::NetworkRules};
use codemode_spec::{
    ErrorCode, ErrorReport,
    session::{NetworkLists, SessionRequest, checked_key},
};
use std::sync::Arc;

/// A caller of a service. Rights that are `None` are those of the service. The default is the user of the process
/// itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    /// The name that the operator gave it; recorded in the audit. Callers of the same name share one queue.
    pub name: String,
    /// The maximum number of its executions that run at the same time.
    pub concurrent_max: Option<usize>,
    /// The maximum number of its executions that wait for a permit.
    pub queued_max: Option<usize>,
    /// The session keys that it may use; `None` is every key.
    pub keys: Option<Vec<KeyPattern>>,
    /// The network rules of its executions, within those of the operator. A call can narrow them.
    pub network: Option<NetworkLists>,
    /// Whether it may administer the host, and so see and end sessions of other callers. The user of the process always
    /// may.
    pub admin: bool,
}

/// A session key, or a prefix of session keys if its last character is `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPattern(String);

impl KeyPattern {
    /// Parses a pattern.
    ///
    /// # Errors
    /// A message that describes the fault.
    pub fn parse(text: &str) -> Result<Self, String> {
        let start = text.strip_suffix('*').unwrap_or(text);
        if text != "*" {
            checked_key(start)?;
        }
        Ok(Self(text.to_owned()))
    }

    fn admits(&self, key: &str) -> bool {
        match self.0.strip_suffix('*') {
            Some(start) => key.starts_with(start),
            None => self.0 == key,
        }
    }
}

impl Caller {
    /// The caller's share of the permits for executions.
    pub(super) fn share(&self) -> Share {
        Share {
            caller: Arc::from(self.name.as_str()),
            concurrent_max: self.concurrent_max.unwrap_or(usize::MAX),
            queued_max: self.queued_max.unwrap_or(usize::MAX),
        }
    }

    /// Checks that the caller may use the session's key.
    pub(super) fn check(&self, session: &SessionRequest) -> Result<(), ErrorReport> {
        let (Some(keys), Some(key)) = (&self.keys, &session.key) else { return Ok(()) };
        if keys.iter().any(|pattern| pattern.admits(key)) {
            return Ok(());
        }
        let own: Vec<_> = keys.iter().map(|KeyPattern(text)| text.as_str()).collect();
        let message = format!("the session key {key:?} is not for the caller {:?}", self.name);
        Err(ErrorReport::new(ErrorCode::PolicyRefused, message).with_hint(match own.as_slice() {
            [] => "This caller has no session keys: leave the session out, for a fresh browser.".to_owned(),
            own => format!("Use one of this caller's keys: {}.", own.join(", ")),
        }))
    }

    /// Checks that the caller may administer the host.
    ///
    /// # Errors
    /// `POLICY_REFUSED`.
    pub fn check_administers(&self) -> Result<(), ErrorReport> {
        if self.admin || self.name.is_empty() {
            return Ok(());
        }
        let message = format!("the caller {:?} may not administer this host", self.name);
        Err(ErrorReport::new(ErrorCode::PolicyRefused, message)
            .with_hint("Use the token of a caller with `admin = true` in the token file, or the command line."))
    }

    /// Validates the caller's rights.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` with the faults of its network rules.
    pub fn checked(self) -> Result<Self, ErrorReport> {
        let rules = self.network.as_ref().map(NetworkRules::parse).transpose();
        rules.map_err(|faults| ErrorReport::new(ErrorCode::InvalidArgument, faults.to_string()))?;
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_uses_its_own_keys() {
        let caller = |keys: &[&str]| Caller {
            name: "ci".to_owned(),
            keys: Some(keys.iter().map(|key| KeyPattern::parse(key).unwrap()).collect()),
            ..Caller::default()
        };
        let asked = |key: Option<&str>| SessionRequest { key: key.map(str::to_owned), ..SessionRequest::default() };
        for (keys, key, is_admitted) in [
            (&["ci-*", "shop"][..], "ci-1", true),
            (&["ci-*", "shop"], "shop", true),
            (&["ci-*", "shop"], "shop2", false),
            (&["ci-*", "shop"], "ci", false),
            (&["*"], "anything", true),
            (&[], "anything", false),
        ] {
            let checked = caller(keys).check(&asked(Some(key)));
            assert_eq!(checked.is_ok(), is_admitted, "{keys:?} {key}");
        }
        let error = caller(&["ci-*", "shop"]).check(&asked(Some("mine"))).unwrap_err();
        assert_eq!(error.code, ErrorCode::PolicyRefused);
        assert_eq!(error.hint, "Use one of this caller's keys: ci-*, shop.");
        caller(&[]).check(&asked(None)).unwrap();
        Caller::default().check(&asked(Some("mine"))).unwrap();
        assert_eq!(caller(&["*"]).check_administers().unwrap_err().code, ErrorCode::PolicyRefused);
        Caller { admin: true, ..caller(&[]) }.check_administers().unwrap();
        Caller::default().check_administers().unwrap();
        assert!(KeyPattern::parse("").is_err() && KeyPattern::parse("a**").is_err());
    }
}
