//! `codemode sessions`.

use super::{Output, Text, Words, stoppable};
use crate::{
    config::Config,
    service::{self, SessionInfo},
    surface::{terminal::in_one_line, text},
};
use clap::{Args, Subcommand};
use codemode_spec::Envelope;
use serde_json::Value as Json;
use tokio_util::sync::CancellationToken;

/// Pages of a session that are shown in a list.
const URLS_SHOWN: usize = 3;

#[derive(Debug, Subcommand)]
pub(super) enum SessionsCommand {
    /// List the sessions that live: who holds which browser, since when
    List {
        /// Those that ended as well
        #[arg(long)]
        ended: bool,
        #[command(flatten)]
        output: Output,
    },
    /// Show one session
    Show(One),
    /// End a session, its browser and what is kept of its key, whoever uses it
    Close(One),
    /// Take a session away from the execution that uses it; a shared browser stays
    Revoke(One),
    /// End what nobody may use any more, and remove what the dead left
    Sweep(Output),
}

#[derive(Debug, Args)]
pub(super) struct One {
    /// The session's id, or its key
    #[arg(value_name = "ID|KEY")]
    name: String,
    #[command(flatten)]
    output: Output,
}

impl SessionsCommand {
    pub(super) const fn output(&self) -> Output {
        match self {
            Self::List { output, .. } | Self::Sweep(output) => *output,
            Self::Show(one) | Self::Close(one) | Self::Revoke(one) => one.output,
        }
    }

    pub(super) fn words(&self) -> Words {
        match self {
            Self::List { .. } => list,
            Self::Show(_) => show,
            Self::Close(_) => closed,
            Self::Revoke(_) => revoked,
            Self::Sweep(_) => swept,
        }
    }
}

pub(super) async fn run(config: &Config, command: SessionsCommand, stop: CancellationToken) -> Envelope {
    match command {
        SessionsCommand::List { ended, .. } => {
            stoppable("sessions list", service::sessions_list(config, ended), stop).await
        }
        SessionsCommand::Show(one) => stoppable("sessions show", service::sessions_show(config, &one.name), stop).await,
        SessionsCommand::Close(one) => {
            stoppable("sessions close", service::sessions_close(config, &one.name), stop).await
        }
        SessionsCommand::Revoke(one) => {
            stoppable("sessions revoke", service::sessions_revoke(config, &one.name), stop).await
        }
        SessionsCommand::Sweep(_) => stoppable("sessions sweep", service::sessions_sweep(config), stop).await,
    }
}

/// What is said of an answer's data, or of its error.
fn said(envelope: &Envelope, say: impl FnOnce(&Json, &mut Text)) -> Text {
    let mut words = Text::default();
    if let Some(data) = &envelope.data {
        say(data, &mut words);
    }
    words.err = envelope.error.as_ref().map(text::error).unwrap_or_default();
    words
}

/// A table, a line a session.
fn list(envelope: &Envelope) -> Text {
    said(envelope, |data, words| {
        let sessions: Vec<SessionInfo> =
            data.get("sessions").cloned().and_then(|all| serde_json::from_value(all).ok()).unwrap_or_default();
        if sessions.is_empty() {
            text::line(&mut words.err, "there are no sessions");
            return;
        }
        let head =
            ["ID", "KEY", "MODE", "STATE", "HOLDER", "TOKEN", "AGE", "IDLE", "ENDS IN", "BROWSER", "MEMORY", "PAGES"];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        rows.extend(sessions.iter().map(row));
        words.out = text::table(&rows);
    })
}

fn row(session: &SessionInfo) -> Vec<String> {
    let none = || "-".to_owned();
    let holder = session.lease.as_ref().map(|lease| &lease.holder);
    let shown = session.urls.iter().take(URLS_SHOWN).cloned().collect::<Vec<_>>().join(" ");
    let more = session.urls.len().saturating_sub(URLS_SHOWN);
    vec![
        session.id.clone(),
        session.key.clone().unwrap_or_else(none),
        session.mode.clone(),
        match session.reason {
            Some(reason) => format!("{}: {reason}", word(&session.state)),
            None => word(&session.state),
        },
        holder.map_or_else(none, |holder| match holder.waiting {
            0 => holder.execution.clone(),
            waiting => format!("{} (+{waiting} waiting)", holder.execution),
        }),
        holder.map_or_else(none, |holder| holder.token.to_string()),
        text::about(session.age_ms),
        session.idle_ms.map_or_else(none, text::about),
        holder.map(|holder| holder.expires_in_ms).or(session.expires_in_ms).map_or_else(none, text::about),
        session.browser_pid.map_or_else(none, |pid| pid.to_string()),
        session.memory_kib.map_or_else(none, |kib| format!("{} MiB", kib / 1024)),
        if more > 0 { format!("{shown} +{more}") } else { shown },
    ]
}

fn word(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default()
}

/// A line a field.
fn show(envelope: &Envelope) -> Text {
    said(envelope, |data, words| {
        let fields = data.get("session").and_then(Json::as_object).into_iter().flatten();
        for (name, value) in fields.filter(|(_, value)| !value.is_null()) {
            text::line(&mut words.out, format_args!("{name:<14} {}", in_one_line(&text::result(value, false))));
        }
    })
}

fn closed(envelope: &Envelope) -> Text {
    said(envelope, |data, words| {
        let how = if data["already"] == true { "had ended already" } else { "is closed" };
        text::line(&mut words.out, format_args!("{} {how}", text::result(&data["closed"], false)));
    })
}

fn revoked(envelope: &Envelope) -> Text {
    said(envelope, |data, words| match data["revoked"]["execution"].as_str() {
        Some(execution) => text::line(&mut words.out, format_args!("revoked: {execution} has lost its lease")),
        None => text::line(&mut words.out, "nobody uses it"),
    })
}

fn swept(envelope: &Envelope) -> Text {
    said(envelope, |data, words| {
        let ended: Vec<_> = data["sessions"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
        let list = if ended.is_empty() { "none".to_owned() } else { ended.join(", ") };
        text::line(&mut words.out, format_args!("sessions ended: {list}"));
        let removed = [
            ("records forgotten", &data["forgotten"]["sessions"]),
            ("audit rows removed", &data["forgotten"]["audit_rows"]),
            ("processes ended", &data["reaped"]["processes"]),
            ("profiles removed", &data["reaped"]["profiles"]),
        ];
        removed.into_iter().for_each(|(what, number)| text::line(&mut words.out, format_args!("{what}: {number}")));
    })
}
