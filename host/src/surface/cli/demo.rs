//! `codemode demo`.

use super::{Output, Text};
use crate::{
    config::Config,
    service::{self, DemoData, Progress},
    surface::text,
};
use clap::Args;
use codemode_spec::{Envelope, envelope::ExecutionData};
use tokio_util::sync::CancellationToken;

#[derive(Debug, Args)]
pub(super) struct DemoArgs {
    /// Only serve the site, for scripts of your own
    #[arg(long)]
    pub(super) serve: bool,
    #[command(flatten)]
    pub(super) output: Output,
}

pub(super) async fn run(config: &Config, progress: &Progress, stop: CancellationToken) -> Envelope {
    service::demo(config, progress, stop).await
}

/// The script, what it answered, and how long it took.
pub(super) fn words(envelope: &Envelope) -> Text {
    let mut words = Text::default();
    let demo = envelope.data.clone().and_then(|data| serde_json::from_value::<DemoData>(data).ok());
    if let Some(DemoData { script, answer, timings_ms }) = demo {
        text::line(&mut words.out, "--- script");
        words.out.push_str(&script);
        text::line(&mut words.out, "--- answer");
        let data = answer.data.and_then(|data| serde_json::from_value::<ExecutionData>(data).ok()).unwrap_or_default();
        if let Some(result) = &data.result {
            text::line(&mut words.out, text::result(result, true));
        }
        for logged in &data.logs {
            text::line(&mut words.out, format_args!("console: {}", text::console(logged)));
        }
        for remark in text::remarks(&answer.meta, data.artifact.as_deref()) {
            text::line(&mut words.out, remark);
        }
        text::line(&mut words.out, "--- timings");
        text::line(&mut words.out, format_args!("browser found    {:>6} ms", timings_ms.browser));
        text::line(&mut words.out, format_args!("sandbox ready    {:>6} ms", timings_ms.sandbox));
        let calls = answer.meta.calls;
        text::line(
            &mut words.out,
            format_args!(
                "script           {:>6} ms  ({calls} calls; browser started, logged in, browser closed)",
                timings_ms.script
            ),
        );
    }
    words.err = envelope.error.as_ref().map(text::error).unwrap_or_default();
    words
}
