//! A configurable fake provider that records what happens to it.

use crate::{CallContext, Ending, ExecutionContext, Provider, ProviderRuntime, not_a_state};
use async_trait::async_trait;
use codemode_spec::{
    Effect, ErrorCode, ErrorReport, Manifest, Method, Param, Signature, Value,
    message::{self, Encoded},
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// An event in the life of a fake provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moment {
    /// A runtime was created.
    Created,
    /// The creation of a runtime failed.
    CreateFailed,
    /// A call of this method started.
    Called(String),
    /// A call of this method ran to its end.
    Ended(String),
    /// A call of this method was dropped before it ended.
    Dropped(String),
    /// The execution was suspended, and the runtime was asked for its state.
    Suspended,
    /// A runtime was restored from a suspended state.
    Restored,
    /// The runtime was disposed of.
    Disposed(Ending),
}

/// A record of the moments, in order, of one provider or of several that share the journal.
#[derive(Clone, Debug, Default)]
pub struct Journal(Arc<Mutex<Vec<(String, Moment)>>>);

impl Journal {
    /// All moments so far, each with its namespace.
    #[must_use]
    pub fn moments(&self) -> Vec<(String, Moment)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How often a moment was recorded for a namespace.
    #[must_use]
    pub fn count(&self, namespace: &str, wanted: &Moment) -> usize {
        self.moments().iter().filter(|(name, moment)| name == namespace && moment == wanted).count()
    }

    /// How many runtimes of a namespace were disposed of, with any ending.
    #[must_use]
    pub fn disposals(&self, namespace: &str) -> usize {
        let disposed = |moment: &Moment| matches!(moment, Moment::Disposed(_));
        self.moments().iter().filter(|(name, moment)| name == namespace && disposed(moment)).count()
    }

    pub(super) fn note(&self, namespace: &str, moment: Moment) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((namespace.to_owned(), moment));
    }
}

/// How a fake provider behaves.
#[derive(Clone, Debug, Default)]
struct Behaviour {
    create_delay: Duration,
    create_error: Option<ErrorReport>,
    call_delay: Duration,
    dispose_delay: Duration,
    dispose_error: Option<ErrorReport>,
    suspend_error: Option<ErrorReport>,
    warnings: Vec<String>,
}

/// A provider with the methods `echo(value)`, `wait(ms, value?)`, `fail(code, message?)`, `write(value)` and `hang()`,
/// which records its moments in its journal.
#[derive(Clone, Debug)]
pub struct FakeProvider {
    manifest: Manifest,
    behaviour: Behaviour,
    journal: Journal,
}

impl FakeProvider {
    /// A provider of this namespace that succeeds at everything without delay.
    #[must_use]
    pub fn new(namespace: &str) -> Self {
        Self { manifest: manifest(namespace), behaviour: Behaviour::default(), journal: Journal::default() }
    }

    /// Records into a shared journal, which shows the order among several providers.
    #[must_use]
    pub fn with_journal(mut self, journal: &Journal) -> Self {
        self.journal = journal.clone();
        self
    }

    /// Replaces the manifest; methods other than those of the fake return their arguments as an array.
    #[must_use]
    pub fn with_manifest(mut self, manifest: Manifest) -> Self {
        self.manifest = manifest;
        self
    }

    /// Creating a runtime takes this long.
    #[must_use]
    pub fn with_create_delay(mut self, delay: Duration) -> Self {
        self.behaviour.create_delay = delay;
        self
    }

    /// Creating a runtime fails.
    #[must_use]
    pub fn with_create_error(mut self, error: ErrorReport) -> Self {
        self.behaviour.create_error = Some(error);
        self
    }

    /// Each call takes this much longer.
    #[must_use]
    pub fn with_call_delay(mut self, delay: Duration) -> Self {
        self.behaviour.call_delay = delay;
        self
    }

    /// Disposing takes this long.
    #[must_use]
    pub fn with_dispose_delay(mut self, delay: Duration) -> Self {
        self.behaviour.dispose_delay = delay;
        self
    }

    /// Disposing fails, after it is recorded.
    #[must_use]
    pub fn with_dispose_error(mut self, error: ErrorReport) -> Self {
        self.behaviour.dispose_error = Some(error);
        self
    }

    /// Adds two methods: `remember(value)` stores its argument, which survives suspension, and returns it; `recall()`
    /// returns the value that was stored last.
    #[must_use]
    pub fn with_memory(mut self) -> Self {
        let any = |optional| Param { name: "value".into(), schema: json!({}), optional };
        let method = |name: &str, doc: &str, params: Vec<Param>| Method {
            name: name.into(),
            doc: doc.into(),
            signatures: vec![Signature { params }],
            returns: json!({}),
            effect: Effect::Read,
            background: false,
        };
        self.manifest.methods.extend([
            method("remember", "Returns its argument, and keeps it.", vec![any(false)]),
            method("recall", "Returns what was kept last.", vec![]),
        ]);
        self
    }

    /// Suspending fails.
    #[must_use]
    pub fn with_suspend_error(mut self, error: ErrorReport) -> Self {
        self.behaviour.suspend_error = Some(error);
        self
    }

    /// Adds a warning, reported after the runtime was disposed of.
    #[must_use]
    pub fn with_warning(mut self, warning: &str) -> Self {
        self.behaviour.warnings.push(warning.to_owned());
        self
    }

    /// The record of what happened so far.
    #[must_use]
    pub const fn journal(&self) -> &Journal {
        &self.journal
    }
}

#[async_trait]
impl Provider for FakeProvider {
    fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    async fn create(&self, _: ExecutionContext) -> Result<Arc<dyn ProviderRuntime>, ErrorReport> {
        delay(self.behaviour.create_delay).await;
        let namespace = self.manifest.namespace.clone();
        if let Some(error) = &self.behaviour.create_error {
            self.journal.note(&namespace, Moment::CreateFailed);
            return Err(error.clone());
        }
        self.journal.note(&namespace, Moment::Created);
        Ok(self.runtime(Value::Undefined))
    }

    async fn restore(&self, _: ExecutionContext, state: &[u8]) -> Result<Arc<dyn ProviderRuntime>, ErrorReport> {
        let namespace = &self.manifest.namespace;
        let kept: Kept = message::decode(state).map_err(|_| not_a_state(namespace))?;
        // The decoder may have ignored trailing bytes: encoding the result again shows whether it consumed the whole
        // state.
        if kept.namespace != *namespace || message::encode(&kept) != state {
            return Err(not_a_state(namespace));
        }
        let memory = kept.memory.value().map_err(|_| not_a_state(namespace))?;
        self.journal.note(namespace, Moment::Restored);
        Ok(self.runtime(memory))
    }
}

impl FakeProvider {
    fn runtime(&self, memory: Value) -> Arc<dyn ProviderRuntime> {
        Arc::new(FakeRuntime {
            namespace: self.manifest.namespace.clone(),
            behaviour: self.behaviour.clone(),
            journal: self.journal.clone(),
            memory: Mutex::new(memory),
        })
    }
}

/// The state of a suspended runtime.
#[derive(Serialize, Deserialize)]
struct Kept {
    namespace: String,
    memory: Encoded,
}

struct FakeRuntime {
    namespace: String,
    behaviour: Behaviour,
    journal: Journal,
    /// The last argument of `remember`.
    memory: Mutex<Value>,
}

impl FakeRuntime {
    fn memory(&self) -> MutexGuard<'_, Value> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl ProviderRuntime for FakeRuntime {
    async fn call(&self, method: &str, arguments: Vec<Value>, _: CallContext) -> Result<Encoded, ErrorReport> {
        self.journal.note(&self.namespace, Moment::Called(method.to_owned()));
        let mut running = RunningCall { runtime: self, method, ended: false };
        delay(self.behaviour.call_delay).await;
        let result = match method {
            "remember" => {
                let value = arguments.into_iter().next().unwrap_or(Value::Undefined);
                self.memory().clone_from(&value);
                Ok(value)
            }
            "recall" => Ok(self.memory().clone()),
            _ => answer(method, arguments).await,
        };
        running.ended = true;
        result.map(Encoded::from)
    }

    async fn suspend(&self) -> Result<Vec<u8>, ErrorReport> {
        self.journal.note(&self.namespace, Moment::Suspended);
        if let Some(error) = &self.behaviour.suspend_error {
            return Err(error.clone());
        }
        let memory = Encoded(self.memory().encode());
        Ok(message::encode(&Kept { namespace: self.namespace.clone(), memory }))
    }

    async fn dispose(&self, ending: Ending) -> Result<(), ErrorReport> {
        delay(self.behaviour.dispose_delay).await;
        self.journal.note(&self.namespace, Moment::Disposed(ending));
        self.behaviour.dispose_error.clone().map_or(Ok(()), Err)
    }

    fn warnings(&self) -> Vec<String> {
        self.behaviour.warnings.clone()
    }
}

/// Records how a call ended, including when its future is dropped.
struct RunningCall<'a> {
    runtime: &'a FakeRuntime,
    method: &'a str,
    ended: bool,
}

impl Drop for RunningCall<'_> {
    fn drop(&mut self) {
        let method = self.method.to_owned();
        let moment = if self.ended { Moment::Ended(method) } else { Moment::Dropped(method) };
        self.runtime.journal.note(&self.runtime.namespace, moment);
    }
}

async fn answer(method: &str, mut arguments: Vec<Value>) -> Result<Value, ErrorReport> {
    let mut next = || if arguments.is_empty() { Value::Undefined } else { arguments.remove(0) };
    match method {
        "echo" | "write" => Ok(next()),
        "wait" => {
            let Value::Number(ms) = next() else { return Ok(Value::Undefined) };
            tokio::time::sleep(Duration::from_secs_f64(ms.max(0.0) / 1000.0)).await;
            Ok(next())
        }
        "fail" => {
            let code = serde_json::from_value(next().to_plain_json().unwrap_or_default());
            let message = match next() {
                Value::String(text) => text.to_string_lossy(),
                _ => "it was told to fail".to_owned(),
            };
            Err(ErrorReport::new(code.unwrap_or(ErrorCode::CallFailed), message))
        }
        "hang" => std::future::pending().await,
        _ => Ok(Value::Array(arguments)),
    }
}

/// Does not even yield for a delay of zero: an order that a test compares must not depend on it.
async fn delay(time: Duration) {
    if !time.is_zero() {
        tokio::time::sleep(time).await;
    }
}

fn manifest(namespace: &str) -> Manifest {
    let param = |name: &str, schema, optional| Param { name: name.into(), schema, optional };
    let method = |name: &str, doc: &str, params: Vec<Param>, effect| Method {
        name: name.into(),
        doc: doc.into(),
        signatures: vec![Signature { params }],
        returns: json!({}),
        effect,
        background: false,
    };
    Manifest {
        namespace: namespace.into(),
        doc: "A fake for tests.".into(),
        methods: vec![
            method("echo", "Returns its argument.", vec![param("value", json!({}), true)], Effect::Read),
            method(
                "wait",
                "Returns its argument after a while.",
                vec![param("ms", json!({"type": "number", "minimum": 0}), false), param("value", json!({}), true)],
                Effect::Read,
            ),
            method(
                "fail",
                "Rejects with a code.",
                vec![
                    param("code", json!({"type": "string"}), false),
                    param("message", json!({"type": "string"}), true),
                ],
                Effect::Read,
            ),
            method(
                "write",
                "Returns its argument, and counts as a change.",
                vec![param("value", json!({}), true)],
                Effect::Write,
            ),
            method("hang", "Never returns.", vec![], Effect::Read),
        ],
        layer: None,
        declaration: None,
    }
}
