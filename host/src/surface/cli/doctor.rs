//! `codemode doctor`.

use super::{
    context::{Context, Output},
    render::{Answer, Text, answered},
};
use crate::{
    service::{Diagnosis, Status},
    surface::{terminal::indented, text},
};
use codemode_spec::ErrorReport;
use std::{process::ExitCode, time::Duration};

pub(super) async fn run(context: &Context, output: Output) -> ExitCode {
    let work = async { Ok(context.config.service()?.doctor(&context.progress, context.stop.clone()).await) };
    answered("doctor", output, work).await
}

impl Answer for Diagnosis {
    /// One line per check, with its remedy below.
    fn words(&self, words: &mut Text, _: Duration) {
        for check in &self.checks {
            let status = match check.status {
                Status::Ok => "ok",
                Status::Note => "note",
                Status::Skipped => "skipped",
                Status::Failed => "FAILED",
            };
            text::line(&mut words.out, format_args!("{status:<8}{}: {}", check.name, indented(&check.message)));
            if let Some(remedy) = &check.remedy {
                text::line(&mut words.out, format_args!("        -> {}", indented(remedy)));
            }
        }
    }

    fn failure(&self) -> Option<ErrorReport> {
        Self::failure(self)
    }

    /// Without the hint: the remedies are printed with the checks.
    fn error(error: &ErrorReport) -> String {
        format!("error {}: {}", error.code, indented(&error.message))
    }
}
