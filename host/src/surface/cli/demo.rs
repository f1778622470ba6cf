//! `codemode demo`.

use super::{
    context::{Context, Output},
    render::{Answer, Text, answered},
};
use crate::{
    service::{self, DemoData, SiteServed},
    surface::text,
};
use clap::Args;
use codemode_spec::{ErrorReport, envelope::ExecutionData};
use std::{process::ExitCode, time::Duration};

#[derive(Debug, Args)]
pub(super) struct DemoArgs {
    /// Only serve the demo site, for your own scripts
    #[arg(long)]
    serve: bool,
    #[command(flatten)]
    output: Output,
}

pub(super) async fn run(context: &Context, DemoArgs { serve, output }: DemoArgs) -> ExitCode {
    let stop = context.stop.clone();
    if serve {
        return answered("demo", output, service::serve_site(&context.progress, stop)).await;
    }
    let work = async { context.config.service()?.demo(&context.progress, stop).await };
    answered("demo", output, work).await
}

impl Answer for SiteServed {
    /// Nothing: the address was already reported as progress while the site was served.
    fn words(&self, _: &mut Text, _: Duration) {}
}

impl Answer for DemoData {
    fn words(&self, words: &mut Text, _: Duration) {
        let Self { script, answer, timings_ms } = self;
        text::line(&mut words.out, "--- script");
        words.out.push_str(script);
        text::line(&mut words.out, "--- answer");
        let data =
            answer.data.clone().and_then(|data| serde_json::from_value::<ExecutionData>(data).ok()).unwrap_or_default();
        if let Some(result) = &data.result {
            text::line(&mut words.out, text::result(result, true));
        }
        for logged in &data.logs {
            text::line(&mut words.out, format_args!("console: {}", text::console(logged)));
        }
        for remark in text::remarks(&answer.meta, &data) {
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

    fn failure(&self) -> Option<ErrorReport> {
        Self::failure(self)
    }
}
