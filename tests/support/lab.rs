//! A host for tests: the real sandbox with scripted providers.

use super::{failures, tools::Tools};
use codemode_host::{
    engine::Engine,
    exec::{Execution, Executor, NoObserver, Observer, Request, Settings},
    result::Identity,
};
use codemode_provider::{Provider, Registry, testkit::FakeProvider};
use serde_json::{Value as Json, json};
use std::{
    future::Future,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock},
    time::{Duration, Instant},
};
use tokio::{runtime::Runtime, task::JoinHandle};
use tokio_util::sync::CancellationToken;

/// The timeout of a test or a whole case file; exceeded only by one that hangs, even on a slow machine.
const PATIENCE: Duration = Duration::from_secs(1_800);
/// The timeout of a single condition.
pub const SOON: Duration = Duration::from_secs(240);

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    failures::tell_at_once();
    tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime")
});

static ENGINE: LazyLock<Engine> = LazyLock::new(|| {
    Engine::open(&super::image_dir(), &[], &|line| eprintln!("{line}")).expect("the sandbox image can be prepared")
});

static SHARED: LazyLock<Lab> = LazyLock::new(|| {
    let providers: Vec<Arc<dyn Provider>> = vec![Arc::new(FakeProvider::new("fake")), Arc::new(Tools::default())];
    // These providers and this transform write nothing there.
    Lab::new(providers, Path::new(env!("CARGO_TARGET_TMPDIR")).join("state"))
});

/// Runs a future on the runtime that all tests share. Compiling the image does not count as the future's time.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    LazyLock::force(&ENGINE);
    RUNTIME.block_on(async { tokio::time::timeout(PATIENCE, future).await.expect("it hangs") })
}

/// Awaits a future that must complete without waiting for other executions.
pub async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(SOON, future).await.expect("it waits for what it must not wait for")
}

/// Waits for a condition; fails after a timeout.
pub async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + SOON;
    while !condition() {
        assert!(Instant::now() < deadline, "{what}: not within {SOON:?}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// The shared engine of this process.
pub fn engine() -> Engine {
    ENGINE.clone()
}

/// An executor that does not truncate results.
#[derive(Clone)]
pub struct Lab {
    executor: Executor,
}

impl Lab {
    /// The executor of the case files, with the namespaces `fake` and `tools`.
    pub fn shared() -> &'static Self {
        &SHARED
    }

    pub fn new(providers: Vec<Arc<dyn Provider>>, state_dir: PathBuf) -> Self {
        Self::with(providers, Settings { transform: Arc::new(Identity), ..Settings::new(state_dir) })
    }

    pub fn with(providers: Vec<Arc<dyn Provider>>, settings: Settings) -> Self {
        Self::on(engine(), providers, settings)
    }

    /// An executor on an engine with the JavaScript layers of the providers.
    pub fn layered(providers: Vec<Arc<dyn Provider>>, state_dir: PathBuf) -> Self {
        let layers: Vec<_> = providers.iter().filter_map(|provider| provider.manifest().to_layer()).collect();
        let engine =
            Engine::open(&super::image_dir(), &layers, &|line| eprintln!("{line}")).expect("the layers are right");
        Self::on(engine, providers, Settings { transform: Arc::new(Identity), ..Settings::new(state_dir) })
    }

    pub fn on(engine: Engine, providers: Vec<Arc<dyn Provider>>, settings: Settings) -> Self {
        let registry = Registry::new(providers).expect("the providers can be registered");
        Self { executor: Executor::new(engine, registry, settings) }
    }

    pub fn executor(&self) -> &Executor {
        &self.executor
    }

    pub async fn execute(&self, request: Request) -> Execution {
        self.observed(request, Arc::new(NoObserver)).await
    }

    pub async fn observed(&self, request: Request, observer: Arc<dyn Observer>) -> Execution {
        self.executor.execute(request, observer).await
    }

    /// The result of a script that succeeds.
    pub async fn result(&self, code: &str) -> Json {
        match self.execute(Request::new(code)).await.outcome {
            Ok(shaped) => shaped.result,
            Err(error) => panic!("{code}\n{error:?}"),
        }
    }

    /// Runs executions in the background, one after the other, until it is ended.
    pub fn neighbour(&self) -> Neighbour {
        let stop = CancellationToken::new();
        let (lab, until) = (self.clone(), stop.clone());
        let executions = RUNTIME.spawn(async move {
            loop {
                lab.neighbourly().await;
                if until.is_cancelled() {
                    return;
                }
            }
        });
        Neighbour { stop, executions }
    }

    /// Ten timers of 20 ms within a minute.
    async fn neighbourly(&self) {
        let code = "let n = 0; while (n < 10) { await new Promise((done) => setTimeout(done, 20)); n++ } n";
        let execution = self.execute(Request { timeout: Duration::from_secs(60), ..Request::new(code) }).await;
        let result = execution.outcome.map(|shaped| shaped.result);
        assert_eq!(result, Ok(json!(10)), "a neighbour was slowed beyond its own time");
    }
}

/// See [`Lab::neighbour`].
pub struct Neighbour {
    stop: CancellationToken,
    executions: JoinHandle<()>,
}

impl Neighbour {
    /// Fails if any of its executions did.
    pub async fn end(self) {
        self.stop.cancel();
        if let Err(error) = self.executions.await {
            std::panic::resume_unwind(error.into_panic());
        }
    }
}
