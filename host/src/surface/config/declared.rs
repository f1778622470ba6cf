//! The declaration of every setting: its name, which is its path in the configuration file, and its flag, variable,
//! default and description. The command line, the reading of variables and of the file, `codemode config show` and
//! `spec/CONFIG.md` are derived from this table.

use crate::surface::text;
use clap::{Arg, ArgAction, builder::ValueParser};
use codemode_spec::limits::{
    AUDIT_ROWS_MAX, EXECUTIONS_CONCURRENT_MAX, EXECUTIONS_QUEUED_MAX, LEASE_TTL_MS, LEASE_WAIT_MS_DEFAULT,
    LOGINS_KEPT_MS, RESULT_CHARS_DEFAULT, SERVE_GRACE_MS_DEFAULT, SERVE_GRACE_MS_MAX, SESSION_ABANDONED_MS,
    SESSION_IDLE_MS_DEFAULT,
};
use std::net::SocketAddr;
use toml::Value;
use url::Url;

/// One setting.
#[derive(Debug)]
pub struct Setting {
    /// Its path in the configuration file, as `browser.confine`.
    pub name: &'static str,
    /// Its command-line flag, without dashes.
    pub flag: Option<&'static str>,
    /// Its environment variable.
    pub variable: Option<&'static str>,
    /// Whether the configuration file may set it.
    pub in_file: bool,
    /// The default value.
    pub default: DefaultValue,
    /// Its description.
    pub about: &'static str,
    /// Whether its value must not be shown.
    pub is_secret: bool,
    /// Whether it is only for tests and for codemode itself, and so left out of help texts.
    pub is_hidden: bool,
    /// Whether a running host applies a change of it on reload.
    pub reloads: bool,
    /// Whether only `codemode serve` has it.
    pub of_serve: bool,
    kind: Kind,
    value_name: &'static str,
}

/// The default value of a setting.
#[derive(Clone, Copy, Debug)]
pub enum DefaultValue {
    /// Not set.
    Nothing,
    /// A number.
    Number(u64),
    /// A text.
    Text(&'static str),
    /// A switch that is off.
    Off,
    /// An empty list.
    Empty,
    /// Determined when it is needed, as this text describes.
    Found(&'static str),
}

/// How the value is written in a flag or a variable.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Text,
    /// A text that is validated.
    Checked(fn(&str) -> Result<(), String>),
    /// One of these words.
    Word(&'static [&'static str]),
    Switch,
    Number,
    /// A time with a unit, converted to milliseconds; at most this many.
    Time(u64),
    /// A list, one value per flag. Secrets are not validated here: the parser would show the value that it refuses.
    List,
    /// A list, separated by commas.
    Words,
}

impl Setting {
    const fn new(name: &'static str, kind: Kind, about: &'static str) -> Self {
        Self {
            name,
            flag: None,
            variable: None,
            in_file: true,
            default: DefaultValue::Nothing,
            about,
            is_secret: false,
            is_hidden: false,
            reloads: false,
            of_serve: false,
            kind,
            value_name: "VALUE",
        }
    }

    const fn flag(self, flag: &'static str, value_name: &'static str) -> Self {
        Self { flag: Some(flag), value_name, ..self }
    }

    const fn variable(self, variable: &'static str) -> Self {
        Self { variable: Some(variable), ..self }
    }

    const fn default(self, default: DefaultValue) -> Self {
        Self { default, ..self }
    }

    const fn not_in_file(self) -> Self {
        Self { in_file: false, ..self }
    }

    const fn secret(self) -> Self {
        Self { is_secret: true, ..self }
    }

    const fn hidden(self) -> Self {
        Self { is_hidden: true, ..self }
    }

    const fn reloads(self) -> Self {
        Self { reloads: true, ..self }
    }

    const fn of_serve(self) -> Self {
        Self { of_serve: true, ..self }
    }

    /// Its command-line argument, if it has a flag.
    pub(super) fn arg(&self) -> Option<Arg> {
        let mut help = self.about.to_owned();
        if let Some(default) = self.default.text() {
            help = format!("{help} [default: {default}]");
        }
        let arg = Arg::new(self.name).long(self.flag?).help(help).hide(self.is_hidden).hide_env_values(self.is_secret);
        let arg = match self.variable {
            Some(variable) => arg.env(variable),
            None => arg,
        };
        let text = |text: &str| Ok::<_, String>(Value::from(text));
        Some(match self.kind {
            Kind::Switch => arg.action(ArgAction::SetTrue),
            Kind::Text => arg.value_name(self.value_name).value_parser(ValueParser::new(text)),
            Kind::Word(words) => arg.value_name(self.value_name).value_parser(ValueParser::new(move |text: &str| {
                let is_known = words.contains(&text);
                is_known.then(|| Value::from(text)).ok_or_else(|| format!("there are {}", words.join(", ")))
            })),
            Kind::Number => arg.value_name(self.value_name).value_parser(ValueParser::new(number)),
            Kind::Time(most) => arg.value_name(self.value_name).value_parser(ValueParser::new(move |text: &str| {
                text::milliseconds(text, 0..=most).map(|ms| Value::Integer(ms.try_into().unwrap_or(i64::MAX)))
            })),
            Kind::Checked(check) => arg
                .value_name(self.value_name)
                .value_parser(ValueParser::new(move |text: &str| check(text).map(|()| Value::from(text)))),
            Kind::List | Kind::Words => {
                let arg = arg.value_name(self.value_name).action(ArgAction::Append);
                let arg = arg.value_parser(ValueParser::new(text));
                if matches!(self.kind, Kind::Words) { arg.value_delimiter(',') } else { arg }
            }
        })
    }

    /// Whether it takes no value.
    pub(super) const fn is_switch(&self) -> bool {
        matches!(self.kind, Kind::Switch)
    }

    pub(super) const fn is_list(&self) -> bool {
        matches!(self.kind, Kind::List | Kind::Words)
    }
}

fn number(text: &str) -> Result<Value, String> {
    text.parse::<u32>().map(|number| Value::Integer(number.into())).map_err(|error| error.to_string())
}

impl DefaultValue {
    /// The default as text; `None` if there is none worth showing.
    #[must_use]
    pub fn text(self) -> Option<String> {
        match self {
            Self::Nothing | Self::Off | Self::Empty => None,
            Self::Number(number) => Some(number.to_string()),
            Self::Text(text) | Self::Found(text) => Some(text.to_owned()),
        }
    }

    /// The default as a value; `None` if it is not set or determined when it is needed.
    pub(super) fn value(self) -> Option<Value> {
        match self {
            Self::Nothing | Self::Found(_) => None,
            Self::Number(number) => Some(Value::Integer(i64::try_from(number).unwrap_or(i64::MAX))),
            Self::Text(text) => Some(Value::from(text)),
            Self::Off => Some(Value::Boolean(false)),
            Self::Empty => Some(Value::Array(Vec::new())),
        }
    }
}

fn address(text: &str) -> Result<(), String> {
    text.parse::<SocketAddr>().map(drop).map_err(|error| error.to_string())
}

/// Checks the base URL of a collector. An empty text, as an environment variable may be, means no collector.
pub(super) fn collector(text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Ok(());
    }
    let url = Url::parse(text).map_err(|error| error.to_string())?;
    let is_plain =
        url.username().is_empty() && url.password().is_none() && url.query().is_none() && url.fragment().is_none();
    match (url.scheme(), is_plain) {
        ("http" | "https", true) => Ok(()),
        ("http" | "https", false) => Err("it is to have no user, password, query or fragment".to_owned()),
        _ => Err("it is to begin with http:// or https://".to_owned()),
    }
}

/// All settings, in the order of the reference.
pub const SETTINGS: &[Setting] = &[
    Setting::new("config", Kind::Text, "The configuration file")
        .flag("config", "FILE")
        .variable("CODEMODE_CONFIG")
        .not_in_file()
        .default(DefaultValue::Found("$XDG_CONFIG_HOME/codemode/config.toml, or ~/.config/codemode/config.toml")),
    Setting::new("state_dir", Kind::Text, "The folder in which codemode stores its state")
        .flag("state-dir", "FOLDER")
        .variable("CODEMODE_STATE_DIR")
        .default(DefaultValue::Found("$XDG_STATE_HOME/codemode, or ~/.local/state/codemode")),
    Setting::new("image_dir", Kind::Text, "The folder of prepared sandbox images")
        .flag("image-dir", "FOLDER")
        .variable("CODEMODE_IMAGE_DIR")
        .hidden()
        .default(DefaultValue::Found("images in the state folder")),
    Setting::new("keeper", Kind::Text, "The program that runs the keepers of browsers")
        .flag("keeper", "FILE")
        .variable("CODEMODE_KEEPER")
        .hidden()
        .default(DefaultValue::Found("this one")),
    Setting::new("browser.path", Kind::Text, "The Chromium to use")
        .flag("browser", "FILE")
        .variable("CODEMODE_BROWSER")
        .default(DefaultValue::Found("found on PATH and in the usual places")),
    Setting::new(
        "browser.cdp_url",
        Kind::Text,
        "Use the browser at this endpoint (ws:// or http://) instead of launching one; it is never closed",
    )
    .flag("cdp-url", "URL")
    .variable("CODEMODE_CDP_URL")
    .secret(),
    Setting::new("browser.cdp_headers", Kind::List, "A header for the endpoint, as `Name: value`; may be repeated")
        .flag("cdp-header", "HEADER")
        .variable("CODEMODE_CDP_HEADER")
        .secret()
        .default(DefaultValue::Empty),
    Setting::new("browser.headed", Kind::Switch, "Show the browser's window")
        .flag("headed", "")
        .variable("CODEMODE_HEADED")
        .default(DefaultValue::Off),
    Setting::new(
        "browser.confine",
        Kind::Word(&["require", "try", "off"]),
        "Whether browsers are confined from the machine's files: require, try or off",
    )
    .flag("confine", "MODE")
    .variable("CODEMODE_CONFINE")
    .default(DefaultValue::Text("try")),
    Setting::new("browser.readable", Kind::List, "Additional files and folders that confined browsers may read")
        .default(DefaultValue::Empty),
    Setting::new("network.allow", Kind::List, "Network patterns that pages may reach; if any are given, all others are refused").default(DefaultValue::Empty),
    Setting::new("network.deny", Kind::List, "Network patterns that pages may not reach; they take precedence over the allowed ones").default(DefaultValue::Empty),
    Setting::new("policy.device_permissions", Kind::List, "Device permissions that scripts may grant to pages")
        .default(DefaultValue::Empty),
    Setting::new("session.mode", Kind::Text, "The session mode of executions that request none")
        .reloads()
        .default(DefaultValue::Text("one-shot")),
    Setting::new("session.key", Kind::Text, "The session key of executions that request no session").reloads(),
    Setting::new("session.ttl_ms", Kind::Number, "How long that session's browser may stay idle, in milliseconds")
        .reloads()
        .default(DefaultValue::Number(SESSION_IDLE_MS_DEFAULT)),
    Setting::new("session.wait_ms", Kind::Number, "How long to wait for that session's browser while another execution uses it, in milliseconds")
        .reloads()
        .default(DefaultValue::Number(LEASE_WAIT_MS_DEFAULT)),
    Setting::new("session.network.allow", Kind::List, "Network patterns that its pages may reach, within `network.allow`").reloads().default(DefaultValue::Empty),
    Setting::new("session.network.deny", Kind::List, "Network patterns that its pages may not reach").reloads().default(DefaultValue::Empty),
    Setting::new("result.chars", Kind::Number, "Most characters of a result in an answer, unless a call specifies it")
        .reloads()
        .default(DefaultValue::Number(RESULT_CHARS_DEFAULT as u64)),
    Setting::new("keep.sessions_ms", Kind::Number, "How long records of ended sessions are retained, in milliseconds")
        .default(DefaultValue::Number(SESSION_ABANDONED_MS)),
    Setting::new("keep.logins_ms", Kind::Number, "How long unused profiles and saved logins are retained, in milliseconds")
        .default(DefaultValue::Number(LOGINS_KEPT_MS)),
    Setting::new("keep.audit_rows", Kind::Number, "Audit rows that are retained, at least a thousand")
        .default(DefaultValue::Number(AUDIT_ROWS_MAX)),
    Setting::new("lease.ttl_ms", Kind::Number, "How long a lease is valid without renewal, in milliseconds")
        .flag("lease-ttl-ms", "MS")
        .variable("CODEMODE_LEASE_TTL_MS")
        .hidden()
        .default(DefaultValue::Number(LEASE_TTL_MS)),
    Setting::new("executions.concurrent", Kind::Number, "Executions that may run at the same time, 32 at most")
        .flag("concurrent", "NUMBER")
        .variable("CODEMODE_CONCURRENT")
        .default(DefaultValue::Number(EXECUTIONS_CONCURRENT_MAX as u64)),
    Setting::new("executions.queued", Kind::Number, "Executions that may wait in the queue, 64 at most")
        .flag("queued", "NUMBER")
        .variable("CODEMODE_QUEUED")
        .default(DefaultValue::Number(EXECUTIONS_QUEUED_MAX as u64)),
    Setting::new("log.filter", Kind::Text, "What is logged to standard error, as `warn` or `codemode_host=debug`")
        .flag("log", "FILTER")
        .variable("CODEMODE_LOG")
        .default(DefaultValue::Text("warn")),
    Setting::new("log.format", Kind::Word(&["text", "json"]), "The log format: text, or json with one object per line")
        .flag("log-format", "FORMAT")
        .variable("CODEMODE_LOG_FORMAT")
        .default(DefaultValue::Text("text")),
    Setting::new(
        "log.otlp",
        Kind::Checked(collector),
        "The base URL of an OpenTelemetry collector, as `http://127.0.0.1:4318`: it receives the spans of executions, and the \
         log at `info` unless a filter is given, by OTLP over HTTP",
    )
    .flag("otlp", "URL")
    .variable("CODEMODE_OTLP"),
    Setting::new("serve.listen", Kind::Checked(address), "The address to listen on; port 0 is any free one")
        .flag("listen", "ADDRESS")
        .variable("CODEMODE_LISTEN")
        .of_serve()
        .default(DefaultValue::Text("127.0.0.1:8222")),
    Setting::new("serve.token", Kind::Text, "The token of a host with a single unnamed caller")
        .variable("CODEMODE_TOKEN")
        .not_in_file()
        .secret()
        .of_serve(),
    Setting::new(
        "serve.token_file",
        Kind::Text,
        "The token file, with a named token for each caller; it, or CODEMODE_TOKEN, is required where other machines can connect",
    )
    .flag("token-file", "FILE")
    .variable("CODEMODE_TOKEN_FILE")
    .reloads()
    .of_serve(),
    Setting::new(
        "serve.allowed_hosts",
        Kind::Words,
        "An accepted host name, in addition to localhost and the address; may be repeated",
    )
    .flag("allowed-host", "NAME")
    .variable("CODEMODE_ALLOWED_HOST")
    .of_serve()
    .default(DefaultValue::Empty),
    Setting::new(
        "serve.allowed_origins",
        Kind::Words,
        "An origin whose pages may use this host; may be repeated",
    )
    .flag("allowed-origin", "ORIGIN")
    .variable("CODEMODE_ALLOWED_ORIGIN")
    .of_serve()
    .default(DefaultValue::Empty),
    Setting::new(
        "serve.grace_ms",
        Kind::Time(SERVE_GRACE_MS_MAX),
        "Grace period of running executions when the host stops, in milliseconds; the flag has a unit, as 30s",
    )
    .flag("grace", "TIME")
    .variable("CODEMODE_GRACE")
    .of_serve()
    .default(DefaultValue::Number(SERVE_GRACE_MS_DEFAULT)),
    Setting::new("serve.vnext", Kind::Checked(address), "Also serve the contract browser control vNext, on this address, as 127.0.0.1:8223")
        .flag("vnext", "ADDRESS")
        .variable("CODEMODE_VNEXT")
        .of_serve(),
    Setting::new("serve.no_evaluate", Kind::Switch, "Forbid clients of vNext to evaluate functions in pages")
        .flag("no-evaluate", "")
        .variable("CODEMODE_NO_EVALUATE")
        .of_serve()
        .default(DefaultValue::Off),
    Setting::new("serve.no_insight", Kind::Switch, "Hide scripts, calls, console lines and pages of executions from administrators; none of them are held in memory")
        .flag("no-insight", "")
        .variable("CODEMODE_NO_INSIGHT")
        .of_serve()
        .default(DefaultValue::Off),
    Setting::new("serve.uploads", Kind::Text, "The folder whose files clients of vNext and ABP may upload to pages")
        .flag("uploads", "FOLDER")
        .variable("CODEMODE_UPLOADS")
        .of_serve(),
    Setting::new("serve.no_history", Kind::Switch, "Record no history of what clients of ABP do")
        .flag("no-history", "")
        .variable("CODEMODE_NO_HISTORY")
        .of_serve()
        .default(DefaultValue::Off),
    Setting::new("serve.patience_ms", Kind::Number, "How long the host waits for a client at most, in milliseconds")
        .flag("patience-ms", "MS")
        .variable("CODEMODE_PATIENCE_MS")
        .of_serve()
        .hidden()
        .default(DefaultValue::Found("as the bounds say")),
];
