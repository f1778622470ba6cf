//! The executor's guarantees to providers: runtimes are created in order and disposed of in reverse order, exactly
//! once, however the execution ends; nothing that a script started continues after the outcome.

use crate::support::lab::{self, Lab};
use async_trait::async_trait;
use codemode_host::exec::{AuditSink, Direct, DirectRequest, Execution, NoObserver, Request, Settings, Share, Traces};
use codemode_provider::{
    Account, CallContext, Ending, ExecutionContext, ExecutionId, Folders, Provider, ProviderRuntime, ServiceProvider,
    ServiceRuntime,
    testkit::{FakeProvider, FakeService, FakeShared, Journal, Moment},
};
use codemode_spec::{
    Effect, ErrorCode, ErrorReport, Manifest, Method, Value, limits::ARGUMENTS_WEIGHT_MAX, message::Encoded,
};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tempfile::TempDir;
use tokio::{sync::watch, time::Instant};

/// A host with three providers and two services that they share; all of them write to one journal.
struct Trio {
    lab: Lab,
    journal: Journal,
    traces: Arc<Traces>,
    _state: TempDir,
}

impl Trio {
    fn new() -> Self {
        Self::with(|second| second)
    }

    /// With a modified second provider.
    fn with(change: impl FnOnce(FakeProvider) -> FakeProvider) -> Self {
        Self::of(change, |second| second)
    }

    /// With a modified second service.
    fn with_service(change: impl FnOnce(FakeService) -> FakeService) -> Self {
        Self::of(|second| second, change)
    }

    fn of(
        change: impl FnOnce(FakeProvider) -> FakeProvider,
        change_service: impl FnOnce(FakeService) -> FakeService,
    ) -> Self {
        let journal = Journal::default();
        let fake = |name: &str| FakeProvider::new(name).with_journal(&journal);
        let providers: Vec<Arc<dyn Provider>> =
            vec![Arc::new(fake("a")), Arc::new(change(fake("b"))), Arc::new(fake("c"))];
        let state = tempfile::tempdir().expect("a folder");
        let services: Vec<Arc<dyn ServiceProvider>> =
            vec![Arc::new(FakeService::new("s", &journal)), Arc::new(change_service(FakeService::new("t", &journal)))];
        let traces = Arc::new(Traces::default());
        let settings =
            Settings { concurrent_max: 4, services, traces: Some(Arc::clone(&traces)), ..Settings::new(state.path()) };
        Self { lab: Lab::with(providers, settings), journal, traces, _state: state }
    }

    fn execute(&self, request: Request) -> Execution {
        lab::block_on(self.lab.execute(request))
    }

    /// The journal without calls, as `namespace: event`.
    fn life(&self) -> Vec<String> {
        let is_call = |moment: &Moment| matches!(moment, Moment::Called(_) | Moment::Ended(_) | Moment::Dropped(_));
        let moments = self.journal.moments().into_iter().filter(|(_, moment)| !is_call(moment));
        moments.map(|(name, moment)| format!("{name}: {moment:?}")).collect()
    }

    fn assert_life(&self, ending: Ending) {
        let created = ["s", "t", "a", "b", "c"].map(|name| format!("{name}: Created"));
        let disposed = ["c", "b", "a", "t", "s"].map(|name| format!("{name}: Disposed({ending:?})"));
        assert_eq!(self.life(), [created, disposed].concat());
    }
}

fn code(execution: &Execution) -> Option<ErrorCode> {
    execution.outcome.as_ref().err().map(|error| error.code)
}

fn within(ms: u64, code: &str) -> Request {
    Request { timeout: Duration::from_millis(ms), ..Request::new(code) }
}

#[test]
fn every_ending_disposes_of_all_in_reverse_exactly_once() {
    let cpu = |ms, code: &str| Request { cpu: Duration::from_millis(ms), ..Request::new(code) };
    let rows = [
        (Request::new("await a.echo(1)"), None, Ending::Succeeded),
        (Request::new("undefined"), None, Ending::Succeeded),
        (Request::new("throw new Error('x')"), Some(ErrorCode::ScriptError), Ending::Failed),
        (Request::new("await b.fail('POLICY_REFUSED')"), Some(ErrorCode::PolicyRefused), Ending::Failed),
        (Request::new("({ f() {} })"), Some(ErrorCode::ResultUnserialisable), Ending::Failed),
        (Request::new("await new Promise(() => {})"), Some(ErrorCode::Deadlock), Ending::Failed),
        (within(10_000, "await c.hang()"), Some(ErrorCode::TimeExceeded), Ending::Exceeded),
        (within(10_000, "for (;;) await b.wait(5)"), Some(ErrorCode::TimeExceeded), Ending::Exceeded),
        (cpu(100, "for (;;);"), Some(ErrorCode::CpuExceeded), Ending::Exceeded),
        (Request::new("const f = () => [1].map(f); f()"), Some(ErrorCode::StackOverflow), Ending::Exceeded),
        (
            Request::new("let t = 'x'; for (;;) { t += t; t.charCodeAt(t.length - 1) }"),
            Some(ErrorCode::MemoryExceeded),
            Ending::Exceeded,
        ),
    ];
    for (request, expected, ending) in rows {
        let trio = Trio::new();
        let script = request.code.clone();
        assert_eq!(code(&trio.execute(request)), expected, "{script}");
        trio.assert_life(ending);
    }
}

#[test]
fn what_does_not_run_creates_nothing() {
    let trio = Trio::new();
    assert_eq!(code(&trio.execute(Request::new("let = = 1"))), Some(ErrorCode::SyntaxError));
    assert_eq!(code(&trio.execute(within(0, "1"))), Some(ErrorCode::InvalidArgument));
    assert_eq!(trio.life(), Vec::<String>::new());
}

#[test]
fn a_failed_create_disposes_of_the_earlier_ones() {
    let error = ErrorReport::new(ErrorCode::BrowserNotFound, "there is none");
    let trio = Trio::with(|second| second.with_create_error(error));
    let execution = trio.execute(Request::new("await a.echo(1)"));
    let report = execution.outcome.unwrap_err();
    assert_eq!(report.code, ErrorCode::ProviderCreateFailed);
    assert_eq!(report.message, "the namespace b could not be set up: there is none");
    assert_eq!(report.hint, ErrorCode::BrowserNotFound.hint(), "the remedy of the cause");
    assert_eq!(
        trio.life(),
        ended_early(&["s: Created", "t: Created", "a: Created", "b: CreateFailed"], &["a", "t", "s"])
    );
}

#[test]
fn a_create_that_takes_too_long_is_dropped() {
    let trio = Trio::with(|second| second.with_create_delay(Duration::from_secs(3600)));
    assert_eq!(code(&trio.execute(within(10_000, "1"))), Some(ErrorCode::TimeExceeded));
    assert_eq!(trio.life().get(2).map(String::as_str), Some("a: Created"));
    assert_eq!((trio.journal.disposals("s"), trio.journal.disposals("t")), (1, 1));
    assert_eq!((trio.journal.disposals("a"), trio.journal.disposals("b"), trio.journal.disposals("c")), (1, 0, 0));
}

#[test]
fn a_failing_dispose_is_an_error_only_if_the_script_succeeded() {
    let failing = || {
        let error = ErrorReport::new(ErrorCode::IoError, "the folder is stuck");
        Trio::with(|second| second.with_dispose_error(error))
    };
    let trio = failing();
    let report = trio.execute(Request::new("1")).outcome.unwrap_err();
    assert_eq!(report.code, ErrorCode::ProviderDisposeFailed);
    assert!(report.message.contains("the folder is stuck"), "{report}");
    trio.assert_life(Ending::Succeeded);

    let trio = failing();
    let execution = trio.execute(Request::new("throw new Error('mine')"));
    assert_eq!(code(&execution), Some(ErrorCode::ScriptError));
    assert_eq!(execution.warnings, ["a provider could not clean up: the folder is stuck"]);
    trio.assert_life(Ending::Failed);
}

/// The expected journal of an execution that ended before its script ran.
fn ended_early(created: &[&str], disposed: &[&str]) -> Vec<String> {
    let disposed = disposed.iter().map(|name| format!("{name}: Disposed(NotStarted)"));
    created.iter().map(|moment| (*moment).to_owned()).chain(disposed).collect()
}

#[test]
fn a_service_that_cannot_be_made_disposes_of_the_earlier_ones_and_creates_no_runtime() {
    let error = ErrorReport::new(ErrorCode::InvalidArgument, "its options are wrong");
    let trio = Trio::with_service(|second| second.with_create_error(error));
    let report = trio.execute(Request::new("await a.echo(1)")).outcome.unwrap_err();
    assert_eq!(report.code, ErrorCode::ProviderCreateFailed);
    assert_eq!(report.message, "what the namespaces share could not be set up: its options are wrong");
    assert_eq!(trio.life(), ended_early(&["s: Created", "t: CreateFailed"], &["s"]));
}

#[test]
fn a_service_that_cannot_be_disposed_of_is_told_and_the_rest_is_disposed_of() {
    let failing = || {
        let error = ErrorReport::new(ErrorCode::IoError, "the browser is stuck");
        Trio::with_service(|second| second.with_dispose_error(error))
    };
    let trio = failing();
    let report = trio.execute(Request::new("1")).outcome.unwrap_err();
    assert_eq!(report.code, ErrorCode::ProviderDisposeFailed);
    assert_eq!(report.message, "a shared service could not clean up: the browser is stuck");
    trio.assert_life(Ending::Succeeded);

    let trio = failing();
    let execution = trio.execute(Request::new("throw new Error('mine')"));
    assert_eq!(code(&execution), Some(ErrorCode::ScriptError));
    assert_eq!(execution.warnings, ["a shared service could not clean up: the browser is stuck"]);
    trio.assert_life(Ending::Failed);
}

#[test]
fn what_providers_warn_of_is_told() {
    let trio = Trio::with(|second| second.with_warning("the page had crashed"));
    assert_eq!(trio.execute(Request::new("1")).warnings, ["the page had crashed"]);
}

#[test]
fn a_cancelled_execution_ends_at_once_and_its_calls_are_dropped() {
    for script in ["await Promise.all([a.hang(), b.hang()])", "a.echo(1); await new Promise((r) => setTimeout(r, 1e8))"]
    {
        let trio = Trio::new();
        let request = Request::new(script);
        let cancel = request.cancel.clone();
        let execution = lab::block_on(async {
            let execution = trio.lab.execute(request);
            let cancelling = async {
                called(&trio.journal, "a").await;
                cancel.cancel();
            };
            tokio::join!(execution, cancelling).0
        });
        assert_eq!(code(&execution), Some(ErrorCode::Cancelled), "{script}");
        trio.assert_life(Ending::Cancelled);
        let hanging = if script.contains("hang") { 1 } else { 0 };
        assert_eq!(trio.journal.count("a", &Moment::Dropped("hang".into())), hanging);
        assert_eq!(trio.journal.count("b", &Moment::Dropped("hang".into())), hanging);
    }
}

#[test]
fn a_spinning_script_can_be_cancelled() {
    let trio = Trio::new();
    let request = Request::new("await a.echo(1); for (;;);");
    let cancel = request.cancel.clone();
    let execution = lab::block_on(async {
        let cancelling = async {
            called(&trio.journal, "a").await;
            cancel.cancel();
        };
        tokio::join!(trio.lab.execute(request), cancelling).0
    });
    assert_eq!(code(&execution), Some(ErrorCode::Cancelled));
    trio.assert_life(Ending::Cancelled);
}

#[test]
fn a_dropped_future_ends_the_execution_as_well() {
    for script in ["await a.hang()", "await a.echo(1); for (;;);"] {
        let trio = Trio::new();
        lab::block_on(async {
            // Drop the future while it runs, as a server does when its client disconnects.
            tokio::select! {
                execution = trio.lab.execute(Request::new(script)) => panic!("it ended: {execution:?}"),
                () = called(&trio.journal, "a") => {}
            }
            lab::until("disposal", || trio.life().len() == 10).await;
        });
        trio.assert_life(Ending::Cancelled);
        assert_eq!(trio.journal.count("a", &Moment::Dropped("hang".into())), usize::from(script.contains("hang")));
    }
}

#[test]
fn calls_in_flight_are_dropped_before_anything_is_disposed_of() {
    let trio = Trio::new();
    let execution = trio.execute(Request::new("a.hang(); c.hang(); await b.echo('result')"));
    assert_eq!(execution.outcome.unwrap().result, "result");
    assert_eq!(
        execution.warnings,
        ["2 calls had not ended when the script ended and were cancelled (a.hang, c.hang): await every call"]
    );
    let moments = trio.journal.moments();
    let first_disposal = moments.iter().position(|(_, moment)| matches!(moment, Moment::Disposed(_))).unwrap();
    let dropped = |(_, moment): &(String, Moment)| *moment == Moment::Dropped("hang".into());
    assert_eq!(moments[..first_disposal].iter().filter(|moment| dropped(moment)).count(), 2, "{moments:?}");
    assert_eq!(moments[first_disposal..].len(), 5, "nothing but disposals: {moments:?}");
}

#[test]
fn calls_made_too_late_reach_no_provider() {
    // Calls that would start after the outcome: from a getter of the result, from a timer, and from a later microtask.
    for script in [
        "({ get x() { a.write(1); return 1 } })",
        "setTimeout(() => a.write(1), 1); 'done'",
        "Promise.resolve().then(() => {}).then(() => a.write(1)); 'done'",
    ] {
        let trio = Trio::new();
        assert_eq!(code(&trio.execute(Request::new(script))), None, "{script}");
        assert_eq!(trio.journal.count("a", &Moment::Called("write".into())), 0, "{script}");
        trio.assert_life(Ending::Succeeded);
    }
}

#[test]
fn a_runtime_that_panics_is_disposed_of_like_any_other() {
    let journal = Journal::default();
    for panics in [Panics::Create, Panics::Call, Panics::Dispose] {
        let journal_before = journal.moments().len();
        let first = FakeProvider::new("first").with_journal(&journal);
        let last = FakeProvider::new("last").with_journal(&journal);
        let providers: Vec<Arc<dyn Provider>> = vec![Arc::new(first), Arc::new(Panicking::new(panics)), Arc::new(last)];
        let state = tempfile::tempdir().unwrap();
        let lab = Lab::new(providers, state.path().to_owned());
        let execution = lab::block_on(lab.execute(Request::new("await panicking.echo(1)")));
        let expected = match panics {
            Panics::Create | Panics::Call => ErrorCode::HostFault,
            Panics::Dispose => ErrorCode::ProviderDisposeFailed,
        };
        assert_eq!(code(&execution), Some(expected));
        let moments = &journal.moments()[journal_before..];
        let names: Vec<&str> = moments.iter().map(|(name, _)| name.as_str()).collect();
        match panics {
            Panics::Create => assert_eq!(names, ["first", "first"]),
            Panics::Call | Panics::Dispose => assert_eq!(names, ["first", "last", "last", "first"]),
        }
        assert_eq!(lab::block_on(lab.execute(Request::new("await first.echo(2)"))).outcome.is_ok(), {
            matches!(panics, Panics::Call)
        });
    }
}

/// A shared service whose creation panics.
struct PanickingService;

impl ServiceProvider for PanickingService {
    fn create(&self, _: &mut ExecutionContext) -> Result<Arc<dyn ServiceRuntime>, ErrorReport> {
        panic!("as it was told");
    }
}

#[test]
fn what_was_created_before_a_service_that_panics_is_disposed_of() {
    let (journal, state) = (Journal::default(), tempfile::tempdir().unwrap());
    let services: Vec<Arc<dyn ServiceProvider>> =
        vec![Arc::new(FakeService::new("s", &journal)), Arc::new(PanickingService)];
    let lab = Lab::with(vec![], Settings { services, ..Settings::new(state.path()) });
    let report = lab::block_on(lab.execute(Request::new("1"))).outcome.unwrap_err();
    assert_eq!((report.code, &*report.message), (ErrorCode::HostFault, "creating what the namespaces share panicked"));
    assert_eq!((journal.count("s", &Moment::Created), journal.disposals("s")), (1, 1));
}

/// Records the audit's events about calls.
#[derive(Default)]
struct Audited(Mutex<Vec<String>>);

impl AuditSink for Audited {
    fn effect(&self, _: &ExecutionId, namespace: &str, method: &str, _: &Account) {
        self.0.lock().unwrap().push(format!("effect {namespace}.{method}"));
    }

    fn call_refused(&self, _: &ExecutionId, namespace: &str, method: &str, code: ErrorCode) {
        self.0.lock().unwrap().push(format!("refused {namespace}.{method} {code}"));
    }
}

#[test]
fn a_method_that_needs_approval_is_refused_before_its_provider_sees_the_call() {
    let fake = FakeProvider::new("shop");
    let mut manifest = fake.manifest().clone();
    let write = manifest.methods.iter().find(|method| method.name == "write").unwrap().clone();
    manifest.methods.push(Method { name: "pay".to_owned(), effect: Effect::NeedsApproval, ..write });
    let fake = fake.with_manifest(manifest);
    let (journal, audit) = (fake.journal().clone(), Arc::new(Audited::default()));
    let state = tempfile::tempdir().unwrap();
    let transform = Arc::new(codemode_host::result::Identity);
    let settings = Settings { audit: audit.clone(), transform, ..Settings::new(state.path()) };
    let lab = Lab::with(vec![Arc::new(fake)], settings);

    let uncaught = lab::block_on(lab.execute(Request::new("await shop.pay(7)"))).outcome.unwrap_err();
    assert_eq!(
        (uncaught.code, uncaught.message.as_str(), uncaught.hint.as_str(), uncaught.retryable),
        (
            ErrorCode::ApprovalRequired,
            "shop.pay may be called only with a person's approval",
            ErrorCode::ApprovalRequired.hint(),
            false
        )
    );
    let catching =
        "try { await shop.pay(7) } catch (error) { await shop.write(1); return [error.code, error.message] }";
    let caught = lab::block_on(lab.result(&format!("async () => {{ {catching} }}")));
    assert_eq!(
        caught,
        serde_json::json!(["APPROVAL_REQUIRED", "shop.pay may be called only with a person's approval"])
    );
    // Refused before the arguments are checked: correcting them would not help.
    let wrong = lab::block_on(lab.execute(Request::new("await shop.pay(1, 2, 3)"))).outcome.unwrap_err();
    assert_eq!(wrong.code, ErrorCode::ApprovalRequired);

    let refused = "refused shop.pay APPROVAL_REQUIRED";
    assert_eq!(*audit.0.lock().unwrap(), [refused, refused, "effect shop.write", refused]);
    assert_eq!(journal.count("shop", &Moment::Called("pay".into())), 0, "the provider has not seen it");
    assert_eq!(journal.count("shop", &Moment::Called("write".into())), 1);
}

#[test]
fn runtimes_learn_of_the_end_and_of_their_options() {
    let (sender, mut seen) = watch::channel(None);
    let provider = Seeing { manifest: manifest("seeing"), seen: sender };
    let state = tempfile::tempdir().unwrap();
    let shared = Arc::new(FakeService::new("shared", &Journal::default()));
    let lab = Lab::with(vec![Arc::new(provider)], Settings { services: vec![shared], ..Settings::new(state.path()) });
    let mut request = within(30_000, "await seeing.echo(1)");
    request.options.insert("seeing".to_owned(), serde_json::json!({"wanted": 7}));
    lab::block_on(lab.executor().execute(request, Arc::new(NoObserver)));
    let context = seen.borrow_and_update().clone().expect("a runtime was made");
    assert_eq!(context.options["seeing"]["wanted"], 7);
    assert_eq!(context.services.require::<Folders>().unwrap().state, state.path());
    assert_eq!(context.services.get::<FakeShared>().as_deref(), Some(&FakeShared("shared".to_owned())));
    assert!(context.cancel.is_cancelled(), "what a runtime started knows that it is over");
    assert!(context.execution.as_str().chars().all(|c| c.is_ascii_alphanumeric() || c == '-'));
}

/// Waits for the first call to a namespace.
async fn called(journal: &Journal, namespace: &str) {
    let is_call = |(name, moment): &(String, Moment)| name == namespace && matches!(moment, Moment::Called(_));
    lab::until("a call", || journal.moments().iter().any(is_call)).await;
}

fn manifest(namespace: &str) -> Manifest {
    let mut manifest = FakeProvider::new(namespace).manifest().clone();
    manifest.methods.retain(|method| method.name == "echo");
    manifest
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Panics {
    Create,
    Call,
    Dispose,
}

struct Panicking {
    manifest: Manifest,
    panics: Panics,
}

impl Panicking {
    fn new(panics: Panics) -> Self {
        Self { manifest: manifest("panicking"), panics }
    }
}

#[async_trait]
impl Provider for Panicking {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    async fn create(&self, _: ExecutionContext) -> Result<Arc<dyn ProviderRuntime>, ErrorReport> {
        assert_ne!(self.panics, Panics::Create, "as it was told");
        Ok(Arc::new(PanickingRuntime(self.panics)))
    }
}

struct PanickingRuntime(Panics);

#[async_trait]
impl ProviderRuntime for PanickingRuntime {
    async fn call(&self, _: &str, _: Vec<Value>, _: CallContext) -> Result<Encoded, ErrorReport> {
        assert_ne!(self.0, Panics::Call, "as it was told");
        Ok(Value::Undefined.into())
    }

    async fn dispose(&self, _: Ending) -> Result<(), ErrorReport> {
        assert_ne!(self.0, Panics::Dispose, "as it was told");
        Ok(())
    }
}

/// A provider that records the context of its runtimes.
struct Seeing {
    manifest: Manifest,
    seen: watch::Sender<Option<ExecutionContext>>,
}

#[async_trait]
impl Provider for Seeing {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    async fn create(&self, context: ExecutionContext) -> Result<Arc<dyn ProviderRuntime>, ErrorReport> {
        self.seen.send_replace(Some(context));
        Ok(Arc::new(PanickingRuntime(Panics::Create)))
    }
}

async fn direct(trio: &Trio) -> Result<Direct, ErrorReport> {
    let request = DirectRequest { program: "test", session: Default::default(), share: Share::default() };
    trio.lab.executor().direct(request).await
}

async fn make(direct: &Direct, namespace: &str, method: &str, arguments: Vec<Value>) -> Result<Value, ErrorCode> {
    let deadline = Instant::now() + Duration::from_secs(60);
    direct.call(namespace, method, arguments, deadline).await.map_err(|error| error.code)
}

#[test]
fn an_execution_without_a_script_lives_from_its_beginning_to_its_end() {
    let trio = Trio::new();
    lab::block_on(async {
        let direct = direct(&trio).await.unwrap();
        assert_eq!(make(&direct, "a", "echo", vec![Value::Number(7.0)]).await, Ok(Value::Number(7.0)));
        let refused = [
            make(&direct, "b", "fail", vec!["POLICY_REFUSED".into()]).await,
            make(&direct, "b", "nothing", vec![]).await,
            make(&direct, "none", "echo", vec![]).await,
            make(&direct, "a", "echo", vec![Value::Array(vec![Value::Undefined; 1 << 20])]).await,
        ];
        let codes =
            [ErrorCode::PolicyRefused, ErrorCode::UnknownMethod, ErrorCode::UnknownMethod, ErrorCode::InvalidArgument];
        assert_eq!(refused, codes.map(Err));
        let ending = async {
            called(&trio.journal, "c").await;
            direct.end();
        };
        let (hung, ()) = tokio::join!(make(&direct, "c", "hang", vec![]), ending);
        assert_eq!((hung, direct.is_over()), (Err(ErrorCode::Cancelled), true));
        direct.ended().await;
        trio.assert_life(Ending::Succeeded);
        assert_eq!(trio.journal.count("c", &Moment::Dropped("hang".into())), 1);
        assert_eq!(
            make(&direct, "a", "echo", vec![]).await,
            Err(ErrorCode::Cancelled),
            "nothing goes on behind its end"
        );
    });
}

/// The memory for arguments is taken by calls that do not end.
#[test]
fn a_call_without_a_script_waits_for_memory_until_its_deadline() {
    let trio = Trio::new();
    lab::block_on(async {
        let direct = direct(&trio).await.unwrap();
        // A character weighs two bytes.
        let heavy = || Value::from("x".repeat(ARGUMENTS_WEIGHT_MAX / 8 * 3));
        let late = async {
            called(&trio.journal, "a").await;
            let called = direct.call("b", "echo", vec![heavy()], Instant::now() + Duration::from_millis(20));
            lab::soon(called).await.map_err(|error| error.code)
        };
        tokio::select! {
            ended = make(&direct, "a", "wait", vec![Value::Number(1e9), heavy()]) => panic!("{ended:?}"),
            late = late => assert_eq!(late, Err(ErrorCode::CallTimeout)),
        }
    });
}

/// A dashboard shows a call as running until its end is in the trace.
#[test]
fn the_trace_has_the_end_of_each_call_without_a_script() {
    let trio = Trio::new();
    lab::block_on(async {
        let direct = direct(&trio).await.unwrap();
        make(&direct, "a", "echo", vec![]).await.unwrap();
        let heavy = || Value::from("x".repeat(ARGUMENTS_WEIGHT_MAX / 8 * 3));
        let late = async {
            called(&trio.journal, "b").await;
            lab::soon(direct.call("a", "echo", vec![heavy()], Instant::now() + Duration::from_millis(20))).await
        };
        // The client of the first call disconnects.
        tokio::select! {
            ended = make(&direct, "b", "wait", vec![Value::Number(1e9), heavy()]) => panic!("{ended:?}"),
            late = late => assert!(late.is_err()),
        }
        let ending = async {
            called(&trio.journal, "c").await;
            direct.end();
        };
        let _ = tokio::join!(make(&direct, "c", "hang", vec![]), ending);
        assert_eq!(make(&direct, "a", "echo", vec![]).await, Err(ErrorCode::Cancelled));
        let trace = trio.traces.find(direct.id().as_str()).unwrap();
        let calls: Vec<_> = trace
            .calls
            .iter()
            .map(|call| (call.method.as_str(), call.outcome.as_deref().unwrap_or("running")))
            .collect();
        let ends = [
            ("a.echo", "ok"),
            ("b.wait", "CANCELLED"),
            ("a.echo", "CALL_TIMEOUT"),
            ("c.hang", "CANCELLED"),
            ("a.echo", "CANCELLED"),
        ];
        assert_eq!(calls, ends);
    });
}

#[test]
fn an_execution_without_a_script_ends_with_its_surface() {
    let trio = Trio::new();
    lab::block_on(async {
        drop(direct(&trio).await.unwrap());
        lab::until("its end", || trio.journal.disposals("s") == 1).await;
    });
    trio.assert_life(Ending::Succeeded);
    let error = ErrorReport::new(ErrorCode::BrowserNotFound, "there is none");
    let trio = Trio::with(|second| second.with_create_error(error));
    lab::block_on(async {
        let failed = direct(&trio).await.err().map(|error| (error.code, error.message));
        let message = "the namespace b could not be set up: there is none".to_owned();
        assert_eq!(failed, Some((ErrorCode::ProviderCreateFailed, message)));
        lab::until("its end", || trio.journal.disposals("s") == 1).await;
    });
    assert_eq!(
        trio.life(),
        ended_early(&["s: Created", "t: Created", "a: Created", "b: CreateFailed"], &["a", "t", "s"])
    );
}
