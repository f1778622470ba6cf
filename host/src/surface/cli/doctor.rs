//! `codemode doctor`.

use super::{
    asked::{Asked, Output},
    render::{Answer, Text, answered},
};
use crate::{
    service::{Diagnosis, Status},
    surface::{terminal::indented, text},
};
use codemode_spec::ErrorReport;
use std::{process::ExitCode, time::Duration};

pub(super) async fn run(asked: &Asked, output: Output) -> ExitCode {
    let work = async { Ok(asked.config.service()?.doctor(&asked.progress, asked.stop.clone()).await) };
    answered("doctor", output, work).await
}

impl Answer for Diagnosis {
    /// A line a check, and its remedy below it.
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

    /// The remedies stand with the checks.
    fn error(error: &ErrorReport) -> String {
        format!("error {}: {}", error.code, indented(&error.message))
    }
}
