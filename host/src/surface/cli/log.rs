//! Sets up logging: events go to standard error, and events and spans to an OpenTelemetry collector if one is
//! configured.

use crate::{
    surface::{
        config::{LogFormat, LogValues},
        terminal::Log,
    },
    telemetry::Otlp,
};
use std::env;
use tokio::runtime::Handle;
use tracing::Subscriber;
use tracing_subscriber::{
    EnvFilter, Layer, fmt, layer::SubscriberExt as _, registry, registry::LookupSpan, util::SubscriberInitExt as _,
};
use url::Url;

/// Filters for libraries that log the messages they carry, which contain scripts, arguments and cookies.
/// `rmcp::service` is off because it logs every client that disconnects as an error.
const QUIET: [&str; 6] = [
    "rmcp=error",
    "rmcp::service=off",
    "tungstenite=error",
    "tokio_tungstenite=error",
    "hyper=error",
    "chromiumoxide=error",
];

/// Starts logging to standard error (standard output is data). Returns the exporters to the configured collector, if
/// any; the caller flushes them before the program exits. Their requests run on this runtime.
pub(super) fn start(values: LogValues, runtime: &Handle) -> Option<Otlp> {
    let LogValues { filter, format, otlp } = values;
    let wanted = filter.or_else(|| env::var("RUST_LOG").ok());
    let to_stderr = events(wanted.as_deref().unwrap_or("warn"));
    let Some(collector) = otlp.filter(|url| !url.is_empty()) else {
        registry().with(to_stderr).with(stderr(format)).init();
        return None;
    };
    let otlp = Url::parse(&collector).map_err(Into::into).and_then(|collector| Otlp::to(&collector, runtime));
    let to_collector = events(wanted.as_deref().unwrap_or("info"));
    let layer = otlp.as_ref().ok().map(|otlp| otlp.layer(to_collector));
    registry().with(stderr(format).with_filter(to_stderr)).with(layer).init();
    otlp.inspect_err(|error| tracing::error!(%error, "nothing is sent to the collector")).ok()
}

fn stderr<S: Subscriber + for<'a> LookupSpan<'a>>(format: LogFormat) -> Box<dyn Layer<S> + Send + Sync> {
    // No colours: escape sequences written by codemode could not be told from those in a page's text.
    let stderr = fmt::layer().with_ansi(false).with_writer(Log::new);
    match format {
        LogFormat::Text => stderr.boxed(),
        LogFormat::Json => stderr.json().boxed(),
    }
}

/// The filter of events, with [`QUIET`] applied on top.
fn events(wanted: &str) -> EnvFilter {
    let quiet = QUIET.into_iter().filter_map(|directive| directive.parse().ok());
    quiet.fold(EnvFilter::new(wanted), EnvFilter::add_directive)
}
