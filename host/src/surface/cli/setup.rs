//! `codemode setup`.

use super::{Text, stoppable};
use crate::{
    config::Config,
    service::{self, Progress},
    surface::{terminal::in_one_line, text},
};
use codemode_spec::Envelope;
use serde_json::Value as Json;
use tokio_util::sync::CancellationToken;

pub(super) async fn run(config: &Config, progress: &Progress, stop: CancellationToken) -> Envelope {
    stoppable("setup", service::setup(config, progress), stop).await
}

/// Which browser there is now.
pub(super) fn words(envelope: &Envelope) -> Text {
    let mut words = Text::default();
    if let Some(data) = &envelope.data {
        let word = |key: &str| data.get(key).and_then(Json::as_str).unwrap_or_default();
        let how = if data.get("installed") == Some(&Json::Bool(true)) { "installed" } else { "found" };
        text::line(&mut words.out, format_args!("{how}: {} at {}", in_one_line(word("version")), word("path")));
    }
    words.err = envelope.error.as_ref().map(text::error).unwrap_or_default();
    words
}
