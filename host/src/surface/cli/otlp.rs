//! Spans and events for an OpenTelemetry collector, by OTLP over HTTP with protobuf
//! (<https://opentelemetry.io/docs/specs/otlp/#otlphttp>).
//!
//! What a collector does not take in time is dropped: nothing in the host waits for it.

use codemode_chromium::tls_config;
use codemode_spec::limits::{
    OTLP_ANSWER_BYTES_MAX, OTLP_BATCH_MAX, OTLP_DELAY_MS, OTLP_FLUSH_MS_MAX, OTLP_QUEUE_MAX, OTLP_REQUEST_MS_MAX,
};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use opentelemetry::{Key, KeyValue, trace::TracerProvider as _};
use opentelemetry_appender_tracing::layer::OpenTelemetryTracingBridge;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{LogExporter, Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::{
    Resource,
    logs::{self, BatchLogProcessor, SdkLoggerProvider},
    trace::{self, BatchSpanProcessor, SdkTracerProvider},
};
use std::{
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::runtime::Handle;
use tracing::Subscriber;
use tracing_subscriber::{Layer, filter::filter_fn, registry::LookupSpan};

/// The name of this program, unless `OTEL_SERVICE_NAME` or `OTEL_RESOURCE_ATTRIBUTES` say another one.
const SERVICE: &str = "codemode";

/// What is on its way to a collector.
pub(super) struct Otlp {
    spans: SdkTracerProvider,
    events: SdkLoggerProvider,
}

impl Otlp {
    /// Begins to collect for the collector with this base URL. Requests run on this runtime. The variables of OpenTelemetry's
    /// SDK say the rest, as `OTEL_EXPORTER_OTLP_HEADERS` and `OTEL_TRACES_SAMPLER`.
    ///
    /// # Errors
    /// What is wrong with the URL, with such a variable, or with the machine's certificates.
    pub(super) fn to(collector: &str, runtime: &Handle) -> Result<Self, Box<dyn Error>> {
        let tls = tls_config()?.as_ref().clone();
        let connector = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().build();
        let client = Exchange {
            client: Client::builder(TokioExecutor::new()).build(connector),
            runtime: runtime.clone(),
            fails: Arc::default(),
        };
        let base = collector.trim_end_matches('/');
        let time = Duration::from_millis(OTLP_REQUEST_MS_MAX);
        let delay = Duration::from_millis(OTLP_DELAY_MS);
        let spans = SpanExporter::builder()
            .with_http()
            .with_http_client(client.clone())
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(format!("{base}/v1/traces"))
            .with_timeout(time)
            .build()?;
        let events = LogExporter::builder()
            .with_http()
            .with_http_client(client)
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(format!("{base}/v1/logs"))
            .with_timeout(time)
            .build()?;
        let spans_batch = trace::BatchConfigBuilder::default()
            .with_max_queue_size(OTLP_QUEUE_MAX)
            .with_max_export_batch_size(OTLP_BATCH_MAX)
            .with_scheduled_delay(delay)
            .build();
        let events_batch = logs::BatchConfigBuilder::default()
            .with_max_queue_size(OTLP_QUEUE_MAX)
            .with_max_export_batch_size(OTLP_BATCH_MAX)
            .with_scheduled_delay(delay)
            .build();
        let resource = resource();
        let spans = SdkTracerProvider::builder()
            .with_resource(resource.clone())
            .with_span_processor(BatchSpanProcessor::builder(spans).with_batch_config(spans_batch).build())
            .build();
        let events = SdkLoggerProvider::builder()
            .with_resource(resource)
            .with_log_processor(BatchLogProcessor::builder(events).with_batch_config(events_batch).build())
            .build();
        Ok(Self { spans, events })
    }

    /// What takes spans and events.
    pub(super) fn layer<S: Subscriber + for<'a> LookupSpan<'a>>(&self) -> impl Layer<S> {
        // Events are records of the log, and not also part of their spans.
        let spans = tracing_opentelemetry::layer()
            .with_tracer(self.spans.tracer(SERVICE))
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_filter(filter_fn(|metadata| metadata.is_span()));
        OpenTelemetryTracingBridge::new(&self.events).and_then(spans)
    }

    /// Sends what has not been sent yet. Returns soon also when the collector does not.
    pub(super) fn flush(self) {
        let time = Duration::from_millis(OTLP_FLUSH_MS_MAX);
        // What failed was logged.
        let _ = self.spans.shutdown_with_timeout(time);
        let _ = self.events.shutdown_with_timeout(time);
    }
}

/// What all spans and events are of.
fn resource() -> Resource {
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let builder = || Resource::builder().with_attribute(version.clone());
    let said = builder().build();
    let name = said.get(&Key::from_static_str("service.name")).map(|name| name.to_string());
    match name {
        // As the SDK has it when nobody says.
        Some(name) if !name.starts_with("unknown_service") => said,
        _ => builder().with_service_name(SERVICE).build(),
    }
}

/// The requests to a collector. Whether it takes them is logged when that changes: on standard error only, as nothing of
/// what the exporter does is sent.
#[derive(Clone, Debug)]
struct Exchange {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    /// The exporter's threads have none.
    runtime: Handle,
    fails: Arc<AtomicBool>,
}

#[async_trait::async_trait]
impl HttpClient for Exchange {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let client = self.client.clone();
        let time = Duration::from_millis(OTLP_REQUEST_MS_MAX);
        let exchange = async move {
            let response = client.request(request.map(Full::new)).await?;
            let (parts, body) = response.into_parts();
            let body = Limited::new(body, OTLP_ANSWER_BYTES_MAX).collect().await?.to_bytes();
            Ok::<_, HttpError>(Response::from_parts(parts, body))
        };
        let answer = match self.runtime.spawn(async move { tokio::time::timeout(time, exchange).await }).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(late)) => Err(late.into()),
            Err(ended) => Err(ended.into()),
        };
        self.note(&answer);
        answer
    }
}

impl Exchange {
    fn note(&self, answer: &Result<Response<Bytes>, HttpError>) {
        let fault = match answer {
            Ok(answer) if answer.status().is_success() => None,
            Ok(answer) => Some(answer.status().to_string()),
            Err(error) => Some(words(&**error)),
        };
        let failed = self.fails.swap(fault.is_some(), Ordering::Relaxed);
        match fault {
            Some(error) if !failed => tracing::warn!(error, "the collector does not take spans and log"),
            None if failed => tracing::warn!("the collector takes spans and log again"),
            _ => {}
        }
    }
}

/// An error with what it came from.
fn words(error: &dyn Error) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        words = format!("{words}: {error}");
        source = error.source();
    }
    words
}
