//! The suite that every provider must pass.

use super::{TestExecution, context};
use crate::{ArgumentsPlace, CallContext, Ending, ExecutionContext, Provider, Registry, ServiceProvider};
use codemode_spec::{ErrorReport, Value};
use serde_json::json;
use std::{future::Future, path::PathBuf, sync::Arc, time::Duration};
use tokio::{task::JoinSet, time::Instant};

/// How long a condition may take to come true.
const PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 1 } else { 30 });
/// Calls that run at the same time in the test of concurrency.
const CONCURRENT_CALLS: usize = 32;

const ENDINGS: [Ending; 5] =
    [Ending::Succeeded, Ending::Failed, Ending::Exceeded, Ending::Cancelled, Ending::NotStarted];

/// A provider under test.
pub struct Subject<'a> {
    /// Makes the provider.
    pub make: &'a dyn Fn() -> Arc<dyn Provider>,
    /// The services that it needs.
    pub services: &'a [Arc<dyn ServiceProvider>],
    /// The state folder of its executions.
    pub state_dir: PathBuf,
    /// Options of its executions, by namespace or service.
    pub options: serde_json::Value,
    /// A call that opens whatever the provider opens, ends soon, and gives the same result each time.
    pub opening: (&'static str, Vec<Value>),
    /// A call that does not end by itself within the test.
    pub endless: (&'static str, Vec<Value>),
    /// Names everything outside of the test's memory that executions of this state folder hold at the moment:
    /// processes, folders, connections. Empty for a provider that opens nothing.
    pub held: &'a dyn Fn() -> Vec<String>,
}

/// Puts a provider through all the turns of a life: what `Provider` and `ProviderRuntime` promise, as far as it can be
/// seen from outside.
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
    an_execution_can_park(subject).await;
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
    // A create that is dropped after its first step leaves nothing either.
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
        // One poll each: far enough to have begun.
        let _ = tokio::time::timeout(Duration::from_millis(20), life.call(&subject.endless)).await;
        life.open().await.expect("other calls go on after one was dropped");
    }
    let _ = tokio::time::timeout(Duration::from_millis(20), life.call(&subject.endless)).await;
    life.execution.context.cancel.cancel();
    life.end(Ending::Cancelled).await;
}

async fn a_first_call_can_be_dropped_at_any_point(subject: &Subject<'_>) {
    // Whatever it opens is opened somewhere in these windows; where, differs from machine to machine and does not
    // matter: nothing may be held after any of them.
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

async fn an_execution_can_park(subject: &Subject<'_>) {
    let life = Life::begin(subject).await;
    life.execution.suspend().await.expect("it parks before anything was opened");
    life.execution.resume().await.expect("it goes on");
    let before = life.open().await.expect("the call succeeds");
    life.execution.suspend().await.expect("it parks");
    life.execution.resume().await.expect("it goes on");
    assert_eq!(life.open().await.expect("the call succeeds after parking"), before);
    life.execution.suspend().await.expect("it parks again");
    life.end(Ending::Cancelled).await;
}

/// One execution, as far as a provider sees it.
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
    use crate::testkit::{FakeProvider, Moment};

    #[tokio::test]
    async fn the_fake_passes() {
        let fake = FakeProvider::new("fake");
        let journal = fake.journal().clone();
        let folder = std::env::temp_dir();
        lifecycle_suite(&Subject {
            make: &|| Arc::new(fake.clone()),
            services: &[],
            state_dir: folder,
            options: json!({}),
            opening: ("echo", vec![Value::from("x")]),
            endless: ("hang", vec![]),
            held: &Vec::new,
        })
        .await;
        let made = journal.count("fake", &Moment::Created);
        assert!(made > 10);
        assert_eq!(journal.disposals("fake"), made, "each was disposed of exactly once");
        assert_eq!(journal.count("fake", &Moment::Dropped("hang".into())), 4);
    }

    #[tokio::test]
    #[should_panic(expected = "this is still held")]
    async fn a_leak_is_found() {
        let subject = Subject {
            make: &|| Arc::new(FakeProvider::new("fake")),
            services: &[],
            state_dir: std::env::temp_dir(),
            options: json!({}),
            opening: ("echo", vec![]),
            endless: ("hang", vec![]),
            held: &|| vec!["a process".to_owned()],
        };
        nothing_is_held(&subject, "a test").await;
    }
}
