//! `codemode doctor`.

use super::Text;
use crate::{
    config::Config,
    service::{self, Diagnosis, Progress, Status},
    surface::{terminal::indented, text},
};
use codemode_spec::Envelope;
use tokio_util::sync::CancellationToken;

pub(super) async fn run(config: &Config, progress: &Progress, stop: CancellationToken) -> Envelope {
    service::doctor(config, progress, stop).await
}

/// A line a check, and its remedy below it.
pub(super) fn words(envelope: &Envelope) -> Text {
    let diagnosis = envelope.data.clone().and_then(|data| serde_json::from_value::<Diagnosis>(data).ok());
    let mut words = Text::default();
    for check in diagnosis.into_iter().flat_map(|diagnosis| diagnosis.checks) {
        let status = match check.status {
            Status::Ok => "ok",
            Status::Note => "note",
            Status::Skipped => "skipped",
            Status::Failed => "FAILED",
        };
        text::line(&mut words.out, format_args!("{status:<8}{}: {}", check.name, indented(&check.message)));
        if let Some(remedy) = check.remedy {
            text::line(&mut words.out, format_args!("        -> {}", indented(&remedy)));
        }
    }
    words.err = envelope
        .error
        .as_ref()
        .map(|error| format!("error {}: {}", error.code, indented(&error.message)))
        .unwrap_or_default();
    words
}
