//! `codemode audit`.

use super::{Output, Text, Words, stoppable};
use crate::{
    config::Config,
    service::{self, AuditQuery, KnownRow},
    surface::text,
};
use clap::{Args, Subcommand};
use codemode_spec::Envelope;
use serde_json::Value as Json;
use tokio_util::sync::CancellationToken;

/// How far back can be asked for.
const AGE_MS_MAX: u64 = 10 * 365 * 24 * 3_600_000;

#[derive(Debug, Subcommand)]
pub(super) enum AuditCommand {
    /// Show what happened, oldest first
    Show(ShowArgs),
    /// Check that no row was edited, removed or moved
    Verify(VerifyArgs),
}

#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// To the browser of this key
    #[arg(long)]
    key: Option<String>,
    /// To this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// By or to this execution
    #[arg(long, value_name = "ID")]
    execution: Option<String>,
    /// In the last time, as 30m or 2d
    #[arg(long, value_parser = age, value_name = "TIME")]
    since: Option<u64>,
    /// The last rows, at most so many [default: 1000]
    #[arg(long, value_name = "ROWS")]
    limit: Option<usize>,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Args)]
pub(super) struct VerifyArgs {
    /// Check also that this row is still what it was: as an earlier check told it, PLACE:HASH
    #[arg(long, value_name = "ROW")]
    expect: Option<KnownRow>,
    #[command(flatten)]
    output: Output,
}

fn age(text: &str) -> Result<u64, String> {
    text::milliseconds(text, 0..=AGE_MS_MAX)
}

impl AuditCommand {
    pub(super) const fn output(&self) -> Output {
        match self {
            Self::Show(args) => args.output,
            Self::Verify(args) => args.output,
        }
    }

    pub(super) fn words(&self) -> Words {
        match self {
            Self::Show(_) => shown,
            Self::Verify(_) => verified,
        }
    }
}

pub(super) async fn run(config: &Config, command: AuditCommand, stop: CancellationToken) -> Envelope {
    match command {
        AuditCommand::Show(ShowArgs { key, session, execution, since, limit, output: _ }) => {
            let query = AuditQuery { key, session, execution, since_ms: since, limit };
            stoppable("audit show", service::audit_show(config, query), stop).await
        }
        AuditCommand::Verify(VerifyArgs { expect, output: _ }) => {
            stoppable("audit verify", service::audit_verify(config, expect), stop).await
        }
    }
}

/// A line a row.
fn shown(envelope: &Envelope) -> Text {
    let mut words = Text::default();
    let rows = envelope.data.as_ref().and_then(|data| data["rows"].as_array()).into_iter().flatten();
    let mut table =
        vec![["ROW", "TIME", "WHAT", "KEY", "SESSION", "EXECUTION", "TOKEN", "DETAIL"].map(str::to_owned).to_vec()];
    for row in rows {
        let field = |name: &str| row.get(name).map_or_else(|| "-".to_owned(), |value| text::result(value, false));
        let time = text::time(row["at_ms"].as_i64().unwrap_or(0));
        let rest = ["kind", "key", "session", "execution", "token"].map(field);
        let mut cells = vec![field("id"), time];
        cells.extend(rest);
        cells.push(row["detail"].as_str().unwrap_or_default().to_owned());
        table.push(cells);
    }
    if table.len() > 1 {
        words.out = text::table(&table);
    } else if envelope.ok {
        text::line(&mut words.err, "nothing of that kind happened");
    }
    words.err.push_str(&envelope.error.as_ref().map(text::error).unwrap_or_default());
    words
}

fn verified(envelope: &Envelope) -> Text {
    let mut words = Text::default();
    if let Some(verdict) = &envelope.data {
        let number = |key: &str| verdict.get(key).and_then(Json::as_u64).unwrap_or(0);
        let removed = match number("removed") {
            0 => String::new(),
            removed => format!(", after {removed} that a checkpoint stands for"),
        };
        text::line(&mut words.out, format_args!("the audit is intact: {} rows{removed}", number("rows")));
        let last = format!("{}:{}", number("last"), verdict["hash"].as_str().unwrap_or_default());
        text::line(&mut words.out, format_args!("the last row is {last}"));
    }
    words.err = envelope.error.as_ref().map(text::error).unwrap_or_default();
    words
}
