//! The sources of the settings, and their precedence: flag before variable before file before default.

use super::declared::{SETTINGS, Setting};
use clap::{ArgMatches, parser::ValueSource};
use std::{env, fmt, path::PathBuf};
use toml::{Table, Value};

/// The kind of source of a setting's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// No source sets it.
    Default,
    /// The configuration file.
    File,
    /// The environment.
    Variable,
    /// The command line.
    Flag,
}

/// The value that a flag or a variable gives a setting.
#[derive(Clone)]
pub struct Given {
    pub(super) setting: &'static Setting,
    pub(super) value: Value,
    pub(super) origin: Origin,
}

impl fmt::Debug for Given {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value: &dyn fmt::Debug = if self.setting.is_secret { &"(secret)" } else { &self.value };
        out.debug_struct("Given").field("name", &self.setting.name).field("value", value).finish()
    }
}

/// The values that the command line and the environment give these settings.
pub(super) fn given(matches: &ArgMatches, of_serve: bool) -> Vec<Given> {
    let settings = SETTINGS.iter().filter(|setting| setting.of_serve == of_serve);
    settings.filter_map(|setting| given_of(matches, setting)).collect()
}

fn given_of(matches: &ArgMatches, setting: &'static Setting) -> Option<Given> {
    if setting.flag.is_none() {
        // Secrets have no flag: other users of the machine could see it.
        let value = env::var(setting.variable?).ok().filter(|value| !value.is_empty())?;
        return Some(Given { setting, value: Value::from(value), origin: Origin::Variable });
    }
    let origin = match matches.value_source(setting.name)? {
        ValueSource::CommandLine => Origin::Flag,
        ValueSource::EnvVariable => Origin::Variable,
        _ => return None,
    };
    let value = if setting.is_switch() {
        Value::Boolean(matches.get_flag(setting.name))
    } else if setting.is_list() {
        Value::Array(matches.get_many::<Value>(setting.name)?.cloned().collect())
    } else {
        matches.get_one::<Value>(setting.name)?.clone()
    };
    Some(Given { setting, value, origin })
}

/// All sources of settings.
#[derive(Clone, Debug, Default)]
pub(super) struct Layers {
    pub given: Vec<Given>,
    /// The configuration file, if there is one.
    pub path: Option<PathBuf>,
    pub file: Table,
}

impl Layers {
    /// The effective value of a setting, and its origin.
    pub(super) fn value(&self, setting: &Setting) -> (Option<Value>, Origin) {
        if let Some(given) = self.given.iter().find(|given| given.setting.name == setting.name) {
            return (Some(given.value.clone()), given.origin);
        }
        match at(&self.file, setting.name) {
            Some(value) => (Some(value.clone()), Origin::File),
            None => (setting.default.value(), Origin::Default),
        }
    }

    /// The file's table, overridden by flags and variables, and completed by the defaults of `codemode serve`. All
    /// other defaults are those of the service.
    pub(super) fn merged(&self) -> Table {
        let mut table = self.file.clone();
        for setting in SETTINGS.iter().filter(|setting| setting.of_serve && at(&self.file, setting.name).is_none()) {
            if let Some(default) = setting.default.value() {
                put(&mut table, setting.name, default);
            }
        }
        for Given { setting, value, .. } in self.given.iter().filter(|given| given.setting.name != "config") {
            put(&mut table, setting.name, value.clone());
        }
        table
    }

    /// The settings whose values differ in `other`.
    pub(super) fn changed(&self, other: &Self) -> Vec<&'static Setting> {
        SETTINGS.iter().filter(|setting| self.value(setting).0 != other.value(setting).0).collect()
    }
}

fn at<'a>(table: &'a Table, name: &str) -> Option<&'a Value> {
    match name.split_once('.') {
        Some((first, rest)) => at(table.get(first)?.as_table()?, rest),
        None => table.get(name),
    }
}

fn put(table: &mut Table, name: &str, value: Value) {
    match name.split_once('.') {
        Some((first, rest)) => {
            let inner = table.entry(first).or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(inner) = inner {
                put(inner, rest, value);
            }
        }
        None => drop(table.insert(name.to_owned(), value)),
    }
}

/// The names in a table that are not settings of the configuration file.
pub(super) fn unknown(table: &Table) -> Vec<String> {
    fn walk(table: &Table, before: &str, unknown: &mut Vec<String>) {
        for (name, value) in table {
            let name = format!("{before}{name}");
            let is_known = SETTINGS.iter().any(|setting| setting.in_file && setting.name == name);
            match value {
                _ if is_known => {}
                Value::Table(inner) if is_section(&name) => walk(inner, &format!("{name}."), unknown),
                _ => unknown.push(name),
            }
        }
    }
    let mut found = Vec::new();
    walk(table, "", &mut found);
    found
}

/// The secrets in a table that have the wrong type. They are refused here because the deserialiser's message would show
/// the value.
pub(super) fn misshapen_secrets(table: &Table) -> Vec<&'static str> {
    let secrets = SETTINGS.iter().filter(|setting| setting.is_secret);
    let is_misshapen = |setting: &&Setting| match at(table, setting.name) {
        Some(Value::Array(items)) if setting.is_list() => !items.iter().all(Value::is_str),
        Some(value) => setting.is_list() || !value.is_str(),
        None => false,
    };
    secrets.filter(is_misshapen).map(|setting| setting.name).collect()
}

/// Whether a name is a table that contains settings.
fn is_section(name: &str) -> bool {
    SETTINGS.iter().any(|setting| setting.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')))
}
