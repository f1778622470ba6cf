//! On whose behalf a service executes, and what that caller may have.

use crate::{exec::Share, network::NetworkRules};
use codemode_spec::{
    ErrorCode, ErrorReport,
    session::{NetworkLists, SessionRequest, checked_key},
};
use std::sync::Arc;

/// A caller of a service. What is not said is as the service has it; the default is the user of the process itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    /// As the operator calls it; it stands in the audit. Executions of callers of one name wait in one line.
    pub name: String,
    /// Its executions that run at the same time.
    pub concurrent_max: Option<usize>,
    /// Its executions that wait for a place.
    pub queued_max: Option<usize>,
    /// The session keys that it may use; `None` is every key.
    pub keys: Option<Vec<KeyPattern>>,
    /// What the browsers of its executions may reach, within what the operator allows all. A call can narrow it.
    pub network: Option<NetworkLists>,
    /// Whether it may administer the host, and so see and end what others have. The user of the process always may.
    pub admin: bool,
}

/// A session key, or with `*` as its last character all that begin so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPattern(String);

impl KeyPattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// What is wrong with it, in words.
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
    /// What it may have of the places for executions.
    pub(super) fn share(&self) -> Share {
        Share {
            caller: Arc::from(self.name.as_str()),
            concurrent_max: self.concurrent_max.unwrap_or(usize::MAX),
            queued_max: self.queued_max.unwrap_or(usize::MAX),
        }
    }

    /// Refuses what it may not have.
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

    /// Refuses a caller who may not administer.
    ///
    /// # Errors
    /// `POLICY_REFUSED`.
    pub fn check_administers(&self) -> Result<(), ErrorReport> {
        if self.admin || self.name.is_empty() {
            return Ok(());
        }
        let message = format!("the caller {:?} may not administer this host", self.name);
        Err(ErrorReport::new(ErrorCode::PolicyRefused, message)
            .with_hint("Use the token of a caller with `admin = true` in the file of tokens, or the command line."))
    }

    /// Checks what it was given.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` with what is wrong with its network rules.
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
