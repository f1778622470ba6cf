//! The life-cycle suite that every provider must pass.

use super::{FakeProvider, TestExecution, context};
use crate::{
    ArgumentsPlace, CallContext, Ending, ExecutionContext, Provider, Registry, ServiceProvider, not_a_state, restore,
    suspend,
};
use codemode_spec::{ErrorCode, ErrorReport, Value, limits::SUSPENDED_BYTES_MAX};
use serde_json::json;
use std::{future::Future, path::PathBuf, sync::Arc, time::Duration};
use tokio::{task::JoinSet, time::Instant};

/// How long to wait for a condition.
const PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 30 });
/// The number of calls that run at the same time in the concurrency test.
const CONCURRENT_CALLS: usize = 32;

const ENDINGS: [Ending; 5] =
    [Ending::Succeeded, Ending::Failed, Ending::Exceeded, Ending::Cancelled, Ending::NotStarted];

/// A provider under test.
pub struct Subject<'a> {
    /// Creates the provider.
    pub make: &'a dyn Fn() -> Arc<dyn Provider>,
    /// The services that it requires.
    pub services: &'a [Arc<dyn ServiceProvider>],
    /// The state folder of its executions.
    pub state_dir: PathBuf,
    /// Options of its executions, by namespace or service.
    pub options: serde_json::Value,
    /// A call that opens the provider's resources, ends soon, and returns the same result each time.
    pub opening: (&'static str, Vec<Value>),
    /// A call that does not end by itself within the test.
    pub endless: (&'static str, Vec<Value>),
    /// A call that returns the runtime's state as `opening` has changed it, with the same result after a suspension.
    /// For a provider without state, any call that returns the same result each time.
    pub recalling: (&'static str, Vec<Value>),
    /// Lists everything outside the test's memory that executions of this state folder currently hold: processes,
    /// folders, connections. Empty for a provider that opens nothing.
    pub held: &'a dyn Fn() -> Vec<String>,
}

/// Checks the promises of `Provider` and `ProviderRuntime` over the whole life cycle, as far as they can be observed
/// from outside.
///
/// # Panics
/// When the provider breaks a promise.
pub async fn lifecycle_suite(subject: &Subject<'_>) {
    the_manifest_can_be_registered(subject);
    create_opens_nothing(subject).await;
    every_ending_leaves_nothing(subject).await;
    many_calls_run_at_once(subject).await;
    a_dropped_call_leaves_nothing(subject).await;
    a_first_call_can_be_dropped_at_any_point(subject).await;
    two_runtimes_are_independent(subject).await;
    a_suspended_execution_goes_on_as_it_was(subject).await;
    what_is_no_state_is_refused(subject).await;
}

fn the_manifest_can_be_registered(subject: &Subject<'_>) {
    let provider = (subject.make)();
    let manifest = provider.manifest().clone();
    Registry::new(vec![provider]).expect("the manifest can be registered");
    for method in &manifest.methods {
        assert!(method.doc.ends_with('.'), "{} says what it does in a sentence", method.name);
        for signature in &method.signatures {
            let optional = signature.params.iter().map(|param| param.optional);
            assert!(optional.is_sorted(), "{}: optional parameters stand last", method.name);
        }
    }
}

async fn create_opens_nothing(subject: &Subject<'_>) {
    for ending in ENDINGS {
        let life = Life::begin(subject).await;
        assert_eq!((subject.held)(), Vec::<String>::new(), "create opens nothing");
        let _ = life.execution.describe();
        life.end(ending).await;
    }
    // A create that is dropped after its first step leaves nothing behind either.
    let provider = (subject.make)();
    let creating = TestExecution::begin(provider, subject.services, subject.context());
    if let Ok(created) = tokio::time::timeout(Duration::ZERO, creating).await {
        created.expect("create succeeds").dispose(Ending::NotStarted).await.expect("dispose succeeds");
    }
    nothing_is_held(subject, "a dropped create").await;
}

async fn every_ending_leaves_nothing(subject: &Subject<'_>) {
    for ending in ENDINGS {
        let life = Life::begin(subject).await;
        life.open().await.expect("the call succeeds");
        let _ = life.execution.describe();
        life.end(ending).await;
    }
}

async fn many_calls_run_at_once(subject: &Subject<'_>) {
    let life = Life::begin(subject).await;
    let mut calls = JoinSet::new();
    for _ in 0..CONCURRENT_CALLS {
        let (runtime, (method, arguments), context) =
            (Arc::clone(&life.execution.runtime), subject.opening.clone(), life.call_context());
        calls.spawn(async move { runtime.call(method, arguments, context).await });
    }
    let results = calls.join_all().await;
    let first = results[0].clone().expect("the call succeeds");
    for result in results {
        assert_eq!(result.as_ref(), Ok(&first), "concurrent calls see the same");
    }
    life.end(Ending::Succeeded).await;
}

async fn a_dropped_call_leaves_nothing(subject: &Subject<'_>) {
    let life = Life::begin(subject).await;
    life.open().await.expect("the call succeeds");
    for _ in 0..3 {
        // Long enough for the call to have started.
        let _ = tokio::time::timeout(Duration::from_millis(20), life.call(&subject.endless)).await;
        life.open().await.expect("other calls go on after one was dropped");
    }
    let _ = tokio::time::timeout(Duration::from_millis(20), life.call(&subject.endless)).await;
    life.execution.context.cancel.cancel();
    life.end(Ending::Cancelled).await;
}

async fn a_first_call_can_be_dropped_at_any_point(subject: &Subject<'_>) {
    // The call opens its resources somewhere within these windows. The exact point differs from machine to machine and
    // does not matter: nothing may be held after any of them.
    for ms in [0, 5, 40, 150, 400] {
        let life = Life::begin(subject).await;
        let _ = tokio::time::timeout(Duration::from_millis(ms), life.open()).await;
        life.execution.context.cancel.cancel();
        life.end(Ending::Cancelled).await;
    }
    let life = Life::begin(subject).await;
    let _ = tokio::time::timeout(Duration::from_millis(30), life.open()).await;
    life.open().await.expect("a call succeeds after a first one was dropped");
    life.end(Ending::Succeeded).await;
}

async fn two_runtimes_are_independent(subject: &Subject<'_>) {
    let provider = (subject.make)();
    let (first, second) = (Life::of(subject, &provider).await, Life::of(subject, &provider).await);
    let (one, two) = tokio::join!(first.open(), second.open());
    one.expect("the first one's call succeeds");
    two.expect("the second one's call succeeds");
    first.execution.dispose(Ending::Failed).await.expect("dispose succeeds");
    second.open().await.expect("the second one goes on when the first has ended");
    second.end(Ending::Succeeded).await;
}

/// A provider may refuse to be suspended, and then continues. If it does not refuse, none of its state may be lost.
async fn a_suspended_execution_goes_on_as_it_was(subject: &Subject<'_>) {
    let mut life = Life::begin(subject).await;
    life.suspend_and_resume("before anything was opened").await;
    let answer = life.open().await.expect("the call succeeds");
    let kept = life.call(&subject.recalling).await.expect("the call succeeds");
    life.suspend_and_resume("after a call").await;
    assert_eq!(life.call(&subject.recalling).await.as_ref(), Ok(&kept), "what was kept is still there");
    assert_eq!(life.open().await.as_ref(), Ok(&answer), "the call succeeds as before");
    life.suspend_and_resume("a second time").await;
    assert_eq!(life.open().await.as_ref(), Ok(&answer));
    // End the execution while it is suspended.
    let _ = life.execution.suspend().await;
    life.end(Ending::Cancelled).await;
}

/// Bytes that are not a state of this runtime are refused with a typed error, without a panic.
async fn what_is_no_state_is_refused(subject: &Subject<'_>) {
    let life = Life::begin(subject).await;
    life.open().await.expect("the call succeeds");
    let (provider, context) = (&*life.execution.provider, &life.execution.context);
    let namespace = &provider.manifest().namespace;
    let state = suspend(namespace, &*life.execution.runtime).await;
    let state = state.inspect_err(assert_is_refusal).unwrap_or_default();
    let stranger = FakeProvider::new("stranger").with_memory();
    let stranger = stranger.create(context.clone()).await.expect("create succeeds").suspend().await;
    let mut broken = vec![
        stranger.expect("the fake can be suspended"),
        [state.as_slice(), &[0]].concat(),
        b"{}".to_vec(),
        vec![0xff; 100],
        vec![b'['; SUSPENDED_BYTES_MAX],
        vec![0; SUSPENDED_BYTES_MAX + 1],
    ];
    broken.extend((0..state.len()).step_by(state.len() / 100 + 1).map(|end| state[..end].to_vec()));
    for bytes in broken {
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(100)]).into_owned();
        let error = restore(provider, context.clone(), &bytes).await.err();
        let error = error.unwrap_or_else(|| panic!("a runtime was made of {} bytes: {shown}", bytes.len()));
        assert_eq!(error, not_a_state(namespace), "of {} bytes: {shown}", bytes.len());
    }
    // A changed byte may be part of a value and yield another valid state; it must not crash the host.
    for at in (0..state.len()).step_by(state.len() / 100 + 1) {
        let mut changed = state.clone();
        changed[at] ^= 1 << (at % 8);
        if let Ok(runtime) = restore(provider, context.clone(), &changed).await {
            runtime.dispose(Ending::NotStarted).await.expect("dispose succeeds");
        }
    }
    life.end(Ending::Succeeded).await;
}

/// Asserts the only error with which a provider may refuse to be suspended.
fn assert_is_refusal(error: &ErrorReport) {
    assert_eq!(error.code, ErrorCode::UnsupportedOperation, "{error}");
}

/// One execution, as a provider sees it.
struct Life<'a> {
    subject: &'a Subject<'a>,
    execution: TestExecution,
}

impl<'a> Life<'a> {
    async fn begin(subject: &'a Subject<'a>) -> Self {
        Self::of(subject, &(subject.make)()).await
    }

    async fn of(subject: &'a Subject<'a>, provider: &Arc<dyn Provider>) -> Self {
        let beginning = TestExecution::begin(Arc::clone(provider), subject.services, subject.context());
        Self { subject, execution: beginning.await.expect("create succeeds") }
    }

    fn call_context(&self) -> CallContext {
        CallContext { call: 0, deadline: self.execution.context.deadline, place: ArgumentsPlace::default() }
    }

    fn open(&self) -> impl Future<Output = Result<Value, ErrorReport>> + '_ {
        self.call(&self.subject.opening)
    }

    async fn call(&self, (method, arguments): &(&'static str, Vec<Value>)) -> Result<Value, ErrorReport> {
        let reply = self.execution.runtime.call(method, arguments.clone(), self.call_context()).await?;
        Ok(reply.value().expect("a reply is a value"))
    }

    /// Suspends and resumes; a refusal is allowed, and leaves the execution unchanged.
    async fn suspend_and_resume(&mut self, when: &str) {
        match self.execution.suspend().await {
            Ok(()) => self.execution.resume().await.unwrap_or_else(|error| panic!("it goes on {when}: {error}")),
            Err(error) => assert_is_refusal(&error),
        }
    }

    async fn end(self, ending: Ending) {
        self.execution.dispose(ending).await.unwrap_or_else(|error| panic!("dispose after {ending:?}: {error}"));
        assert_eq!(self.execution.warnings(), Vec::<String>::new(), "nothing went wrong, nothing is to be warned of");
        nothing_is_held(self.subject, &format!("{ending:?}")).await;
    }
}

impl Subject<'_> {
    fn context(&self) -> ExecutionContext {
        let options = if self.options.is_null() { json!({}) } else { self.options.clone() };
        context(&self.state_dir, options)
    }
}

async fn nothing_is_held(subject: &Subject<'_>, after: &str) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let held = (subject.held)();
        if held.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "after {after} this is still held: {held:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ProviderRuntime, cannot_be_suspended, testkit::Moment};
    use async_trait::async_trait;
    use codemode_spec::{Manifest, message::Encoded};

    fn subject<'a>(make: &'a dyn Fn() -> Arc<dyn Provider>) -> Subject<'a> {
        Subject {
            make,
            services: &[],
            state_dir: std::env::temp_dir(),
            options: json!({}),
            opening: ("remember", vec![Value::from("x")]),
            endless: ("hang", vec![]),
            recalling: ("recall", vec![]),
            held: &Vec::new,
        }
    }

    #[tokio::test]
    async fn the_fake_passes() {
        let fake = FakeProvider::new("fake").with_memory();
        let journal = fake.journal().clone();
        lifecycle_suite(&subject(&|| Arc::new(fake.clone()))).await;
        let made = journal.count("fake", &Moment::Created);
        assert!(made > 10);
        let restored = journal.count("fake", &Moment::Restored);
        assert!(restored >= 3, "each of the three times, and of some changed bytes");
        assert_eq!(journal.count("fake", &Moment::Suspended), 5);
        // A runtime that was replaced by a restored one is not disposed of.
        assert_eq!(journal.disposals("fake"), made + restored - 3);
        assert_eq!(journal.count("fake", &Moment::Dropped("hang".into())), 4);
    }

    #[tokio::test]
    async fn a_provider_may_refuse_to_be_suspended() {
        let fake = FakeProvider::new("fake").with_memory().with_suspend_error(cannot_be_suspended("it was told so"));
        let journal = fake.journal().clone();
        a_suspended_execution_goes_on_as_it_was(&subject(&|| Arc::new(fake.clone()))).await;
        assert_eq!((journal.count("fake", &Moment::Suspended), journal.count("fake", &Moment::Restored)), (4, 0));
        what_is_no_state_is_refused(&subject(&|| Arc::new(fake.clone()))).await;
    }

    /// A faulty provider that creates a new runtime from any bytes.
    struct Careless(FakeProvider);

    #[async_trait]
    impl Provider for Careless {
        fn manifest(&self) -> &Manifest {
            self.0.manifest()
        }

        async fn create(&self, context: ExecutionContext) -> Result<Arc<dyn ProviderRuntime>, ErrorReport> {
            self.0.create(context).await
        }

        async fn restore(&self, context: ExecutionContext, _: &[u8]) -> Result<Arc<dyn ProviderRuntime>, ErrorReport> {
            self.create(context).await
        }
    }

    fn careless() -> Arc<dyn Provider> {
        Arc::new(Careless(FakeProvider::new("fake").with_memory()))
    }

    #[tokio::test]
    #[should_panic(expected = "what was kept is still there")]
    async fn a_provider_that_forgets_is_found() {
        a_suspended_execution_goes_on_as_it_was(&subject(&careless)).await;
    }

    #[tokio::test]
    #[should_panic(expected = "a runtime was made of")]
    async fn a_provider_that_takes_any_bytes_is_found() {
        what_is_no_state_is_refused(&subject(&careless)).await;
    }

    /// A runtime whose suspended state has this many bytes.
    struct Keeping(usize);

    #[async_trait]
    impl ProviderRuntime for Keeping {
        async fn call(&self, _: &str, _: Vec<Value>, _: CallContext) -> Result<Encoded, ErrorReport> {
            Ok(Value::Undefined.into())
        }

        async fn suspend(&self) -> Result<Vec<u8>, ErrorReport> {
            Ok(vec![0; self.0])
        }

        async fn dispose(&self, _: Ending) -> Result<(), ErrorReport> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn what_is_kept_has_a_bound() {
        assert_eq!(suspend("x", &Keeping(0)).await, Ok(Vec::new()));
        assert_eq!(suspend("x", &Keeping(SUSPENDED_BYTES_MAX)).await.map(|state| state.len()), Ok(SUSPENDED_BYTES_MAX));
        let error = suspend("x", &Keeping(SUSPENDED_BYTES_MAX + 1)).await.unwrap_err();
        assert_eq!((error.code, &error.details["namespace"]), (ErrorCode::UnsupportedOperation, &json!("x")));
    }

    #[tokio::test]
    #[should_panic(expected = "this is still held")]
    async fn a_leak_is_found() {
        let make = || Arc::new(FakeProvider::new("fake")) as Arc<dyn Provider>;
        nothing_is_held(&Subject { held: &|| vec!["a process".to_owned()], ..subject(&make) }, "a test").await;
    }
}
