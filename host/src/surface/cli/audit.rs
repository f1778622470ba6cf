//! `codemode audit`.

use super::{
    context::{Context, Output},
    render::{Answer, Text, answered, unless_stopped},
};
use crate::{
    service::{AuditQuery, AuditRow, AuditShown, KnownRow, Verdict},
    surface::text,
};
use clap::{Args, Subcommand};
use std::{process::ExitCode, time::Duration};

/// The largest value of `--since`.
const AGE_MS_MAX: u64 = 10 * 365 * 24 * 3_600_000;

#[derive(Debug, Subcommand)]
pub(super) enum AuditCommand {
    /// Show audit rows, oldest first
    Show(ShowArgs),
    /// Verify that no row was edited, removed or moved
    Verify(VerifyArgs),
}

#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// Only rows about the browser of this session key
    #[arg(long)]
    key: Option<String>,
    /// Only rows about this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Only rows about this execution
    #[arg(long, value_name = "ID")]
    execution: Option<String>,
    /// Only rows of the last period, as 30m or 2d
    #[arg(long, value_parser = age, value_name = "TIME")]
    since: Option<u64>,
    /// Only rows before this one
    #[arg(long, value_name = "ROW")]
    before: Option<u64>,
    /// Show at most this many, the latest ones [default: 1000]
    #[arg(long, value_name = "ROWS")]
    limit: Option<usize>,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Args)]
pub(super) struct VerifyArgs {
    /// Also check this row against an earlier verification: ROW:HASH, as that one printed it
    #[arg(long, value_name = "ROW")]
    expect: Option<KnownRow>,
    #[command(flatten)]
    output: Output,
}

fn age(text: &str) -> Result<u64, String> {
    text::milliseconds(text, 0..=AGE_MS_MAX)
}

pub(super) async fn run(context: &Context, command: AuditCommand) -> ExitCode {
    match command {
        AuditCommand::Show(ShowArgs { key, session, execution, since, before, limit, output }) => {
            let query = AuditQuery { key, session, execution, since_ms: since, before, limit };
            let work = async { context.config.service()?.audit_show(query).await };
            answered("audit show", output, unless_stopped(&context.stop, work)).await
        }
        AuditCommand::Verify(VerifyArgs { expect, output }) => {
            let work = async { context.config.service()?.audit_verify(expect).await };
            answered("audit verify", output, unless_stopped(&context.stop, work)).await
        }
    }
}

impl Answer for AuditShown {
    /// A table with one line per row.
    fn words(&self, words: &mut Text, _: Duration) {
        if self.rows.is_empty() {
            text::line(&mut words.err, "nothing of that kind happened");
            return;
        }
        let head = ["ROW", "TIME", "WHAT", "KEY", "SESSION", "EXECUTION", "TOKEN", "DETAIL"];
        let mut table = vec![head.map(str::to_owned).to_vec()];
        table.extend(self.rows.iter().map(cells));
        words.out = text::table(&table);
        if let Some(before) = self.before {
            text::line(&mut words.err, format_args!("there are earlier rows: --before {before}"));
        }
    }
}

fn cells(row: &AuditRow) -> Vec<String> {
    let AuditRow { id, at_ms, kind, key, session, execution, token, detail, hash: _ } = row;
    let or_none = |cell: &Option<String>| cell.clone().unwrap_or_else(|| "-".to_owned());
    let token = or_none(&token.map(|token| token.to_string()));
    let (key, session, execution) = (or_none(key), or_none(session), or_none(execution));
    vec![id.to_string(), text::time(*at_ms), kind.clone(), key, session, execution, token, detail.clone()]
}

impl Answer for Verdict {
    fn words(&self, words: &mut Text, _: Duration) {
        let removed = match self.removed {
            0 => String::new(),
            removed => format!(", after {removed} that a checkpoint stands for"),
        };
        text::line(&mut words.out, format_args!("the audit is intact: {} rows{removed}", self.rows));
        text::line(&mut words.out, format_args!("the last row is {}:{}", self.last, self.hash));
    }
}
