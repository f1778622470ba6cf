//! Every setting, declared once: its name, which is its place in the file of defaults, flag, variable, default and what it is.
//! The command line, the reading of variables and of the file, `codemode config show` and `spec/CONFIG.md` come from here.

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
    /// Its place in the file, as `browser.confine`.
    pub name: &'static str,
    /// Its flag, without dashes.
    pub flag: Option<&'static str>,
    /// Its environment variable.
    pub variable: Option<&'static str>,
    /// Whether the file may have it.
    pub in_file: bool,
    /// What it is when nobody says.
    pub usual: Usual,
    /// What it is, in words.
    pub about: &'static str,
    /// Whether it is not shown.
    pub is_secret: bool,
    /// Whether it is for tests and for codemode itself.
    pub is_hidden: bool,
    /// Whether a host that serves takes it over while it runs.
    pub reloads: bool,
    /// Whether only a host that serves has it.
    pub of_serve: bool,
    kind: Kind,
    value_name: &'static str,
}

/// What a setting is when nobody says.
#[derive(Clone, Copy, Debug)]
pub enum Usual {
    /// Nothing.
    Nothing,
    /// A number.
    Number(u64),
    /// A text.
    Text(&'static str),
    /// No.
    Off,
    /// A list with nothing in it.
    Empty,
    /// Found out when it is needed: how, in words.
    Found(&'static str),
}

/// How a flag or a variable says it.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Text,
    /// A text that something else can be read from.
    Checked(fn(&str) -> Result<(), String>),
    /// One of these words.
    Word(&'static [&'static str]),
    Switch,
    Number,
    /// A time with its unit, kept in milliseconds.
    Time(u64),
    /// Several. Of secrets nothing is checked here: what the command line refuses, it shows.
    List,
    /// Several, in one word between commas.
    Words,
}

impl Setting {
    const fn new(name: &'static str, kind: Kind, about: &'static str) -> Self {
        Self {
            name,
            flag: None,
            variable: None,
            in_file: true,
            usual: Usual::Nothing,
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

    const fn usual(self, usual: Usual) -> Self {
        Self { usual, ..self }
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

    /// Its argument of the command line, if it has a flag.
    pub(super) fn arg(&self) -> Option<Arg> {
        let mut help = self.about.to_owned();
        if let Some(usual) = self.usual.words() {
            help = format!("{help} [default: {usual}]");
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

    /// Whether it takes no value, or several.
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

impl Usual {
    /// In words; none if there is nothing to say.
    #[must_use]
    pub fn words(self) -> Option<String> {
        match self {
            Self::Nothing | Self::Off | Self::Empty => None,
            Self::Number(number) => Some(number.to_string()),
            Self::Text(text) | Self::Found(text) => Some(text.to_owned()),
        }
    }

    /// As a value; none if it is found out when it is needed.
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

/// Whether it is the base URL of a collector. An empty one, as a variable may be, is none.
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

/// All of them.
pub const SETTINGS: &[Setting] = &[
    Setting::new("config", Kind::Text, "The file of defaults")
        .flag("config", "FILE")
        .variable("CODEMODE_CONFIG")
        .not_in_file()
        .usual(Usual::Found("$XDG_CONFIG_HOME/codemode/config.toml, or ~/.config/codemode/config.toml")),
    Setting::new("state_dir", Kind::Text, "The folder of everything that codemode keeps")
        .flag("state-dir", "FOLDER")
        .variable("CODEMODE_STATE_DIR")
        .usual(Usual::Found("$XDG_STATE_HOME/codemode, or ~/.local/state/codemode")),
    Setting::new("image_dir", Kind::Text, "The folder of prepared sandbox images")
        .flag("image-dir", "FOLDER")
        .variable("CODEMODE_IMAGE_DIR")
        .hidden()
        .usual(Usual::Found("images in the state folder")),
    Setting::new("keeper", Kind::Text, "The program that keeps browsers")
        .flag("keeper", "FILE")
        .variable("CODEMODE_KEEPER")
        .hidden()
        .usual(Usual::Found("this one")),
    Setting::new("browser.path", Kind::Text, "The Chromium to use")
        .flag("browser", "FILE")
        .variable("CODEMODE_BROWSER")
        .usual(Usual::Found("found on PATH and in the usual places")),
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
        .usual(Usual::Empty),
    Setting::new("browser.headed", Kind::Switch, "Show the browser's window")
        .flag("headed", "")
        .variable("CODEMODE_HEADED")
        .usual(Usual::Off),
    Setting::new(
        "browser.confine",
        Kind::Word(&["require", "try", "off"]),
        "Whether browsers are kept from the machine's files: require, try or off",
    )
    .flag("confine", "MODE")
    .variable("CODEMODE_CONFINE")
    .usual(Usual::Text("try")),
    Setting::new("browser.readable", Kind::List, "Files and folders that browsers may read besides their own")
        .usual(Usual::Empty),
    Setting::new("network.allow", Kind::List, "What pages may reach; if it names anything, nothing else").usual(Usual::Empty),
    Setting::new("network.deny", Kind::List, "What pages may not reach; it goes before what is allowed").usual(Usual::Empty),
    Setting::new("policy.device_permissions", Kind::List, "What scripts may let pages have of this machine's devices")
        .usual(Usual::Empty),
    Setting::new("session.mode", Kind::Text, "How the session lives, of executions that ask for none")
        .reloads()
        .usual(Usual::Text("one-shot")),
    Setting::new("session.key", Kind::Text, "Its key").reloads(),
    Setting::new("session.ttl_ms", Kind::Number, "How long its browser is kept unused, in milliseconds")
        .reloads()
        .usual(Usual::Number(SESSION_IDLE_MS_DEFAULT)),
    Setting::new("session.wait_ms", Kind::Number, "How long is waited for its browser while another uses it, in milliseconds")
        .reloads()
        .usual(Usual::Number(LEASE_WAIT_MS_DEFAULT)),
    Setting::new("session.network.allow", Kind::List, "What its pages may reach, within what all may").reloads().usual(Usual::Empty),
    Setting::new("session.network.deny", Kind::List, "What its pages may not reach").reloads().usual(Usual::Empty),
    Setting::new("result.chars", Kind::Number, "Characters of a result in an answer, unless a call says otherwise")
        .reloads()
        .usual(Usual::Number(RESULT_CHARS_DEFAULT as u64)),
    Setting::new("keep.sessions_ms", Kind::Number, "How long ended sessions are remembered, in milliseconds")
        .usual(Usual::Number(SESSION_ABANDONED_MS)),
    Setting::new("keep.logins_ms", Kind::Number, "How long unused profiles and saved logins are kept, in milliseconds")
        .usual(Usual::Number(LOGINS_KEPT_MS)),
    Setting::new("keep.audit_rows", Kind::Number, "Rows of the audit that are kept, at least a thousand")
        .usual(Usual::Number(AUDIT_ROWS_MAX)),
    Setting::new("lease.ttl_ms", Kind::Number, "How long a lease holds that is not renewed, in milliseconds")
        .flag("lease-ttl-ms", "MS")
        .variable("CODEMODE_LEASE_TTL_MS")
        .hidden()
        .usual(Usual::Number(LEASE_TTL_MS)),
    Setting::new("executions.concurrent", Kind::Number, "Executions that run at the same time, 32 at most")
        .flag("concurrent", "NUMBER")
        .variable("CODEMODE_CONCURRENT")
        .usual(Usual::Number(EXECUTIONS_CONCURRENT_MAX as u64)),
    Setting::new("executions.queued", Kind::Number, "Executions that wait for a place, 64 at most")
        .flag("queued", "NUMBER")
        .variable("CODEMODE_QUEUED")
        .usual(Usual::Number(EXECUTIONS_QUEUED_MAX as u64)),
    Setting::new("log.filter", Kind::Text, "What is logged to standard error, as `warn` or `codemode_host=debug`")
        .flag("log", "FILTER")
        .variable("CODEMODE_LOG")
        .usual(Usual::Text("warn")),
    Setting::new("log.format", Kind::Word(&["text", "json"]), "How it is logged: text, or json, an object a line")
        .flag("log-format", "FORMAT")
        .variable("CODEMODE_LOG_FORMAT")
        .usual(Usual::Text("text")),
    Setting::new(
        "log.otlp",
        Kind::Checked(collector),
        "The base URL of an OpenTelemetry collector, as `http://127.0.0.1:4318`: it gets the spans of executions, and the log at \
         `info` unless a filter is given, by OTLP over HTTP",
    )
    .flag("otlp", "URL")
    .variable("CODEMODE_OTLP"),
    Setting::new("serve.listen", Kind::Checked(address), "Where to listen; port 0 is any free one")
        .flag("listen", "ADDRESS")
        .variable("CODEMODE_LISTEN")
        .of_serve()
        .usual(Usual::Text("127.0.0.1:8222")),
    Setting::new("serve.token", Kind::Text, "The one token of a host that needs no names")
        .variable("CODEMODE_TOKEN")
        .not_in_file()
        .secret()
        .of_serve(),
    Setting::new(
        "serve.token_file",
        Kind::Text,
        "The file of named tokens; needed, or CODEMODE_TOKEN, where others than this machine can call",
    )
    .flag("token-file", "FILE")
    .variable("CODEMODE_TOKEN_FILE")
    .reloads()
    .of_serve(),
    Setting::new(
        "serve.allowed_hosts",
        Kind::Words,
        "A name of this host besides localhost and the address; may be repeated",
    )
    .flag("allowed-host", "NAME")
    .variable("CODEMODE_ALLOWED_HOST")
    .of_serve()
    .usual(Usual::Empty),
    Setting::new(
        "serve.allowed_origins",
        Kind::Words,
        "An origin whose pages may use this host; may be repeated",
    )
    .flag("allowed-origin", "ORIGIN")
    .variable("CODEMODE_ALLOWED_ORIGIN")
    .of_serve()
    .usual(Usual::Empty),
    Setting::new(
        "serve.grace_ms",
        Kind::Time(SERVE_GRACE_MS_MAX),
        "Time that running executions are given to end when the host is told to stop, in milliseconds; the flag has a unit, as 30s",
    )
    .flag("grace", "TIME")
    .variable("CODEMODE_GRACE")
    .of_serve()
    .usual(Usual::Number(SERVE_GRACE_MS_DEFAULT)),
    Setting::new("serve.vnext", Kind::Checked(address), "Serve the contract browser control vNext too, on this address, as 127.0.0.1:8223")
        .flag("vnext", "ADDRESS")
        .variable("CODEMODE_VNEXT")
        .of_serve(),
    Setting::new("serve.no_evaluate", Kind::Switch, "Clients of vNext may evaluate no functions in pages")
        .flag("no-evaluate", "")
        .variable("CODEMODE_NO_EVALUATE")
        .of_serve()
        .usual(Usual::Off),
    Setting::new("serve.no_insight", Kind::Switch, "Administrators see no scripts, calls, console lines and pages of executions; nothing of them is kept in memory")
        .flag("no-insight", "")
        .variable("CODEMODE_NO_INSIGHT")
        .of_serve()
        .usual(Usual::Off),
    Setting::new("serve.uploads", Kind::Text, "The folder whose files clients of vNext and ABP may give to pages")
        .flag("uploads", "FOLDER")
        .variable("CODEMODE_UPLOADS")
        .of_serve(),
    Setting::new("serve.no_history", Kind::Switch, "Nothing is noted of what clients of ABP do")
        .flag("no-history", "")
        .variable("CODEMODE_NO_HISTORY")
        .of_serve()
        .usual(Usual::Off),
    Setting::new("serve.patience_ms", Kind::Number, "How long clients may keep a host waiting at most, in milliseconds")
        .flag("patience-ms", "MS")
        .variable("CODEMODE_PATIENCE_MS")
        .of_serve()
        .hidden()
        .usual(Usual::Found("as the bounds say")),
];
