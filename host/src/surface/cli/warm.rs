//! `codemode warm`.

use super::{Text, stoppable};
use crate::{
    config::Config,
    service::{self, Progress},
    surface::text,
};
use codemode_spec::Envelope;
use serde_json::Value as Json;
use tokio_util::sync::CancellationToken;

pub(super) async fn run(config: &Config, progress: &Progress, stop: CancellationToken) -> Envelope {
    stoppable("warm", service::warm_up(config, progress), stop).await
}

/// Where the image is.
pub(super) fn words(envelope: &Envelope) -> Text {
    let mut words = Text::default();
    if let Some(data) = &envelope.data {
        let how = if data.get("made") == Some(&Json::Bool(true)) { "made" } else { "there already" };
        let folder = data.get("folder").and_then(Json::as_str).unwrap_or_default();
        let took = envelope.meta.duration_ms;
        text::line(&mut words.out, format_args!("the sandbox image: {how}, in {folder} ({took} ms)"));
    }
    words.err = envelope.error.as_ref().map(text::error).unwrap_or_default();
    words
}
