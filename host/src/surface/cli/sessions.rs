//! `codemode sessions`.

use super::{
    context::{Context, Output},
    render::{Answer, Text, answered, unless_stopped},
};
use crate::{
    service::{Service, SessionClosed, SessionInfo, SessionRevoked, SessionShown, SessionsListed, SessionsSwept},
    surface::{terminal::in_one_line, text},
};
use clap::{Args, Subcommand};
use codemode_spec::ErrorReport;
use std::{process::ExitCode, time::Duration};

/// The number of page URLs of a session that are shown in a list.
const URLS_SHOWN: usize = 3;

#[derive(Debug, Subcommand)]
pub(super) enum SessionsCommand {
    /// List live sessions: which execution holds which browser, and since when
    List {
        /// Include sessions that have ended
        #[arg(long)]
        ended: bool,
        #[command(flatten)]
        output: Output,
    },
    /// Show one session
    Show(Named),
    /// End a session with its browser, and delete the profile of its key, even while an execution uses it
    Close(Named),
    /// Revoke the lease of the execution that uses a session; a shared browser keeps running
    Revoke(Named),
    /// End sessions that no execution can use any more, and clean up after hosts that died
    Sweep(Output),
}

#[derive(Debug, Args)]
pub(super) struct Named {
    /// The session's id, or its key
    #[arg(value_name = "ID|KEY")]
    name: String,
    #[command(flatten)]
    output: Output,
}

pub(super) async fn run(context: &Context, command: SessionsCommand) -> ExitCode {
    match command {
        SessionsCommand::List { ended, output } => {
            run_and_print("sessions list", context, output, async |service| service.sessions_list(ended).await).await
        }
        SessionsCommand::Show(Named { name, output }) => {
            run_and_print("sessions show", context, output, async |service| service.sessions_show(&name).await).await
        }
        SessionsCommand::Close(Named { name, output }) => {
            run_and_print("sessions close", context, output, async |service| service.sessions_close(&name).await).await
        }
        SessionsCommand::Revoke(Named { name, output }) => {
            run_and_print("sessions revoke", context, output, async |service| service.sessions_revoke(&name).await)
                .await
        }
        SessionsCommand::Sweep(output) => {
            run_and_print("sessions sweep", context, output, async |service| service.sessions_sweep().await).await
        }
    }
}

async fn run_and_print<T: Answer>(
    command: &str,
    context: &Context,
    output: Output,
    work: impl AsyncFnOnce(Service) -> Result<T, ErrorReport>,
) -> ExitCode {
    let work = async { work(context.config.service()?).await };
    answered(command, output, unless_stopped(&context.stop, work)).await
}

impl Answer for SessionsListed {
    /// A table with one row per session.
    fn words(&self, words: &mut Text, _: Duration) {
        if self.sessions.is_empty() {
            text::line(&mut words.err, "there are no sessions");
            return;
        }
        let head =
            ["ID", "KEY", "MODE", "STATE", "HOLDER", "TOKEN", "AGE", "IDLE", "ENDS IN", "BROWSER", "MEMORY", "PAGES"];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        rows.extend(self.sessions.iter().map(row));
        words.out = text::table(&rows);
    }
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

impl Answer for SessionShown {
    /// One line per field, named as in JSON.
    fn words(&self, words: &mut Text, _: Duration) {
        let session = serde_json::to_value(&self.session).expect("plain data can be written as JSON");
        let fields = session.as_object().into_iter().flatten();
        for (name, value) in fields.filter(|(_, value)| !value.is_null()) {
            text::line(&mut words.out, format_args!("{name:<14} {}", in_one_line(&text::result(value, false))));
        }
    }
}

impl Answer for SessionClosed {
    fn words(&self, words: &mut Text, _: Duration) {
        let how = if self.already { "had ended already" } else { "is closed" };
        text::line(&mut words.out, format_args!("{} {how}", self.closed));
    }
}

impl Answer for SessionRevoked {
    fn words(&self, words: &mut Text, _: Duration) {
        match &self.revoked {
            Some(holder) => {
                text::line(&mut words.out, format_args!("revoked: {} has lost its lease", holder.execution));
            }
            None => text::line(&mut words.out, "no execution uses it"),
        }
    }
}

impl Answer for SessionsSwept {
    fn words(&self, words: &mut Text, _: Duration) {
        let Self { sessions, forgotten, logins, reaped } = self;
        let list = if sessions.is_empty() { "none".to_owned() } else { sessions.join(", ") };
        text::line(&mut words.out, format_args!("sessions ended: {list}"));
        let removed = [
            ("records forgotten", forgotten.sessions),
            ("login states forgotten", *logins),
            ("audit rows removed", forgotten.audit_rows),
            ("processes ended", reaped.processes),
            ("profiles removed", reaped.profiles),
        ];
        removed.into_iter().for_each(|(what, number)| text::line(&mut words.out, format_args!("{what}: {number}")));
    }
}
