//! `codemode debug`.

use super::{
    asked::{Asked, Output},
    render::{Answer, Text, answered, unless_stopped},
};
use crate::{
    service::{AuditShown, ExecutionDump},
    surface::text,
};
use clap::{Args, Subcommand};
use std::{process::ExitCode, time::Duration};

#[derive(Debug, Subcommand)]
pub(super) enum DebugCommand {
    /// Tell of one execution what a report of a defect needs, without scripts, results, paths and keys
    Dump(DumpArgs),
}

#[derive(Debug, Args)]
pub(super) struct DumpArgs {
    /// As the answer's context.execution_id names it
    #[arg(value_name = "EXECUTION")]
    execution: String,
    #[command(flatten)]
    output: Output,
}

pub(super) async fn run(asked: &Asked, DebugCommand::Dump(DumpArgs { execution, output }): DebugCommand) -> ExitCode {
    let work = async { asked.config.service()?.dump_execution(&execution).await };
    answered("debug dump", output, unless_stopped(&asked.stop, work)).await
}

impl Answer for ExecutionDump {
    /// A line a fact, then the rows of the audit.
    fn words(&self, words: &mut Text, took: Duration) {
        let Self { version, system, processors, browser, confine, audit, rows, files } = self;
        text::line(&mut words.out, format_args!("codemode {version}, {system}, {processors} processors"));
        let browser = browser.as_deref().unwrap_or("that of an external endpoint");
        text::line(&mut words.out, format_args!("browser: {browser}, confine = {confine}"));
        text::line(&mut words.out, format_args!("audit: {audit}"));
        for file in files {
            text::line(&mut words.out, format_args!("file: {}, {} bytes", file.name, file.bytes));
        }
        let mut table = Text::default();
        AuditShown { rows: rows.clone(), before: None }.words(&mut table, took);
        words.out.push_str(&table.out);
    }
}
