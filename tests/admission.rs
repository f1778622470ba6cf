//! Admission control: the numbers of running, waiting and refused executions, and that executions do not block each
//! other.

use crate::support::{
    lab::{self, Lab},
    tools::Tools,
};
use codemode_host::{
    engine::Engine,
    exec::{Execution, Executor, NoObserver, Observer, Request, Settings},
    result::{Shaped, Transform},
};
use codemode_provider::{
    Registry,
    testkit::{FakeProvider, Journal, Moment},
};
use codemode_spec::{ErrorCode, Value, limits::EXECUTIONS_CONCURRENT_MAX, message::ConsoleLine};
use futures::future::{join_all, select_all};
use serde_json::json;
use std::{
    path::Path,
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};
use tempfile::TempDir;
use tokio::{sync::Notify, task::JoinHandle};
use tokio_util::sync::CancellationToken;

/// A host with low limits.
struct Small {
    lab: Lab,
    journal: Journal,
    _state: TempDir,
}

impl Small {
    fn new(concurrent_max: usize, queued_max: usize) -> Self {
        let fake = FakeProvider::new("fake");
        let journal = fake.journal().clone();
        let state = tempfile::tempdir().unwrap();
        let settings = Settings { concurrent_max, queued_max, ..Settings::new(state.path()) };
        Self { lab: Lab::with(vec![Arc::new(fake), Arc::new(Tools::default())], settings), journal, _state: state }
    }

    /// Starts an execution that runs until it is cancelled, and waits until it runs.
    async fn occupy(&self) -> Occupied {
        let running = Arc::new(Running::default());
        let request = Request::new("console.log('running'); await fake.wait(1); await fake.hang()");
        let cancel = request.cancel.clone();
        let (executor, observer) = (self.lab.executor().clone(), running.clone());
        let task = tokio::spawn(async move { executor.execute(request, observer).await });
        running.begun.notified().await;
        Occupied { cancel, task }
    }

    /// Puts this number of executions into the queue.
    async fn queue(&self, count: usize) -> Vec<(CancellationToken, JoinHandle<Execution>)> {
        let mut queued = Vec::new();
        for place in 0..count {
            let request = Request::new(format!("await fake.write({place})"));
            let (cancel, lab) = (request.cancel.clone(), self.lab.clone());
            queued.push((cancel, tokio::spawn(async move { lab.execute(request).await })));
        }
        queued
    }
}

struct Occupied {
    cancel: CancellationToken,
    task: JoinHandle<Execution>,
}

impl Occupied {
    async fn leave(self) {
        self.cancel.cancel();
        assert_eq!(code(&self.task.await.unwrap()), Some(ErrorCode::Cancelled));
    }
}

#[derive(Default)]
struct Running {
    begun: Notify,
}

impl Observer for Running {
    fn console(&self, _: &ConsoleLine) {
        self.begun.notify_one();
    }
}

fn code(execution: &Execution) -> Option<ErrorCode> {
    execution.outcome.as_ref().err().map(|error| error.code)
}

#[test]
fn one_more_than_the_queue_holds_is_refused_at_once() {
    let small = Small::new(2, 3);
    lab::block_on(async {
        let occupied = [small.occupy().await, small.occupy().await];
        let queued = small.queue(10).await;
        let mut refused = 0;
        let mut waiting = Vec::new();
        // Seven are answered although no slot becomes free; three keep waiting.
        let mut open: Vec<_> = queued.into_iter().map(|(_, task)| task).collect();
        while refused < 7 {
            let (execution, _, rest) = select_all(open).await;
            let report = execution.unwrap().outcome.unwrap_err();
            assert_eq!(report.code, ErrorCode::CapacityExceeded);
            assert_eq!(report.message, "2 executions are running, and the queue is full");
            assert!(report.retryable && !report.hint.is_empty());
            assert_eq!(report.details["running"], 2);
            refused += 1;
            open = rest;
        }
        waiting.extend(open);
        assert_eq!(small.journal.count("fake", &Moment::Called("write".into())), 0, "nothing of the queue has run");
        for one in occupied {
            one.leave().await;
        }
        for execution in join_all(waiting).await {
            assert_eq!(code(&execution.unwrap()), None);
        }
        assert_eq!(small.journal.count("fake", &Moment::Called("write".into())), 3);
    });
}

#[test]
fn a_queued_execution_can_be_cancelled_and_gives_its_place_in_the_queue_to_another() {
    let small = Small::new(1, 1);
    lab::block_on(async {
        let occupied = small.occupy().await;
        for _ in 0..3 {
            let (cancel, task) = small.queue(1).await.remove(0);
            cancel.cancel();
            assert_eq!(code(&task.await.unwrap()), Some(ErrorCode::Cancelled));
        }
        let queued = small.lab.execute(Request::new("'queued'"));
        let (queued, ()) = tokio::join!(queued, occupied.leave());
        assert_eq!(queued.outcome.unwrap().result, "queued");
    });
}

#[test]
fn waiting_in_the_queue_has_an_end() {
    let small = Small::new(1, 5);
    lab::block_on(async {
        let occupied = small.occupy().await;
        let request = Request { timeout: Duration::from_millis(50), ..Request::new("1") };
        let report = small.lab.execute(request).await.outcome.unwrap_err();
        assert_eq!(report.code, ErrorCode::CapacityExceeded);
        assert_eq!(report.message, "1 executions are running, and none came free in time");
        occupied.leave().await;
        assert_eq!(small.lab.result("2").await, 2);
    });
}

#[test]
fn never_more_than_the_bound_run_at_once() {
    let small = Small::new(3, 64);
    let peak = lab::block_on(async {
        // Counts executions between creation and disposal. All slots are occupied when the others arrive.
        let occupied = [small.occupy().await, small.occupy().await, small.occupy().await];
        let executions = (0..20).map(|place| small.lab.execute(Request::new(format!("await fake.wait(5, {place})"))));
        let leave = join_all(occupied.into_iter().map(Occupied::leave));
        let (executions, _) = tokio::join!(join_all(executions), leave);
        for (place, execution) in executions.into_iter().enumerate() {
            assert_eq!(execution.outcome.unwrap().result, place);
        }
        let mut open = 0_usize;
        let open_after = small.journal.moments().into_iter().map(move |(_, moment)| {
            match moment {
                Moment::Created => open += 1,
                Moment::Disposed(_) => open -= 1,
                _ => {}
            }
            open
        });
        open_after.max()
    });
    assert_eq!(peak, Some(3));
}

#[test]
fn twenty_executions_at_once_do_not_see_each_other() {
    let scripts = (0..20).map(|place| {
        format!(
            "globalThis.mine = {place}; const before = mine; const replies = [];\n\
             for (let i = 0; i < 20; i++) replies.push(await fake.wait(i % 3, [mine, i]));\n\
             [before === mine, mine, replies.every(([who, i], at) => who === {place} && i === at)]"
        )
    });
    let scripts: Vec<_> = scripts.collect();
    let results = lab::block_on(join_all(scripts.iter().map(|script| Lab::shared().result(script))));
    for (place, result) in results.into_iter().enumerate() {
        assert_eq!(result, json!([true, place, true]));
    }
}

#[test]
fn spinning_scripts_do_not_delay_timers_of_other_scripts() {
    let lab = Lab::shared();
    lab::block_on(async {
        let spinning: Vec<_> = (0..4)
            .map(|_| {
                let (cpu, timeout) = (Duration::from_secs(120), Duration::from_secs(600));
                let request = Request { cpu, timeout, ..Request::new("for (;;);") };
                let cancel = request.cancel.clone();
                (cancel, tokio::spawn(lab.execute(request)))
            })
            .collect();
        // The turns spin on dedicated threads, so other work is not slow even on one core, where the system schedules
        // threads fairly. On the same thread, it would have to wait for the minutes of their processor time.
        let began = Instant::now();
        for _ in 0..5 {
            assert_eq!(lab.result("const t = Date.now(); await new Promise((r) => setTimeout(r, 5)); 'x'").await, "x");
        }
        let took = began.elapsed();
        for (cancel, task) in spinning {
            cancel.cancel();
            assert_eq!(code(&task.await.unwrap()), Some(ErrorCode::Cancelled));
        }
        assert!(took < Duration::from_secs(60), "it took {took:?}");
    });
}

/// Blocks each turn in which a console line is written, like a spinning script, but without using processor time that
/// other tests need.
#[derive(Default)]
struct Holding {
    held: Mutex<usize>,
    changed: Condvar,
    released: AtomicBool,
}

impl Observer for Holding {
    fn console(&self, _: &ConsoleLine) {
        let mut held = self.held.lock().unwrap();
        *held += 1;
        while !self.released.load(Ordering::Acquire) {
            held = self.changed.wait(held).unwrap();
        }
    }
}

impl Holding {
    fn release(&self) {
        let _held = self.held.lock().unwrap();
        self.released.store(true, Ordering::Release);
        self.changed.notify_all();
    }
}

#[test]
fn who_has_no_place_is_refused_and_who_has_one_can_go_while_every_thread_spins() {
    let state = tempfile::tempdir().unwrap();
    // A separate engine, so that no other test waits for these threads.
    let engine = Engine::open(&crate::support::image_dir(), &[], &|_| ()).unwrap();
    let executor = |queued_max| {
        let settings = Settings { queued_max, ..Settings::new(state.path()) };
        Executor::new(engine.clone(), Registry::new(Vec::new()).unwrap(), settings)
    };
    let (full, other) = (executor(1), executor(0));
    let holding = Arc::new(Holding::default());
    lab::block_on(async {
        let spin = |_| {
            let (full, holding) = (full.clone(), holding.clone());
            let request = Request { timeout: Duration::from_secs(600), ..Request::new("console.log(1)") };
            tokio::spawn(async move { full.execute(request, holding).await })
        };
        let spinning: Vec<_> = (0..EXECUTIONS_CONCURRENT_MAX).map(spin).collect();
        lab::until("all threads spin", || *holding.held.lock().unwrap() == EXECUTIONS_CONCURRENT_MAX).await;

        let execute = |executor: &Executor, request| {
            let executor = executor.clone();
            async move { executor.execute(request, Arc::new(NoObserver)).await }
        };
        let queued = Request::new("1");
        let leave = queued.cancel.clone();
        let mut two = [tokio::spawn(execute(&full, queued.clone())), tokio::spawn(execute(&full, queued))];
        let first = lab::soon(select_all(&mut two)).await.0.unwrap();
        assert_eq!(code(&first), Some(ErrorCode::CapacityExceeded));
        leave.cancel();
        lab::soon(async {
            for task in two {
                if !task.is_finished() {
                    assert_eq!(code(&task.await.unwrap()), Some(ErrorCode::Cancelled));
                }
            }
        })
        .await;

        // A slot but no thread: parsing has to wait, and its caller can still time out.
        let short = Request { timeout: Duration::from_millis(20), ..Request::new("1") };
        assert_eq!(code(&lab::soon(execute(&other, short)).await), Some(ErrorCode::TimeExceeded));
        let given_up = Request::new("1");
        given_up.cancel.cancel();
        assert_eq!(code(&lab::soon(execute(&other, given_up)).await), Some(ErrorCode::Cancelled));

        holding.release();
        for execution in join_all(spinning).await {
            assert_eq!(code(&execution.unwrap()), None);
        }
    });
}

#[test]
fn shaping_a_large_result_stops_no_other_execution() {
    /// Completes when another task on the same worker has run.
    #[derive(Default)]
    struct Slow {
        began: AtomicBool,
        meanwhile: Condvar,
        others_went_on: Mutex<bool>,
    }
    impl Transform for Slow {
        fn transform(&self, _: Value, _: usize, _: &Path) -> Shaped {
            let others_went_on = self.others_went_on.lock().unwrap();
            self.began.store(true, Ordering::Release);
            let wait = self.meanwhile.wait_timeout_while(others_went_on, lab::SOON, |went_on| !*went_on);
            Shaped { result: json!(*wait.unwrap().0), ..Shaped::default() }
        }
    }
    let slow = Arc::new(Slow::default());
    let state = tempfile::tempdir().unwrap();
    let settings = Settings { transform: slow.clone(), ..Settings::new(state.path()) };
    let lab = Lab::with(Vec::new(), settings);
    // A single worker, the extreme case of a machine whose workers are all busy.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let shaped = runtime.block_on(async {
        let execution = tokio::spawn(async move { lab.execute(Request::new("'x'.repeat(100_000)")).await });
        lab::until("the result is shaped", || slow.began.load(Ordering::Acquire)).await;
        *slow.others_went_on.lock().unwrap() = true;
        slow.meanwhile.notify_all();
        execution.await.unwrap().outcome.unwrap()
    });
    assert_eq!(shaped.result, true);
}

#[test]
fn shaping_that_is_given_up_keeps_its_place_until_it_ends() {
    /// Completes when the test permits it.
    #[derive(Default)]
    struct Held {
        began: AtomicUsize,
        let_go: Condvar,
        may_end: Mutex<bool>,
    }
    impl Transform for Held {
        fn transform(&self, _: Value, _: usize, _: &Path) -> Shaped {
            self.began.fetch_add(1, Ordering::AcqRel);
            let waiting = self.let_go.wait_timeout_while(self.may_end.lock().unwrap(), lab::SOON, |may_end| !*may_end);
            drop(waiting);
            Shaped::default()
        }
    }
    let held = Arc::new(Held::default());
    let state = tempfile::tempdir().unwrap();
    let settings = Settings { transform: held.clone(), concurrent_max: 1, ..Settings::new(state.path()) };
    let lab = Lab::with(Vec::new(), settings);
    lab::block_on(async {
        let cancel = CancellationToken::new();
        let request = Request { cancel: cancel.clone(), ..Request::new("'x'.repeat(100_000)") };
        let first = tokio::spawn({
            let lab = lab.clone();
            async move { lab.execute(request).await }
        });
        lab::until("the result is shaped", || held.began.load(Ordering::Acquire) == 1).await;
        cancel.cancel();
        assert_eq!(code(&first.await.unwrap()), Some(ErrorCode::Cancelled), "it is not waited for");
        let hasty = Request { timeout: Duration::from_millis(200), ..Request::new("1") };
        assert_eq!(code(&lab.execute(hasty).await), Some(ErrorCode::CapacityExceeded), "its place is taken");
        *held.may_end.lock().unwrap() = true;
        held.let_go.notify_all();
        assert_eq!(code(&lab.execute(Request::new("1")).await), None);
    });
}

#[test]
fn every_fault_of_a_request_is_named_at_once() {
    let request = Request { timeout: Duration::ZERO, cpu: Duration::from_secs(3600), ..Request::new("1") };
    let report = lab::block_on(Lab::shared().execute(request)).outcome.unwrap_err();
    assert_eq!(report.code, ErrorCode::InvalidArgument);
    assert_eq!(
        report.message,
        "timeout_ms must be between 1 and 600000, it is 0; the processor time must be between 1 and 120000 ms"
    );
    let request = Request { timeout: Duration::from_secs(601), ..Request::new("1") };
    let report = lab::block_on(Lab::shared().execute(request)).outcome.unwrap_err();
    assert!(report.message.contains("it is 601000"), "{report}");
}

#[test]
fn an_observer_sees_lines_and_calls_as_they_happen() {
    #[derive(Default)]
    struct Seen(std::sync::Mutex<Vec<String>>);
    impl Observer for Seen {
        fn console(&self, line: &ConsoleLine) {
            self.0.lock().unwrap().push(line.text.clone());
        }
        fn call(&self, namespace: &str, method: &str, calls: u64) {
            self.0.lock().unwrap().push(format!("{calls} {namespace}.{method}"));
        }
    }
    let seen = Arc::new(Seen::default());
    let code = "console.log('a'); await fake.echo(1); console.log('b'); await fake.nothing().catch(() => {})";
    lab::block_on(Lab::shared().executor().execute(Request::new(code), seen.clone()));
    assert_eq!(*seen.0.lock().unwrap(), ["a", "1 fake.echo", "b", "2 fake.nothing"]);
}

#[test]
fn an_execution_tells_what_it_took() {
    let code = "for (let i = 0; i < 300000; i++); await fake.wait(30); 1";
    let execution = lab::block_on(Lab::shared().execute(Request::new(code)));
    assert!(execution.duration >= Duration::from_millis(30), "{:?}", execution.duration);
    assert!(execution.cpu > Duration::from_millis(1) && execution.cpu < execution.duration, "{:?}", execution.cpu);
    assert_eq!(execution.calls, 1);
    assert_eq!(execution.context.execution_id.as_deref(), Some(execution.id.as_str()));
}
