//! The settings of the program. Each is declared once (`declared`), is set by a flag, an environment variable or the
//! configuration file (`layers`), and has a type (`values`). From them come the plain settings of a service.

mod declared;
mod layers;
mod values;

pub use declared::{SETTINGS, Setting};
pub use layers::Origin;
pub(in crate::surface) use values::ServeValues;
pub use values::{LogFormat, LogValues, Secret};

use crate::service::{BrowserConfig, Confinement, NetworkRules, Retention, Service, SessionRequest, Settings};
use clap::{ArgMatches, Args, Command, FromArgMatches};
use codemode_spec::{ErrorCode, ErrorReport};
use layers::{Given, Layers, given, misshapen_secrets, unknown};
use serde::{Deserialize as _, Serialize};
use std::{env, fs, io, path::PathBuf, time::Duration};
use toml::Table;
use values::Values;

/// The settings that every command has, as far as the command line and the environment set them.
#[derive(Clone, Debug, Default)]
pub struct Config {
    given: Vec<Given>,
}

/// The settings that only `codemode serve` has, as far as the command line and the environment set them.
#[derive(Clone, Debug, Default)]
pub struct ServeArgs {
    given: Vec<Given>,
}

fn with_args(command: Command, of_serve: bool) -> Command {
    let settings = SETTINGS.iter().filter(|setting| setting.of_serve == of_serve);
    settings.filter_map(Setting::arg).fold(command, |command, arg| command.arg(arg.global(!of_serve)))
}

impl Args for Config {
    fn augment_args(command: Command) -> Command {
        with_args(command, false)
    }

    fn augment_args_for_update(command: Command) -> Command {
        with_args(command, false)
    }
}

impl FromArgMatches for Config {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self { given: given(matches, false) })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.given = given(matches, false);
        Ok(())
    }
}

impl Args for ServeArgs {
    fn augment_args(command: Command) -> Command {
        with_args(command, true)
    }

    fn augment_args_for_update(command: Command) -> Command {
        with_args(command, true)
    }
}

impl FromArgMatches for ServeArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self { given: given(matches, true) })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.given = given(matches, true);
        Ok(())
    }
}

/// The settings after reading all sources: flags and variables over the configuration file over defaults.
#[derive(Clone, Debug)]
pub struct ResolvedConfig {
    layers: Layers,
    values: Values,
}

/// The effective settings.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConfigShown {
    /// All settings, in the order of the reference.
    pub settings: Vec<SettingShown>,
}

/// One effective setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SettingShown {
    /// Its name, which is its path in the configuration file.
    pub name: &'static str,
    /// Its value; `(secret)` for a secret, `null` if it is not set.
    pub value: serde_json::Value,
    /// The kind of source that set the value.
    pub origin: Origin,
    /// The flag, the variable or the file that set it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Its command-line flag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flag: Option<String>,
    /// Its environment variable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variable: Option<&'static str>,
    /// Whether the configuration file may set it.
    pub in_file: bool,
    /// The default value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Whether a running host applies a change of it on reload.
    pub reloads: bool,
    /// Its description.
    pub about: &'static str,
}

impl Config {
    /// These settings together with those of `codemode serve`.
    #[must_use]
    pub fn and(mut self, serve: ServeArgs) -> Self {
        self.given.extend(serve.given);
        self
    }

    /// Builds the service of the program.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(super) fn service(&self) -> Result<Service, ErrorReport> {
        Service::builder(self.read()?.settings()?).build()
    }

    /// The state folder, for a process that needs no other setting. The configuration file is not read if a flag or a
    /// variable names the folder, so that an invalid file does not matter then.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(super) fn state_dir(&self) -> Result<Option<PathBuf>, ErrorReport> {
        let named = self.given.iter().find(|given| given.setting.name == "state_dir");
        match named.and_then(|given| given.value.as_str()) {
            Some(folder) => Ok(Some(PathBuf::from(folder))),
            None => Ok(self.read()?.values.state_dir),
        }
    }

    /// The log settings. Faults of the configuration file are ignored here: the command reports them.
    #[must_use]
    pub fn log(&self) -> LogValues {
        let of_file = self.read().map(|resolved| resolved.values.log);
        of_file.unwrap_or_else(|_| {
            let layers = Layers { given: self.given.clone(), ..Layers::default() };
            let given = layers.merged().remove("log").and_then(|log| LogValues::deserialize(log).ok());
            given.unwrap_or_default()
        })
    }

    /// The configuration file named by a flag or a variable.
    fn named_file(&self) -> Option<PathBuf> {
        let named = self.given.iter().find(|given| given.setting.name == "config");
        named.and_then(|given| given.value.as_str()).map(PathBuf::from)
    }

    /// The path of the configuration file, which need not exist; `None` if no home folder is known.
    pub(super) fn file(&self) -> Option<PathBuf> {
        self.named_file().or_else(default_path)
    }

    /// Reads the configuration file; flags and variables take precedence over it.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` when the file cannot be read, or a value is invalid.
    pub(super) fn read(&self) -> Result<ResolvedConfig, ErrorReport> {
        let (path, file) = file(self.named_file())?;
        let layers = Layers { given: self.given.clone(), path, file };
        let values = Values::deserialize(layers.merged()).map_err(|error| invalid(&one_line(&error)))?;
        match values.faults() {
            faults if faults.is_empty() => Ok(ResolvedConfig { layers, values }),
            faults => Err(invalid(&faults.join("; "))),
        }
    }
}

/// The path of the configuration file if no flag or variable names one.
fn default_path() -> Option<PathBuf> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
    Some(folder.join("codemode/config.toml"))
}

/// Reads the configuration file; returns its path and content. Only a file that was named explicitly must exist.
fn file(named: Option<PathBuf>) -> Result<(Option<PathBuf>, Table), ErrorReport> {
    let is_named = named.is_some();
    let Some(path) = named.or_else(default_path) else { return Ok((None, Table::new())) };
    let wrong = |fault: &str| invalid(&format!("the configuration file {} is wrong: {fault}", path.display()));
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound && !is_named => return Ok((None, Table::new())),
        Err(error) => return Err(wrong(&error.to_string())),
    };
    let table: Table = toml::from_str(&text).map_err(|error| wrong(error.message()))?;
    // Validated before merging, so that a fault is reported as one of the file.
    let unknown = unknown(&table);
    if !unknown.is_empty() {
        return Err(wrong(&format!("there is no setting {}", unknown.join(", "))));
    }
    let misshapen = misshapen_secrets(&table);
    if !misshapen.is_empty() {
        return Err(wrong(&format!("no text, or no list of texts, is {}", misshapen.join(", "))));
    }
    let values = Values::deserialize(table.clone()).map_err(|error| wrong(&one_line(&error)))?;
    match values.faults() {
        faults if faults.is_empty() => Ok((Some(path), table)),
        faults => Err(wrong(&faults.join("; "))),
    }
}

fn one_line(error: &toml::de::Error) -> String {
    error.to_string().trim().replace('\n', " ")
}

fn invalid(fault: &str) -> ErrorReport {
    ErrorReport::new(ErrorCode::InvalidArgument, fault)
        .with_hint("Write for example: [session] mode = \"reuse\", key = \"shop\", ttl_ms = 600000; `codemode config show` lists all settings.")
}

impl ResolvedConfig {
    /// The settings of the service.
    ///
    /// # Errors
    /// `HOST_FAULT` when the path of this program's executable is unknown.
    pub(super) fn settings(&self) -> Result<Settings, ErrorReport> {
        let Values {
            state_dir,
            image_dir,
            keeper,
            session,
            result,
            keep,
            lease,
            executions,
            policy,
            browser,
            network,
            ..
        } = self.values.clone();
        let keeper = keeper.map_or_else(env::current_exe, Ok).map_err(|error| {
            ErrorReport::new(ErrorCode::HostFault, format!("this program's own file cannot be found: {error}"))
        })?;
        let default = Settings::default();
        let count =
            |wanted: Option<u64>, default| wanted.map_or(default, |count| count.try_into().unwrap_or(usize::MAX));
        Ok(Settings {
            state_dir,
            image_dir,
            browser: BrowserConfig {
                browser: browser.path,
                cdp_url: browser.cdp_url,
                headers: browser.cdp_headers.into_iter().map(|header| (header.name, header.value.0)).collect(),
                headless: !browser.headed,
                device_permissions: policy.device_permissions,
                confinement: Confinement { mode: browser.confine, readable: browser.readable },
                protocols_dir: None,
            },
            keeper: Some(keeper),
            lease_ttl: lease.ttl_ms.map_or(default.lease_ttl, Duration::from_millis),
            retention: Retention {
                sessions_ms: keep.sessions_ms.unwrap_or(default.retention.sessions_ms),
                logins_ms: keep.logins_ms.unwrap_or(default.retention.logins_ms),
                audit_rows: keep.audit_rows.unwrap_or(default.retention.audit_rows),
            },
            network: NetworkRules::parse(&network)
                .map_err(|faults| ErrorReport::new(ErrorCode::InvalidArgument, faults.to_string()))?,
            session,
            result_chars: result.chars.unwrap_or(default.result_chars),
            concurrent_max: count(executions.concurrent, default.concurrent_max),
            queued_max: count(executions.queued, default.queued_max),
            insight: default.insight,
        })
    }

    /// The settings of `codemode serve`.
    pub(super) fn serve(&self) -> ServeValues {
        self.values.serve.clone()
    }

    /// The defaults of calls that specify neither: the session, and the characters of a result.
    pub(super) fn of_calls(&self) -> (SessionRequest, u64) {
        let default = Settings::default().result_chars;
        (self.values.session.clone(), self.values.result.chars.unwrap_or(default))
    }

    /// The names of the settings that differ in `other`: first those that a running host applies, then those that need
    /// a restart.
    pub(super) fn changed(&self, other: &Self) -> (Vec<&'static str>, Vec<&'static str>) {
        let changed = self.layers.changed(&other.layers);
        let (taken, left): (Vec<_>, Vec<_>) = changed.into_iter().partition(|setting| setting.reloads);
        let names = |settings: Vec<&Setting>| settings.into_iter().map(|setting| setting.name).collect();
        (names(taken), names(left))
    }

    /// All settings. Hidden ones, which are for tests and for codemode itself, are included only if they are set.
    pub(super) fn shown(&self) -> ConfigShown {
        let shown = SETTINGS.iter().filter_map(|setting| {
            let (value, origin) = self.layers.value(setting);
            if setting.is_hidden && origin == Origin::Default {
                return None;
            }
            let is_masked = setting.is_secret && origin != Origin::Default;
            let value = match value {
                _ if is_masked => serde_json::Value::from("(secret)"),
                Some(value) => serde_json::to_value(value).unwrap_or_default(),
                None => serde_json::Value::Null,
            };
            let flag = setting.flag.map(|flag| format!("--{flag}"));
            let source = match origin {
                Origin::Default => None,
                Origin::File => self.layers.path.as_ref().map(|path| path.display().to_string()),
                Origin::Variable => setting.variable.map(str::to_owned),
                Origin::Flag => flag.clone(),
            };
            Some(SettingShown {
                name: setting.name,
                value,
                origin,
                source,
                flag,
                variable: setting.variable,
                in_file: setting.in_file,
                default: setting.default.text(),
                reloads: setting.reloads,
                about: setting.about,
            })
        });
        ConfigShown { settings: shown.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::{ConfineMode, SessionMode};
    use values::Keep;

    fn values(text: &str) -> Result<Values, toml::de::Error> {
        toml::from_str(text)
    }

    #[test]
    fn whole_numbers_may_be_written_as_floats() {
        let text = "[session]\nmode = \"reuse\"\nkey = \"shop\"\nttl_ms = 6e5\n[keep]\nsessions_ms = 1000.0\naudit_rows = 2e3\n";
        let read = values(text).unwrap();
        assert_eq!(read.session.ttl_ms, Some(600_000));
        assert_eq!(read.keep, Keep { sessions_ms: Some(1_000), logins_ms: None, audit_rows: Some(2_000) });
        assert!(values("[keep]\naudit_rows = 1.5\n").is_err());
    }

    fn declared(name: &str) -> &'static Setting {
        SETTINGS.iter().find(|setting| setting.name == name).unwrap()
    }

    /// A configuration file that sets every setting.
    fn all() -> Table {
        let examples = toml::toml! {
            state_dir = "/a"
            image_dir = "/b"
            keeper = "/c"
            [browser]
            path = "/d"
            cdp_url = "http://h"
            cdp_headers = ["A: b"]
            headed = true
            confine = "off"
            readable = ["/e"]
            [network]
            allow = ["a.test"]
            deny = ["b.test"]
            [policy]
            device_permissions = ["camera"]
            [session]
            mode = "reuse"
            key = "k"
            ttl_ms = 60000
            wait_ms = 0
            network = { allow = ["c.test"], deny = ["d.test"] }
            [result]
            chars = 1000
            [keep]
            sessions_ms = 1
            logins_ms = 2
            audit_rows = 3
            [lease]
            ttl_ms = 4
            [executions]
            concurrent = 5
            queued = 6
            [log]
            filter = "info"
            format = "json"
            otlp = "http://127.0.0.1:4318"
            [serve]
            listen = "127.0.0.1:0"
            token_file = "/f"
            allowed_hosts = ["h"]
            allowed_origins = ["o"]
            grace_ms = 7
            patience_ms = 8
            vnext = "127.0.0.1:0"
            no_evaluate = true
            no_insight = true
            uploads = "/srv/uploads"
            no_history = true
        };
        examples
    }

    /// Every declared setting has a field among the values, and every field is declared.
    #[test]
    fn each_setting_has_a_place_and_each_place_a_setting() {
        let table = all();
        assert_eq!(unknown(&table), Vec::<String>::new());
        let layers = Layers { file: table.clone(), ..Layers::default() };
        for setting in SETTINGS {
            let (_, origin) = layers.value(setting);
            assert_eq!(origin == Origin::File, setting.in_file, "{}", setting.name);
        }
        let read = Values::deserialize(table).unwrap();
        assert_eq!(read.faults(), Vec::<String>::new());
        assert_eq!((read.browser.confine, read.session.mode), (ConfineMode::Off, SessionMode::Reuse));
        // A value from a flag deserialises like the same value in the file.
        for setting in SETTINGS.iter().filter(|setting| setting.flag.is_some() && setting.in_file) {
            let (value, _) = layers.value(setting);
            let given = Given { setting, value: value.unwrap(), origin: Origin::Flag };
            let merged = Layers { given: vec![given], ..Layers::default() }.merged();
            Values::deserialize(merged).unwrap_or_else(|error| panic!("{}: {error}", setting.name));
        }
        let no_file = Given { setting: declared("config"), value: "/dev/null".into(), origin: Origin::Flag };
        let serve = Config { given: vec![no_file] }.read().unwrap().serve();
        assert!(serve.listen.is_some() && serve.grace_ms.is_some(), "{serve:?}");
        assert_eq!(unknown(&toml::toml! { serve = { token = "x" } nothing = 1 }), ["nothing", "serve.token"]);
    }

    #[test]
    fn names_flags_and_variables_are_each_one_settings() {
        for (index, setting) in SETTINGS.iter().enumerate() {
            for other in &SETTINGS[..index] {
                assert_ne!(setting.name, other.name);
                assert!(setting.flag.is_none() || setting.flag != other.flag, "{}", setting.name);
                assert!(setting.variable.is_none() || setting.variable != other.variable, "{}", setting.name);
            }
            assert!(setting.in_file || setting.variable.is_some(), "{} can be said", setting.name);
            assert!(!setting.about.ends_with('.') && !setting.about.contains('|'), "{}", setting.name);
        }
    }

    /// The documented defaults are the defaults of the service.
    #[test]
    fn what_is_told_of_defaults_is_so() {
        let default = Settings::default();
        let session = SessionRequest::default();
        for (name, number) in [
            ("executions.concurrent", default.concurrent_max as u64),
            ("executions.queued", default.queued_max as u64),
            ("lease.ttl_ms", u64::try_from(default.lease_ttl.as_millis()).unwrap()),
            ("keep.sessions_ms", default.retention.sessions_ms),
            ("keep.logins_ms", default.retention.logins_ms),
            ("keep.audit_rows", default.retention.audit_rows),
            ("result.chars", default.result_chars),
            ("session.ttl_ms", session.ttl_ms()),
            ("session.wait_ms", session.wait_ms()),
        ] {
            assert_eq!(declared(name).default.text(), Some(number.to_string()), "{name}");
        }
        let values = Values::default();
        assert_eq!(
            (values.browser.confine.to_string(), values.session.mode.to_string()),
            ("try".into(), "one-shot".into())
        );
    }

    #[test]
    fn a_secret_is_in_no_words_of_ours() {
        let given = |name, value: toml::Value| Given { setting: declared(name), value, origin: Origin::Flag };
        let headers = toml::Value::Array(vec!["Authorization: hush".into()]);
        let config = Config {
            given: vec![
                given("config", "/dev/null".into()),
                given("browser.cdp_headers", headers),
                given("browser.cdp_url", "http://hush@h".into()),
                given("serve.token", "hush".into()),
            ],
        };
        let resolved = config.read().unwrap();
        let words =
            format!("{config:?} {:?} {}", resolved.values.serve, serde_json::to_string(&resolved.shown()).unwrap());
        assert!(!words.contains("hush") && words.contains("(secret)"), "{words}");
    }
}
