//! Export to an OpenTelemetry collector: what the collector receives, and how the host behaves when the collector
//! fails.

use crate::support::{
    http::{Reply, Serving, call},
    program::{PATIENCE, Place, need_browser, wait_until},
};
use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, StatusCode, Uri},
};
use codemode_spec::limits::OTLP_ANSWER_BYTES_MAX;
use opentelemetry_proto::tonic::{
    collector::{logs::v1::ExportLogsServiceRequest, trace::v1::ExportTraceServiceRequest},
    common::v1::{AnyValue, KeyValue, any_value},
    logs::v1::LogRecord,
    resource::v1::Resource,
    trace::v1::{Span, status::StatusCode as SpanStatus},
};
use prost::Message as _;
use rustix::process::Signal;
use serde_json::json;
use std::{
    fs,
    net::SocketAddr,
    process::Command,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::{net::TcpListener, runtime::Runtime};

/// A collector that accepts everything, or gives a scripted answer.
struct Collector {
    address: SocketAddr,
    state: Arc<Mutex<Taken>>,
    _runtime: Runtime,
}

struct Taken {
    answer: Answer,
    requests: Vec<Request>,
    /// The number of bytes sent of endless answers.
    streamed: Arc<AtomicUsize>,
}

struct Request {
    path: String,
    authorization: Option<String>,
    body: Vec<u8>,
}

#[derive(Clone, Copy)]
enum Answer {
    Status(StatusCode),
    /// This status for one path, and 200 for the others.
    StatusAt(&'static str, StatusCode),
    Never,
    Endless,
}

impl Collector {
    fn start(answer: Answer) -> Self {
        let runtime = Runtime::new().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(Taken { answer, requests: Vec::new(), streamed: Arc::default() }));
        let router = Router::new().fallback(take).with_state(Arc::clone(&state));
        runtime.spawn(async { axum::serve(listener, router).await });
        Self { address, state, _runtime: runtime }
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn answers(&self, answer: Answer) {
        self.state.lock().unwrap().answer = answer;
    }

    fn requests(&self) -> usize {
        self.state.lock().unwrap().requests.len()
    }

    fn streamed(&self) -> usize {
        self.state.lock().unwrap().streamed.load(Ordering::Relaxed)
    }

    /// The items received at this path, with their resources.
    fn of<T>(&self, path: &str, read: impl Fn(&[u8]) -> Vec<(Resource, T)>) -> Vec<(Resource, T)> {
        let state = self.state.lock().unwrap();
        state.requests.iter().filter(|request| request.path == path).flat_map(|request| read(&request.body)).collect()
    }

    fn spans(&self) -> Vec<(Resource, Span)> {
        self.of("/v1/traces", |body| {
            let all = ExportTraceServiceRequest::decode(body).unwrap().resource_spans;
            let all = all.into_iter().flat_map(|of| {
                let resource = of.resource.unwrap_or_default();
                let spans = of.scope_spans.into_iter().flat_map(|scope| scope.spans);
                spans.map(move |span| (resource.clone(), span))
            });
            all.collect()
        })
    }

    fn records(&self) -> Vec<(Resource, LogRecord)> {
        self.of("/v1/logs", |body| {
            let all = ExportLogsServiceRequest::decode(body).unwrap().resource_logs;
            let all = all.into_iter().flat_map(|of| {
                let resource = of.resource.unwrap_or_default();
                let records = of.scope_logs.into_iter().flat_map(|scope| scope.log_records);
                records.map(move |record| (resource.clone(), record))
            });
            all.collect()
        })
    }
}

async fn take(State(state): State<Arc<Mutex<Taken>>>, uri: Uri, headers: HeaderMap, body: Bytes) -> (StatusCode, Body) {
    let authorization = headers.get("authorization").map(|value| value.to_str().unwrap().to_owned());
    let (answer, streamed) = {
        let mut state = state.lock().unwrap();
        state.requests.push(Request { path: uri.path().to_owned(), authorization, body: body.to_vec() });
        (state.answer, Arc::clone(&state.streamed))
    };
    match answer {
        Answer::Status(status) => (status, Body::empty()),
        Answer::StatusAt(path, status) if path == uri.path() => (status, Body::empty()),
        Answer::StatusAt(..) => (StatusCode::OK, Body::empty()),
        Answer::Never => std::future::pending().await,
        Answer::Endless => {
            const PIECE: &[u8] = &[0; 4096];
            let pieces = futures::stream::repeat_with(move || {
                streamed.fetch_add(PIECE.len(), Ordering::Relaxed);
                Ok::<_, std::io::Error>(PIECE)
            });
            (StatusCode::OK, Body::from_stream(pieces))
        }
    }
}

/// A host that logs to the file `log`.
fn serve(place: &Place, collector: &str) -> Command {
    let mut command = place.command(&["serve", "--listen", "127.0.0.1:0", "--otlp", collector]);
    command.stderr(fs::File::create(place.folder().join("log")).unwrap());
    command
}

fn log(place: &Place) -> String {
    fs::read_to_string(place.folder().join("log")).unwrap()
}

fn text(value: Option<&AnyValue>) -> Option<&str> {
    match value?.value.as_ref()? {
        any_value::Value::StringValue(text) => Some(text),
        _ => None,
    }
}

fn attribute<'a>(attributes: &'a [KeyValue], key: &str) -> Option<&'a str> {
    text(attributes.iter().find(|attribute| attribute.key == key)?.value.as_ref())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_collector_gets_executions_calls_and_log_and_nothing_of_what_scripts_say() {
    need_browser();
    let (place, collector) = (Place::new(), Collector::start(Answer::Status(StatusCode::OK)));
    let mut command = serve(&place, &collector.url());
    command.env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20sesame-of-the-collector");
    let mut serving = Serving::of(command);
    let mut message = call(&json!({"code": "
        await cdp.sessionInfo();
        await cdp.send('SystemInfo.getInfo').catch(() => 0);
        await cdp['sesame'](1).catch(() => 0);
        throw new Error('sesame-of-the-script');
    "}));
    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    message["params"]["_meta"]["traceparent"] = json!(format!("00-{TRACE}-00f067aa0ba902b7-01"));
    let mut answer = Reply::message(&serving.send(&[], &message));
    let envelope = answer["result"]["structuredContent"].take();
    assert_eq!(envelope["error"]["code"], "SCRIPT_ERROR", "{envelope}");
    let id = envelope["context"]["execution_id"].as_str().unwrap_or_else(|| panic!("{envelope}")).to_owned();
    serving.program.signal(Signal::HUP);
    const RELOADED: &str = "the settings were reloaded";
    let reloaded = |record: &LogRecord| text(record.body.as_ref()) == Some(RELOADED);
    wait_until("the record", PATIENCE, || collector.records().iter().any(|(_, record)| reloaded(record)));
    // The host is stopped at once: spans that are not exported yet must not be lost.
    let last = serving.execute(
        &[],
        &json!({"code": "
        const page = await browser.open('data:text/html,<title>sesame-of-the-page</title>');
        console.log(await page.evaluate((it) => it, 'sesame-of-an-argument'));
        await page.title()"}),
    );
    assert_eq!(last["data"]["result"], "sesame-of-the-page", "{last}");
    serving.program.signal(Signal::TERM);
    assert!(serving.program.ended(PATIENCE).success());
    let spans = collector.spans();
    let execution = |id: &str| {
        let found = spans.iter().find(|(_, span)| attribute(&span.attributes, "id") == Some(id));
        found.unwrap_or_else(|| panic!("no {id} in {spans:?}"))
    };
    let (resource, span) = execution(&id);
    assert_eq!(attribute(&resource.attributes, "service.name"), Some("codemode"));
    assert_eq!(attribute(&resource.attributes, "service.version"), Some(env!("CARGO_PKG_VERSION")));
    assert_eq!((span.name.as_str(), hex(&span.trace_id)), ("execution", TRACE.to_owned()));
    assert_eq!(hex(&span.parent_span_id), "00f067aa0ba902b7");
    assert!(span.end_time_unix_nano > span.start_time_unix_nano);
    let failed = |span: &Span| {
        let is_error = span.status.as_ref().is_some_and(|status| status.code == SpanStatus::Error as i32);
        attribute(&span.attributes, "error.type").filter(|_| is_error).map(str::to_owned)
    };
    assert_eq!(failed(span).as_deref(), Some("SCRIPT_ERROR"));
    let calls: Vec<_> =
        spans.iter().filter(|(_, call)| call.parent_span_id == span.span_id).map(|(_, call)| call).collect();
    let calls: Vec<_> = calls.iter().map(|call| (call.name.as_str(), hex(&call.trace_id), failed(call))).collect();
    assert_eq!(
        calls,
        [
            ("cdp.sessionInfo", TRACE.to_owned(), None),
            ("cdp.send", TRACE.to_owned(), Some("POLICY_REFUSED".to_owned())),
            ("call", TRACE.to_owned(), Some("UNKNOWN_METHOD".to_owned()))
        ]
    );
    let (_, span) = execution(last["context"]["execution_id"].as_str().unwrap());
    assert_eq!((failed(span), span.parent_span_id.len()), (None, 0), "{span:?}");
    assert_ne!(hex(&span.trace_id), TRACE);

    let records = collector.records();
    let (resource, record) = records.iter().find(|(_, record)| reloaded(record)).unwrap();
    assert_eq!(attribute(&resource.attributes, "service.name"), Some("codemode"));
    assert_eq!(
        (text(record.body.as_ref()), record.severity_text.as_str()),
        (Some("the settings were reloaded"), "INFO")
    );
    let state = collector.state.lock().unwrap();
    for request in &state.requests {
        assert_eq!(request.authorization.as_deref(), Some("Bearer sesame-of-the-collector"), "{}", request.path);
        assert!(!String::from_utf8_lossy(&request.body).contains("sesame"), "{}", request.path);
    }
    // Standard error contains the same log as without a collector.
    let log = log(&place);
    assert!(!log.contains("sesame") && !log.contains(RELOADED), "{log}");
}

#[test]
fn spans_do_not_depend_on_what_is_logged_or_on_the_client() {
    need_browser();
    let (place, collector) = (Place::new(), Collector::start(Answer::Status(StatusCode::OK)));
    let mut command = serve(&place, &collector.url());
    command.args(["--log", "error"]);
    let mut serving = Serving::of(command);
    let code = "const page = await browser.open(); await page.evaluate(() => new Promise(() => {}))";
    let mut message = call(&json!({"code": code, "timeout_ms": 3_000}));
    // The client does not sample the trace.
    message["params"]["_meta"]["traceparent"] = json!("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00");
    let answer = serving.send(&[], &message).message();
    assert_eq!(answer["result"]["structuredContent"]["error"]["code"], "TIME_EXCEEDED", "{answer}");
    serving.program.signal(Signal::HUP);
    serving.program.signal(Signal::TERM);
    assert!(serving.program.ended(PATIENCE).success());
    let spans = collector.spans();
    let seen: Vec<_> =
        spans.iter().map(|(_, span)| (span.name.as_str(), attribute(&span.attributes, "error.type"))).collect();
    assert!(seen.contains(&("execution", Some("TIME_EXCEEDED"))), "{seen:?}");
    // The span of the call that was running then.
    let is_cancelled = |(name, error): &(&str, _)| name.starts_with("browser.") && *error == Some("CANCELLED");
    assert!(seen.iter().any(is_cancelled), "{seen:?}");
    assert!(collector.records().is_empty(), "{:?}", collector.records());
}

#[test]
fn a_host_works_and_ends_whatever_its_collector_does() {
    const DEAF: &str = "the collector does not take ";
    // Connections stay in the backlog of this listener, which never accepts.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let told = |place: &Place, what: &str| log(place).matches(what).count();
    let work = |serving: &Serving| {
        for _ in 0..20 {
            let answer = serving.execute(&[], &json!({"code": "1 + 1"}));
            assert_eq!(answer["data"]["result"], 2, "{answer}");
        }
    };
    // A collector that does not accept, one that never answers, and one whose answer is endless.
    let place = Place::new();
    let mut serving = Serving::of(serve(&place, &format!("http://{}", silent.local_addr().unwrap())));
    work(&serving);
    serving.program.signal(Signal::TERM);
    assert!(serving.program.ended(PATIENCE).success());
    for answer in [Answer::Never, Answer::Endless] {
        let (place, collector) = (Place::new(), Collector::start(answer));
        let mut serving = Serving::of(serve(&place, &collector.url()));
        work(&serving);
        wait_until("a request", PATIENCE, || collector.requests() > 0);
        work(&serving);
        serving.program.signal(Signal::TERM);
        assert!(serving.program.ended(PATIENCE).success());
        // The kernel buffers more per connection than the host reads.
        assert!(collector.streamed() < collector.requests() * (OTLP_ANSWER_BYTES_MAX + (16 << 20)));
    }

    // A collector that refuses the log and later accepts it: only the changes are logged, and only for the log.
    let (place, collector) = (Place::new(), Collector::start(Answer::StatusAt("/v1/logs", StatusCode::BAD_REQUEST)));
    let serving = Serving::of(serve(&place, &(collector.url() + "/")));
    let reload = || {
        work(&serving);
        serving.program.signal(Signal::HUP);
    };
    reload();
    wait_until("the warning", PATIENCE, || told(&place, DEAF) > 0);
    assert!(log(&place).contains("the collector does not take the log error=\"400 Bad Request\""), "{}", log(&place));
    wait_until("the spans", PATIENCE, || {
        reload();
        collector.spans().len() >= 40
    });
    collector.answers(Answer::Status(StatusCode::OK));
    wait_until("the other", PATIENCE, || {
        reload();
        told(&place, "the collector takes the log again") > 0
    });
    assert_eq!(told(&place, DEAF), 1, "{}", log(&place));
}

#[test]
fn an_address_that_is_none_of_a_collector_is_refused_and_an_empty_one_is_none() {
    let place = Place::new();
    let with_parts = ["http://user:word@127.0.0.1", "http://127.0.0.1/?key=1", "http://127.0.0.1/#part"];
    for wrong in ["127.0.0.1:4318", "ftp://127.0.0.1", "grpc"].into_iter().chain(with_parts) {
        let refused = place.run(&["--otlp", wrong, "types"]);
        assert_eq!(refused.status.code(), Some(2), "{wrong}");
        let file = place.folder().join("config.toml");
        fs::write(&file, format!("log.otlp = {wrong:?}")).unwrap();
        let refused = place.run(&["--config", file.to_str().unwrap(), "config", "show", "--json"]);
        let said = String::from_utf8_lossy(&refused.stdout).into_owned() + &String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success() && said.contains("log.otlp: "), "{wrong}: {said}");
    }
    let none = place.command(&["types"]).env("CODEMODE_OTLP", "").output().unwrap();
    assert!(none.status.success() && none.stderr.is_empty(), "{none:?}");
}
