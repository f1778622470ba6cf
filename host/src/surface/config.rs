//! The settings of the program: each is declared once (`declared`), said by flag, variable or file (`layers`), and has a type
//! (`values`). They become the plain settings of a service.

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

/// What the command line and the environment say of the settings that every command has.
#[derive(Clone, Debug, Default)]
pub struct Config {
    given: Vec<Given>,
}

/// The same of those that only a host that serves has.
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

/// Where the program listens to its settings: what was said of them at one time.
#[derive(Clone, Debug)]
pub struct Said {
    layers: Layers,
    values: Values,
}

/// The effective settings.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConfigShown {
    /// Each, in the order of the reference.
    pub settings: Vec<SettingShown>,
}

/// One effective setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SettingShown {
    /// Its place in the file.
    pub name: &'static str,
    /// What it is; `(secret)` if it is one, `null` if it is not set.
    pub value: serde_json::Value,
    /// Where that is from.
    pub origin: Origin,
    /// The flag, the variable or the file that said it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Its flag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flag: Option<String>,
    /// Its variable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variable: Option<&'static str>,
    /// Whether the file may have it.
    pub in_file: bool,
    /// What it is if nobody says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// Whether a host that serves takes it over while it runs.
    pub reloads: bool,
    /// What it is, in words.
    pub about: &'static str,
}

impl Config {
    /// These, and those of a host that serves.
    #[must_use]
    pub fn and(mut self, serve: ServeArgs) -> Self {
        self.given.extend(serve.given);
        self
    }

    /// The service of the program.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(super) fn service(&self) -> Result<Service, ErrorReport> {
        Service::builder(self.read()?.settings()?).build()
    }

    /// The folder of everything that is kept, for a program that needs nothing else. A file that is wrong is no matter of it
    /// if a flag or a variable says the folder.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(super) fn state_dir(&self) -> Result<Option<PathBuf>, ErrorReport> {
        let said = self.given.iter().find(|given| given.setting.name == "state_dir");
        match said.and_then(|given| given.value.as_str()) {
            Some(folder) => Ok(Some(PathBuf::from(folder))),
            None => Ok(self.read()?.values.state_dir),
        }
    }

    /// What is logged. What is wrong with the file is told by the command.
    #[must_use]
    pub fn log(&self) -> LogValues {
        let of_file = self.read().map(|said| said.values.log);
        of_file.unwrap_or_else(|_| {
            let layers = Layers { given: self.given.clone(), ..Layers::default() };
            let given = layers.merged().remove("log").and_then(|log| LogValues::deserialize(log).ok());
            given.unwrap_or_default()
        })
    }

    /// The file of defaults, as a flag or a variable names it.
    fn named_file(&self) -> Option<PathBuf> {
        let named = self.given.iter().find(|given| given.setting.name == "config");
        named.and_then(|given| given.value.as_str()).map(PathBuf::from)
    }

    /// The file of defaults, which may not be there yet; none if there is no place for it.
    pub(super) fn file(&self) -> Option<PathBuf> {
        self.named_file().or_else(usual_file)
    }

    /// Reads the file of defaults; flags and variables stand before it.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` when the file cannot be read, or says what it must not.
    pub(super) fn read(&self) -> Result<Said, ErrorReport> {
        let (path, file) = file(self.named_file())?;
        let layers = Layers { given: self.given.clone(), path, file };
        let values = Values::deserialize(layers.merged()).map_err(|error| invalid(&one_line(&error)))?;
        match values.faults() {
            faults if faults.is_empty() => Ok(Said { layers, values }),
            faults => Err(invalid(&faults.join("; "))),
        }
    }
}

/// The path of the file of defaults where no flag or variable names one.
fn usual_file() -> Option<PathBuf> {
    let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
    Some(folder.join("codemode/config.toml"))
}

/// The file of defaults, and where it is. If none was named, there need not be one.
fn file(named: Option<PathBuf>) -> Result<(Option<PathBuf>, Table), ErrorReport> {
    let is_named = named.is_some();
    let Some(path) = named.or_else(usual_file) else { return Ok((None, Table::new())) };
    let wrong = |fault: &str| invalid(&format!("the file of defaults {} is wrong: {fault}", path.display()));
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound && !is_named => return Ok((None, Table::new())),
        Err(error) => return Err(wrong(&error.to_string())),
    };
    let table: Table = toml::from_str(&text).map_err(|error| wrong(error.message()))?;
    // By itself, so that what is wrong is told of the file.
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

impl Said {
    /// The settings of a service.
    ///
    /// # Errors
    /// `HOST_FAULT` when this program's own file cannot be found.
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
        let usual = Settings::default();
        let count = |wanted: Option<u64>, usual| wanted.map_or(usual, |count| count.try_into().unwrap_or(usize::MAX));
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
            lease_ttl: lease.ttl_ms.map_or(usual.lease_ttl, Duration::from_millis),
            retention: Retention {
                sessions_ms: keep.sessions_ms.unwrap_or(usual.retention.sessions_ms),
                logins_ms: keep.logins_ms.unwrap_or(usual.retention.logins_ms),
                audit_rows: keep.audit_rows.unwrap_or(usual.retention.audit_rows),
            },
            network: NetworkRules::parse(&network)
                .map_err(|faults| ErrorReport::new(ErrorCode::InvalidArgument, faults.to_string()))?,
            session,
            result_chars: result.chars.unwrap_or(usual.result_chars),
            concurrent_max: count(executions.concurrent, usual.concurrent_max),
            queued_max: count(executions.queued, usual.queued_max),
            insight: usual.insight,
        })
    }

    /// How a host serves.
    pub(super) fn serve(&self) -> ServeValues {
        self.values.serve.clone()
    }

    /// What executions have that do not say: the session, and the characters of a result.
    pub(super) fn of_calls(&self) -> (SessionRequest, u64) {
        let usual = Settings::default().result_chars;
        (self.values.session.clone(), self.values.result.chars.unwrap_or(usual))
    }

    /// The settings that are other ones there: those that a host that serves takes over, and those that it does not.
    pub(super) fn changed(&self, other: &Self) -> (Vec<&'static str>, Vec<&'static str>) {
        let changed = self.layers.changed(&other.layers);
        let (taken, left): (Vec<_>, Vec<_>) = changed.into_iter().partition(|setting| setting.reloads);
        let names = |settings: Vec<&Setting>| settings.into_iter().map(|setting| setting.name).collect();
        (names(taken), names(left))
    }

    /// Each setting that is not only for tests and for codemode itself, or that was said.
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
                default: setting.usual.words(),
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

    /// The table that has each setting in its place.
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

    /// Every setting that is declared has its place among the values, and every value is declared.
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
        // What is said on a flag is read as what is said in the file.
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

    /// The defaults of a service are those that are told.
    #[test]
    fn what_is_told_of_defaults_is_so() {
        let usual = Settings::default();
        let session = SessionRequest::default();
        for (name, number) in [
            ("executions.concurrent", usual.concurrent_max as u64),
            ("executions.queued", usual.queued_max as u64),
            ("lease.ttl_ms", u64::try_from(usual.lease_ttl.as_millis()).unwrap()),
            ("keep.sessions_ms", usual.retention.sessions_ms),
            ("keep.logins_ms", usual.retention.logins_ms),
            ("keep.audit_rows", usual.retention.audit_rows),
            ("result.chars", usual.result_chars),
            ("session.ttl_ms", session.ttl_ms()),
            ("session.wait_ms", session.wait_ms()),
        ] {
            assert_eq!(declared(name).usual.words(), Some(number.to_string()), "{name}");
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
        let said = config.read().unwrap();
        let words = format!("{config:?} {:?} {}", said.values.serve, serde_json::to_string(&said.shown()).unwrap());
        assert!(!words.contains("hush") && words.contains("(secret)"), "{words}");
    }
}
