//! Exports the spans of executions, and the log, to an OpenTelemetry collector: OTLP over HTTP with protobuf
//! (<https://opentelemetry.io/docs/specs/otlp/#otlphttp>).
//!
//! The host never waits for a collector: spans and records that do not fit into a queue are dropped.

use codemode_chromium::tls_config;
use codemode_spec::limits::{
    OTLP_ANSWER_BYTES_MAX, OTLP_BATCH_MAX, OTLP_FLUSH_MS_MAX, OTLP_INTERVAL_MS, OTLP_QUEUE_MAX, OTLP_REQUEST_MS_MAX,
};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use opentelemetry::{Key, KeyValue, trace::TracerProvider as _};
use opentelemetry_appender_tracing::layer::OpenTelemetryTracingBridge;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response, ResponseBodyTooLarge};
use opentelemetry_otlp::{LogExporter, Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::{
    Resource,
    logs::{self, BatchLogProcessor, SdkLoggerProvider},
    trace::{self, BatchSpanProcessor, Sampler, SdkTracerProvider},
};
use std::{
    env,
    error::Error,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};
use tokio::{runtime::Handle, time::timeout};
use tracing::Subscriber;
use tracing_subscriber::{EnvFilter, Layer, filter::filter_fn, registry::LookupSpan};
use url::Url;

/// The target prefix of the spans that are exported: those of executions.
const SPANS: &str = "codemode_host::exec";
/// The default service name, unless `OTEL_SERVICE_NAME` or `OTEL_RESOURCE_ATTRIBUTES` specify another one.
const SERVICE: &str = "codemode";

/// The span and log exporters for one collector.
pub struct Otlp {
    spans: SdkTracerProvider,
    records: SdkLoggerProvider,
}

impl Otlp {
    /// Creates exporters to the collector at this base URL; their requests run on this runtime.
    /// `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES` and `OTEL_TRACES_SAMPLER` have
    /// their OpenTelemetry meaning.
    ///
    /// # Errors
    /// When the URL is invalid, or the machine's certificates cannot be loaded.
    pub fn to(collector: &Url, runtime: &Handle) -> Result<Self, Box<dyn Error>> {
        let base = collector.as_str().trim_end_matches('/');
        let tls = tls_config()?.as_ref().clone();
        let connector = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().build();
        let client = Client::builder(TokioExecutor::new()).build(connector);
        let http_client = |what| CollectorClient {
            what,
            client: client.clone(),
            runtime: runtime.clone(),
            fails: AtomicBool::new(false),
        };
        let time = Duration::from_millis(OTLP_REQUEST_MS_MAX);
        let spans = SpanExporter::builder()
            .with_http()
            .with_http_client(http_client("spans"))
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(format!("{base}/v1/traces"))
            .with_timeout(time)
            .build()?;
        let records = LogExporter::builder()
            .with_http()
            .with_http_client(http_client("the log"))
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(format!("{base}/v1/logs"))
            .with_timeout(time)
            .build()?;
        let interval = Duration::from_millis(OTLP_INTERVAL_MS);
        let spans_batch = trace::BatchConfigBuilder::default()
            .with_max_queue_size(OTLP_QUEUE_MAX)
            .with_max_export_batch_size(OTLP_BATCH_MAX)
            .with_scheduled_delay(interval)
            .build();
        let records_batch = logs::BatchConfigBuilder::default()
            .with_max_queue_size(OTLP_QUEUE_MAX)
            .with_max_export_batch_size(OTLP_BATCH_MAX)
            .with_scheduled_delay(interval)
            .build();
        let resource = resource();
        let spans = SdkTracerProvider::builder()
            .with_resource(resource.clone())
            .with_span_processor(BatchSpanProcessor::builder(spans).with_batch_config(spans_batch).build());
        // The SDK's default sampler drops the spans of requests whose client does not sample.
        let spans = match env::var_os("OTEL_TRACES_SAMPLER") {
            Some(_) => spans,
            None => spans.with_sampler(Sampler::AlwaysOn),
        };
        let records = SdkLoggerProvider::builder()
            .with_resource(resource)
            .with_log_processor(BatchLogProcessor::builder(records).with_batch_config(records_batch).build());
        Ok(Self { spans: spans.build(), records: records.build() })
    }

    /// A layer that exports the spans of executions and of their calls, and the events that pass the filter.
    pub fn layer<S: Subscriber + for<'a> LookupSpan<'a>>(&self, filter: EnvFilter) -> impl Layer<S> {
        // Events are exported as log records, not also as span events.
        let spans = tracing_opentelemetry::layer()
            .with_tracer(self.spans.tracer(SERVICE))
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_filter(filter_fn(|metadata| metadata.is_span() && metadata.target().starts_with(SPANS)));
        OpenTelemetryTracingBridge::new(&self.records).with_filter(filter).and_then(spans)
    }

    /// Exports the queued items and shuts the exporters down, within [`OTLP_FLUSH_MS_MAX`].
    pub fn flush(self) {
        let time = Duration::from_millis(OTLP_FLUSH_MS_MAX);
        thread::scope(|scope| {
            scope.spawn(|| self.spans.shutdown_with_timeout(time));
            // Whether the collector accepts them has been logged.
            let _ = self.records.shutdown_with_timeout(time);
        });
    }
}

/// The resource of all spans and records.
fn resource() -> Resource {
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let builder = || Resource::builder().with_attribute(version.clone());
    let configured = builder().build();
    let name = configured.get(&Key::from_static_str("service.name")).map(|name| name.to_string());
    match name {
        // The SDK's default name.
        Some(name) if !name.starts_with("unknown_service") => configured,
        _ => builder().with_service_name(SERVICE).build(),
    }
}

/// The HTTP client of one exporter. It logs when its requests start to fail or to succeed again: on standard error
/// only, since nothing that an exporter's thread logs is exported.
#[derive(Debug)]
struct CollectorClient {
    what: &'static str,
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    /// The exporters' threads have no runtime.
    runtime: Handle,
    fails: AtomicBool,
}

#[async_trait::async_trait]
impl HttpClient for CollectorClient {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let client = self.client.clone();
        let time = Duration::from_millis(OTLP_REQUEST_MS_MAX);
        let exchange = async move {
            let (parts, body) = client.request(request.map(Full::new)).await?.into_parts();
            if !parts.status.is_success() {
                return Ok(Response::from_parts(parts, Bytes::new()));
            }
            let body = Limited::new(body, OTLP_ANSWER_BYTES_MAX).collect().await;
            let body = body.map_err(|error| match error.downcast::<LengthLimitError>() {
                // The one error after which the exporter does not send the same batch again.
                Ok(_) => ResponseBodyTooLarge::new().into(),
                Err(error) => error,
            })?;
            Ok::<_, HttpError>(Response::from_parts(parts, body.to_bytes()))
        };
        let answer = match self.runtime.spawn(async move { timeout(time, exchange).await }).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(late)) => Err(late.into()),
            Err(ended) => Err(ended.into()),
        };
        self.log_change(&answer);
        answer
    }
}

impl CollectorClient {
    fn log_change(&self, answer: &Result<Response<Bytes>, HttpError>) {
        let fault = match answer {
            Ok(answer) if answer.status().is_success() => None,
            Ok(answer) => Some(answer.status().to_string()),
            Err(error) => Some(with_sources(&**error)),
        };
        let what = self.what;
        let failed = self.fails.swap(fault.is_some(), Ordering::Relaxed);
        match fault {
            Some(error) if !failed => tracing::warn!(error, "the collector does not take {what}"),
            None if failed => tracing::warn!("the collector takes {what} again"),
            _ => {}
        }
    }
}

/// An error's message, followed by those of its sources.
fn with_sources(error: &dyn Error) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        words = format!("{words}: {error}");
        source = error.source();
    }
    words
}
