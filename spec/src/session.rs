//! How an execution asks for a browser session, on every surface and for every provider.

use crate::{
    limits::{
        LEASE_WAIT_MS_DEFAULT, LEASE_WAIT_MS_MAX, SESSION_IDLE_MS_DEFAULT, SESSION_IDLE_MS_MAX, SESSION_IDLE_MS_MIN,
        SESSION_KEY_CHARS_MAX,
    },
    whole,
};
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

/// How a browser session lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SessionMode {
    /// A fresh browser, closed at the end.
    #[default]
    OneShot,
    /// The browser of a key: made on first use, kept between executions.
    Reuse,
    /// The shared browser of a key if it lives; otherwise a fresh one, closed at the end unless the script promotes it.
    Dynamic,
}

impl SessionMode {
    /// Every mode.
    pub const ALL: [Self; 3] = [Self::OneShot, Self::Reuse, Self::Dynamic];

    /// As it is written on every surface.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OneShot => "one-shot",
            Self::Reuse => "reuse",
            Self::Dynamic => "dynamic",
        }
    }
}

impl fmt::Display for SessionMode {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

impl FromStr for SessionMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|mode| mode.as_str() == text)
            .ok_or_else(|| format!("{text:?} is no session mode: there are one-shot, reuse and dynamic"))
    }
}

/// What an answer tells of the lease on its browser session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LeaseFacts {
    /// As the session was asked for.
    pub mode: SessionMode,
    /// The key, if the session is the shared one of a key.
    pub key: Option<String>,
    /// Whether the session outlives the execution.
    pub shared: bool,
    /// The fencing token.
    pub token: u64,
    /// How long the lease holds without being renewed, in milliseconds.
    pub ttl_ms: u64,
    /// How long the session is kept unused, in milliseconds, if it outlives the execution.
    pub kept_ms: Option<u64>,
}

/// Which browser session an execution runs in. With the feature `schema`, the fields' descriptions are what a model reads:
/// the namespaces explain their own part of it, so none is named here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(description = ""))]
#[serde(deny_unknown_fields)]
pub struct SessionRequest {
    /// How the session lives.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(description = MODES))]
    pub mode: SessionMode,
    /// Which browser: one for each key. Needed by `reuse` and `dynamic`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(description = "names the browser"))]
    pub key: Option<String>,
    /// How long a shared browser is kept unused, in milliseconds.
    #[serde(default, deserialize_with = "whole::optional", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schemars(
            description = "kept unused so long",
            range(min = SESSION_IDLE_MS_MIN, max = SESSION_IDLE_MS_MAX),
            extend("default" = SESSION_IDLE_MS_DEFAULT)
        )
    )]
    pub ttl_ms: Option<u64>,
    /// How long to wait for a browser that another execution uses, in milliseconds.
    #[serde(default, deserialize_with = "whole::optional", skip_serializing_if = "Option::is_none")]
    #[cfg_attr(
        feature = "schema",
        schemars(
            description = "waits while it is in use",
            range(min = 0, max = LEASE_WAIT_MS_MAX),
            extend("default" = LEASE_WAIT_MS_DEFAULT)
        )
    )]
    pub wait_ms: Option<u64>,
    /// What the browser may reach, within what the operator allows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(description = "hosts, *.hosts, CIDRs, :ports"))]
    pub network: Option<NetworkLists>,
    /// What the operator lets this caller's browsers reach. Set by the host, and never read from a request.
    #[serde(skip)]
    pub caller_network: Option<NetworkLists>,
}

/// What the modes are, for a model.
#[cfg(feature = "schema")]
const MODES: &str = "one-shot: fresh, then closed. reuse: the key's browser, kept between calls with its logins. dynamic: \
                     the key's if there is one, else one-shot unless kept";

#[cfg(feature = "schema")]
impl schemars::JsonSchema for SessionMode {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SessionMode".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "enum": Self::ALL.map(Self::as_str) })
    }
}

/// Patterns of what may be reached: host names, `*.example.com`, addresses, networks, each with `:port` or `:port-port`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct NetworkLists {
    /// If it is not empty, nothing else may be reached.
    #[cfg_attr(feature = "schema", schemars(description = ""))]
    pub allow: Vec<String>,
    /// May not be reached, whatever is allowed.
    #[cfg_attr(feature = "schema", schemars(description = ""))]
    pub deny: Vec<String>,
}

impl SessionRequest {
    /// Whether its browser may reach less than what the operator allows all.
    #[must_use]
    pub const fn is_narrowed(&self) -> bool {
        self.network.is_some() || self.caller_network.is_some()
    }

    /// How long a shared browser is kept unused, in milliseconds.
    #[must_use]
    pub fn ttl_ms(&self) -> u64 {
        self.ttl_ms.unwrap_or(SESSION_IDLE_MS_DEFAULT)
    }

    /// How long to wait for a browser that another execution uses, in milliseconds.
    #[must_use]
    pub fn wait_ms(&self) -> u64 {
        self.wait_ms.unwrap_or(LEASE_WAIT_MS_DEFAULT)
    }

    /// Everything that is wrong with it.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        match (self.mode, &self.key) {
            (SessionMode::OneShot, Some(_)) => {
                faults.push("session.key: a one-shot session has none; use mode reuse or dynamic".to_owned());
            }
            (SessionMode::Reuse | SessionMode::Dynamic, None) => {
                faults.push(format!("session.key: the mode {} needs one", self.mode));
            }
            (_, Some(key)) => faults.extend(checked_key(key).err().map(|fault| format!("session.key: {fault}"))),
            (SessionMode::OneShot, None) => {}
        }
        let bounds = [
            ("ttl_ms", self.ttl_ms, SESSION_IDLE_MS_MIN, SESSION_IDLE_MS_MAX),
            ("wait_ms", self.wait_ms, 0, LEASE_WAIT_MS_MAX),
        ];
        for (name, value, min, max) in bounds {
            if value.is_some_and(|value| !(min..=max).contains(&value)) {
                faults.push(format!("session.{name}: it must be between {min} and {max}"));
            }
        }
        faults
    }
}

/// Whether a text can be the key of a session: short, printable, without spaces.
#[must_use]
pub fn is_key(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-:@/+".contains(&byte);
    (1..=SESSION_KEY_CHARS_MAX).contains(&text.len()) && text.bytes().all(is_plain)
}

/// The key of a session, if the text can be one.
///
/// # Errors
/// What a key is made of.
pub fn checked_key(text: &str) -> Result<String, String> {
    let what = || format!("1 to {SESSION_KEY_CHARS_MAX} letters, digits and . _ - : @ / + are a key");
    if is_key(text) { Ok(text.to_owned()) } else { Err(what()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_named() {
        let asked =
            |mode, key: Option<&str>| SessionRequest { mode, key: key.map(str::to_owned), ..Default::default() };
        assert_eq!(asked(SessionMode::OneShot, None).faults(), Vec::<String>::new());
        assert_eq!(asked(SessionMode::Reuse, Some("user@shop.test/1")).faults(), Vec::<String>::new());
        for wrong in [
            asked(SessionMode::OneShot, Some("a")),
            asked(SessionMode::Reuse, None),
            asked(SessionMode::Dynamic, None),
            asked(SessionMode::Reuse, Some("")),
            asked(SessionMode::Reuse, Some("a b")),
            asked(SessionMode::Reuse, Some("ä")),
            asked(SessionMode::Reuse, Some(&"x".repeat(SESSION_KEY_CHARS_MAX + 1))),
        ] {
            assert_eq!(wrong.faults().len(), 1, "{wrong:?}");
        }
        let all = SessionRequest {
            mode: SessionMode::Reuse,
            key: None,
            ttl_ms: Some(0),
            wait_ms: Some(u64::MAX),
            network: None,
            caller_network: None,
        };
        assert_eq!(all.faults().len(), 3);
        assert_eq!("reuse".parse(), Ok(SessionMode::Reuse));
        assert!("re-use".parse::<SessionMode>().is_err());
    }
}
