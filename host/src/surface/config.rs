//! The settings of the program, each declared once: name, flag, environment variable, default, unit. They become the plain
//! settings of a service.

use crate::service::{
    BrowserConfig, ConfineMode, Confinement, DevicePermission, NetworkLists, NetworkRules, Retention, Service,
    SessionRequest, Settings,
};
use codemode_spec::{
    ErrorCode, ErrorReport,
    limits::{EXECUTIONS_CONCURRENT_MAX, EXECUTIONS_QUEUED_MAX, LEASE_TTL_MS, RESULT_CHARS_MAX, RESULT_CHARS_MIN},
    whole,
};
use serde::Deserialize;
use std::{env, fmt, fs, io, path::PathBuf, time::Duration};

/// A value that must not be shown: its `Debug` prints a name.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("(secret)")
    }
}

/// An HTTP header of an endpoint, written `Name: value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Secret,
}

impl std::str::FromStr for Header {
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

/// Everything that can be set.
#[derive(Clone, Debug, clap::Args)]
pub struct Config {
    /// The folder of everything that codemode keeps [default: $XDG_STATE_HOME/codemode, or ~/.local/state/codemode]
    #[arg(long, env = "CODEMODE_STATE_DIR", global = true, value_name = "FOLDER")]
    pub state_dir: Option<PathBuf>,

    /// The folder of prepared sandbox images [default: images in the state folder]
    #[arg(long, env = "CODEMODE_IMAGE_DIR", global = true, value_name = "FOLDER", hide = true)]
    pub image_dir: Option<PathBuf>,

    /// The Chromium to use [default: found on PATH and in the usual places]
    #[arg(long, env = "CODEMODE_BROWSER", global = true, value_name = "FILE")]
    pub browser: Option<PathBuf>,

    /// Use the browser at this endpoint (ws:// or http://) instead of launching one; it is never closed
    #[arg(long, env = "CODEMODE_CDP_URL", global = true, value_name = "URL", hide_env_values = true)]
    pub cdp_url: Option<String>,

    /// A header for the endpoint, as `Name: value`; may be repeated
    #[arg(long, env = "CODEMODE_CDP_HEADER", global = true, value_name = "HEADER", hide_env_values = true)]
    pub cdp_header: Vec<Header>,

    /// Show the browser's window
    #[arg(long, env = "CODEMODE_HEADED", global = true)]
    pub headed: bool,

    /// Whether browsers are kept from the machine's files: require, try or off [default: try]
    #[arg(long, env = "CODEMODE_CONFINE", global = true, value_name = "MODE")]
    pub confine: Option<ConfineMode>,

    /// The file of defaults [default: $XDG_CONFIG_HOME/codemode/config.toml, or ~/.config/codemode/config.toml]
    #[arg(id = "config_file", long = "config", env = "CODEMODE_CONFIG", global = true, value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// The program that keeps browsers [default: this one]
    #[arg(long, env = "CODEMODE_KEEPER", global = true, value_name = "FILE", hide = true)]
    pub keeper: Option<PathBuf>,

    /// How long a lease holds that is not renewed, in milliseconds
    #[arg(long, env = "CODEMODE_LEASE_TTL_MS", global = true, default_value_t = LEASE_TTL_MS, hide = true)]
    pub lease_ttl_ms: u64,

    /// Executions that run at the same time
    #[arg(long, env = "CODEMODE_CONCURRENT", global = true, default_value_t = EXECUTIONS_CONCURRENT_MAX, hide = true)]
    pub concurrent: usize,

    /// Executions that wait for a place
    #[arg(long, env = "CODEMODE_QUEUED", global = true, default_value_t = EXECUTIONS_QUEUED_MAX, hide = true)]
    pub queued: usize,
}

/// What the file of defaults may say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Defaults {
    /// The session of executions that ask for none.
    pub session: SessionRequest,
    /// What answers carry of results.
    pub result: ResultDefaults,
    /// How long what is over is remembered.
    pub keep: Keep,
    /// What scripts may do beyond what all may.
    pub policy: Policy,
    /// How browsers are started.
    pub browser: BrowserDefaults,
    /// What browsers may reach. A call may narrow it.
    pub network: NetworkLists,
}

/// What answers carry of results, of calls that do not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ResultDefaults {
    /// Characters.
    #[serde(deserialize_with = "whole::optional")]
    pub chars: Option<u64>,
}

/// What scripts may do beyond what all may.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Policy {
    /// What they may let pages have of this machine's devices.
    pub device_permissions: Vec<DevicePermission>,
}

/// How browsers are started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BrowserDefaults {
    /// Whether they are kept from the machine's files.
    pub confine: ConfineMode,
    /// Files and folders that they may read besides their own, as a company's certificates.
    pub readable: Vec<PathBuf>,
}

impl Defaults {
    /// Everything that is wrong with it.
    fn faults(&self) -> Vec<String> {
        let mut faults = self.session.faults();
        let of_session = self.session.network.iter().filter_map(|lists| NetworkRules::parse(lists).err());
        faults.extend(of_session.flat_map(|wrong| wrong.lines()).map(|line| format!("session.{line}")));
        let chars = RESULT_CHARS_MIN as u64..=RESULT_CHARS_MAX as u64;
        if self.result.chars.is_some_and(|wanted| !chars.contains(&wanted)) {
            faults.push(format!("result.chars must be between {RESULT_CHARS_MIN} and {RESULT_CHARS_MAX}"));
        }
        faults.extend(NetworkRules::parse(&self.network).err().into_iter().flat_map(|wrong| wrong.lines()));
        faults
    }
}

/// How long what is over is remembered. What is not said is as it is everywhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Keep {
    /// Ended sessions, in milliseconds.
    #[serde(deserialize_with = "whole::optional")]
    pub sessions_ms: Option<u64>,
    /// Profiles and cookies of keys that are not used, in milliseconds.
    #[serde(deserialize_with = "whole::optional")]
    pub logins_ms: Option<u64>,
    /// Rows of the audit, at least a thousand.
    #[serde(deserialize_with = "whole::optional")]
    pub audit_rows: Option<u64>,
}

impl Config {
    /// The service of the program.
    ///
    /// # Errors
    /// As [`Self::settings`].
    pub(super) fn service(&self) -> Result<Service, ErrorReport> {
        Service::builder(self.settings()?).build()
    }

    /// The settings of a service: flags and variables, and the file of defaults where they say nothing.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` when the file of defaults cannot be read, or says what it must not.
    pub(super) fn settings(&self) -> Result<Settings, ErrorReport> {
        let Defaults { session, result, keep, policy, browser, network } = self.defaults()?;
        let keeper = self.keeper.clone().map_or_else(env::current_exe, Ok).map_err(|error| {
            ErrorReport::new(ErrorCode::HostFault, format!("this program's own file cannot be found: {error}"))
        })?;
        let usual = Settings::default();
        Ok(Settings {
            state_dir: self.state_dir.clone(),
            image_dir: self.image_dir.clone(),
            browser: BrowserConfig {
                browser: self.browser.clone(),
                cdp_url: self.cdp_url.clone(),
                headers: self.cdp_header.iter().map(|header| (header.name.clone(), header.value.0.clone())).collect(),
                headless: !self.headed,
                device_permissions: policy.device_permissions,
                confinement: Confinement { mode: self.confine.unwrap_or(browser.confine), readable: browser.readable },
                protocols_dir: None,
            },
            keeper: Some(keeper),
            lease_ttl: Duration::from_millis(self.lease_ttl_ms),
            retention: Retention {
                sessions_ms: keep.sessions_ms.unwrap_or(usual.retention.sessions_ms),
                logins_ms: keep.logins_ms.unwrap_or(usual.retention.logins_ms),
                audit_rows: keep.audit_rows.unwrap_or(usual.retention.audit_rows),
            },
            network: NetworkRules::parse(&network)
                .map_err(|faults| ErrorReport::new(ErrorCode::InvalidArgument, faults.to_string()))?,
            session,
            result_chars: result.chars.unwrap_or(usual.result_chars),
            concurrent_max: self.concurrent,
            queued_max: self.queued,
        })
    }

    /// Reads the file of defaults. If none was named, there need not be one.
    fn defaults(&self) -> Result<Defaults, ErrorReport> {
        let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let usual = || {
            let folder = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
            Some(folder.join("codemode/config.toml"))
        };
        let Some(path) = self.file.clone().or_else(usual) else { return Ok(Defaults::default()) };
        let wrong = |fault: &str| {
            let message = format!("the file of defaults {} is wrong: {fault}", path.display());
            ErrorReport::new(ErrorCode::InvalidArgument, message)
                .with_hint("Write for example: [session] mode = \"reuse\", key = \"shop\", ttl_ms = 600000.")
        };
        match fs::read_to_string(&path) {
            Ok(text) => {
                let defaults: Defaults = toml::from_str(&text).map_err(|error| wrong(error.message()))?;
                match defaults.faults() {
                    faults if faults.is_empty() => Ok(defaults),
                    faults => Err(wrong(&faults.join("; "))),
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.file.is_none() => Ok(Defaults::default()),
            Err(error) => Err(wrong(&error.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_may_be_written_as_floats() {
        let text = "[session]\nmode = \"reuse\"\nkey = \"shop\"\nttl_ms = 6e5\n[keep]\nsessions_ms = 1000.0\naudit_rows = 2e3\n";
        let defaults: Defaults = toml::from_str(text).unwrap();
        assert_eq!(defaults.session.ttl_ms, Some(600_000));
        assert_eq!(defaults.keep, Keep { sessions_ms: Some(1_000), logins_ms: None, audit_rows: Some(2_000) });
        assert!(toml::from_str::<Defaults>("[keep]\naudit_rows = 1.5\n").is_err());
    }
}
