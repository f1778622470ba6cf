//! `codemode debug`.

use super::{
    context::{Context, Output},
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
    /// Dump what a bug report needs of one execution, without scripts, results, paths and keys
    Dump(DumpArgs),
}

#[derive(Debug, Args)]
pub(super) struct DumpArgs {
    /// The execution's id: `context.execution_id` of its answer
    #[arg(value_name = "EXECUTION")]
    execution: String,
    #[command(flatten)]
    output: Output,
}

pub(super) async fn run(
    context: &Context,
    DebugCommand::Dump(DumpArgs { execution, output }): DebugCommand,
) -> ExitCode {
    let work = async { context.config.service()?.dump_execution(&execution).await };
    answered("debug dump", output, unless_stopped(&context.stop, work)).await
}

impl Answer for ExecutionDump {
    /// One line per fact, then the audit rows.
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
