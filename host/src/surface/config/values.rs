//! The settings as typed values, deserialised from the merged configuration file, flags and variables.

use super::declared;
use crate::service::{ConfineMode, DevicePermission, NetworkLists, NetworkRules, SessionRequest};
use codemode_spec::{
    limits::{RESULT_CHARS_MAX, RESULT_CHARS_MIN, SERVE_GRACE_MS_MAX},
    whole,
};
use serde::Deserialize;
use std::{fmt, net::SocketAddr, path::PathBuf, str::FromStr};

/// A value that must not be shown: its `Debug` prints a placeholder.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("(secret)")
    }
}

/// An HTTP header sent to a CDP endpoint, written `Name: value`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Header {
    /// The header's name.
    pub name: String,
    /// The header's value.
    pub value: Secret,
}

impl FromStr for Header {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, value) = text.split_once(':').ok_or("a header is written as `Name: value`")?;
        let (name, value) = (name.trim(), value.trim());
        let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if name.is_empty() || !name.bytes().all(token) {
            return Err("the header's name is not an HTTP token");
        }
        Ok(Self { name: name.to_owned(), value: Secret(value.to_owned()) })
    }
}

impl TryFrom<String> for Header {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

/// All settings; the field path of each is its name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Values {
    pub state_dir: Option<PathBuf>,
    pub image_dir: Option<PathBuf>,
    pub keeper: Option<PathBuf>,
    pub session: SessionRequest,
    pub result: ResultValues,
    pub keep: Keep,
    pub lease: LeaseValues,
    pub executions: Executions,
    pub policy: Policy,
    pub browser: BrowserValues,
    pub network: NetworkLists,
    pub log: LogValues,
    pub serve: ServeValues,
}

/// The default size of results in answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ResultValues {
    #[serde(deserialize_with = "whole::optional")]
    pub chars: Option<u64>,
}

/// How long records are retained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Keep {
    #[serde(deserialize_with = "whole::optional")]
    pub sessions_ms: Option<u64>,
    #[serde(deserialize_with = "whole::optional")]
    pub logins_ms: Option<u64>,
    #[serde(deserialize_with = "whole::optional")]
    pub audit_rows: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct LeaseValues {
    #[serde(deserialize_with = "whole::optional")]
    pub ttl_ms: Option<u64>,
}

/// The bounds on concurrent and queued executions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Executions {
    #[serde(deserialize_with = "whole::optional")]
    pub concurrent: Option<u64>,
    #[serde(deserialize_with = "whole::optional")]
    pub queued: Option<u64>,
}

/// Additional permissions of scripts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Policy {
    pub device_permissions: Vec<DevicePermission>,
}

/// The browser to use, and how it is started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct BrowserValues {
    pub path: Option<PathBuf>,
    pub cdp_url: Option<String>,
    pub cdp_headers: Vec<Header>,
    pub headed: bool,
    pub confine: ConfineMode,
    pub readable: Vec<PathBuf>,
}

/// The log settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LogValues {
    /// The filter of events.
    pub filter: Option<String>,
    /// The output format.
    pub format: LogFormat,
    /// The base URL of the OpenTelemetry collector; `None` or empty if there is none.
    pub otlp: Option<String>,
}

/// The output format of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    /// Text for people.
    #[default]
    Text,
    /// One JSON object per line, for programs.
    Json,
}

/// The settings of `codemode serve`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(in crate::surface) struct ServeValues {
    pub listen: Option<SocketAddr>,
    pub token: Option<Secret>,
    pub token_file: Option<PathBuf>,
    pub allowed_hosts: Vec<String>,
    pub allowed_origins: Vec<String>,
    #[serde(deserialize_with = "whole::optional")]
    pub grace_ms: Option<u64>,
    #[serde(deserialize_with = "whole::optional")]
    pub patience_ms: Option<u64>,
    pub vnext: Option<SocketAddr>,
    pub no_evaluate: bool,
    pub no_insight: bool,
    pub uploads: Option<PathBuf>,
    pub no_history: bool,
}

impl Values {
    /// All faults of the values that deserialisation does not detect.
    pub(super) fn faults(&self) -> Vec<String> {
        let mut faults = self.session.faults();
        let of_session = self.session.network.iter().filter_map(|lists| NetworkRules::parse(lists).err());
        faults.extend(of_session.flat_map(|wrong| wrong.lines()).map(|line| format!("session.{line}")));
        let chars = RESULT_CHARS_MIN as u64..=RESULT_CHARS_MAX as u64;
        if self.result.chars.is_some_and(|wanted| !chars.contains(&wanted)) {
            faults.push(format!("result.chars must be between {RESULT_CHARS_MIN} and {RESULT_CHARS_MAX}"));
        }
        if self.serve.grace_ms.is_some_and(|wanted| wanted > SERVE_GRACE_MS_MAX) {
            faults.push(format!("serve.grace_ms must be at most {SERVE_GRACE_MS_MAX}"));
        }
        let collector = self.log.otlp.as_deref().map_or(Ok(()), declared::collector);
        faults.extend(collector.err().map(|fault| format!("log.otlp: {fault}")));
        faults.extend(NetworkRules::parse(&self.network).err().into_iter().flat_map(|wrong| wrong.lines()));
        faults
    }
}
