//! `codemode executions`.

use super::{
    context::{Context, Output},
    render::{Answer, Text, answered, unless_stopped},
};
use crate::{
    service::{AuditShown, ExecutionInfo, ExecutionShown, ExecutionState, ExecutionsListed, ExecutionsQuery},
    surface::text,
};
use clap::{Args, Subcommand};
use std::{process::ExitCode, time::Duration};

#[derive(Debug, Subcommand)]
pub(super) enum ExecutionsCommand {
    /// List the executions in the audit, latest start first
    List(ListArgs),
    /// Show one execution, with its audit rows and its files
    Show(ShowArgs),
}

#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// Only executions with this session key
    #[arg(long)]
    key: Option<String>,
    /// Only executions that started before this audit row
    #[arg(long, value_name = "ROW")]
    before: Option<u64>,
    /// List at most this many, the latest ones [default: 100]
    #[arg(long, value_name = "EXECUTIONS")]
    limit: Option<usize>,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// The execution's id: `context.execution_id` of its answer
    #[arg(value_name = "EXECUTION")]
    execution: String,
    #[command(flatten)]
    output: Output,
}

pub(super) async fn run(context: &Context, command: ExecutionsCommand) -> ExitCode {
    match command {
        ExecutionsCommand::List(ListArgs { key, before, limit, output }) => {
            let query = ExecutionsQuery { running: false, key, before, limit };
            let work = async { context.config.service()?.executions_list(query).await };
            answered("executions list", output, unless_stopped(&context.stop, work)).await
        }
        ExecutionsCommand::Show(ShowArgs { execution, output }) => {
            let work = async { context.config.service()?.executions_show(&execution).await };
            answered("executions show", output, unless_stopped(&context.stop, work)).await
        }
    }
}

impl Answer for ExecutionsListed {
    /// A table with one row per execution.
    fn words(&self, words: &mut Text, _: Duration) {
        if self.executions.is_empty() {
            text::line(&mut words.err, "there are no executions");
            return;
        }
        words.out = table(&self.executions);
        if let Some(before) = self.before {
            text::line(&mut words.err, format_args!("there are earlier ones: --before {before}"));
        }
    }
}

impl Answer for ExecutionShown {
    /// The execution, its files, then its audit rows.
    fn words(&self, words: &mut Text, took: Duration) {
        words.out = table(std::slice::from_ref(&self.execution));
        for file in &self.files {
            text::line(&mut words.out, format_args!("file: {}, {} bytes", file.name, file.bytes));
        }
        let mut rows = Text::default();
        AuditShown { rows: self.rows.clone(), before: None }.words(&mut rows, took);
        words.out.push_str(&rows.out);
    }
}

fn table(executions: &[ExecutionInfo]) -> String {
    let head = ["EXECUTION", "BEGAN", "STATE", "OUTCOME", "TOOK", "CALLS", "CALLER", "KEY", "SESSION"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(executions.iter().map(|execution| {
        let ExecutionInfo { id, state, caller, key, session, mode: _, started_ms, ended_ms, outcome, calls } =
            execution;
        let or_none = |cell: Option<String>| cell.unwrap_or_else(|| "-".to_owned());
        let state = match state {
            ExecutionState::Running => "running",
            ExecutionState::Ended => "ended",
            ExecutionState::Unknown => "unknown",
        };
        let took = started_ms.zip(*ended_ms).map(|(started, ended)| format!("{} ms", ended - started));
        vec![
            id.clone(),
            or_none(started_ms.map(text::time)),
            state.to_owned(),
            or_none(outcome.clone()),
            or_none(took),
            or_none(calls.map(|calls| calls.to_string())),
            or_none(caller.clone()),
            or_none(key.clone()),
            or_none(session.clone()),
        ]
    }));
    text::table(&rows)
}
