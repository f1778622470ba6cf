//! Tests of a run whose state is serialised and deserialised between its turns.

use super::*;
use crate::{
    exec::{NoAudit, NoMeter, NoObserver, trace::TraceSink},
    secrets::Masker,
};
use codemode_provider::{
    Provider,
    testkit::{self, FakeProvider},
};
use codemode_spec::{limits::CONSOLE_BYTES_KEPT, message::Level};
use std::{
    env,
    path::PathBuf,
    time::{SystemTime, UNIX_EPOCH},
};

/// Leaves something in each part of the state, and rethrows the error of an early call.
const EVERYTHING: &str = "
console.log('first', Math.random(), Date.now() >= 1767225600000);
let failed;
try { await fake.fail('POLICY_REFUSED', 'not here') } catch (error) { failed = error }
for (let line = 0; line < 100; line++) console.log(line, 'x'.repeat(2000));
// More arguments than the host has room for: some of these calls wait.
const heavy = new Array(20000).fill(0);
const lengths = await Promise.all([1, 2, 3, 4].map((n) => fake.wait(600 + n, heavy).then((reply) => reply.length)));
const before = performance.now();
await new Promise((done) => setTimeout(done, 600));
console.log('last', Math.random(), lengths, performance.now() - before >= 600);
Promise.reject(new Error('lost'));
throw failed;";

/// Processor time of each run.
const CPU: Duration = Duration::from_secs(60);

/// The folder of the image for this build's tests.
fn images() -> PathBuf {
    let program = env::current_exe().unwrap();
    // target/PROFILE/deps/program
    program.ancestors().nth(3).unwrap().join("tmp").join("images")
}

/// What the test observed of a run's states at its waits.
#[derive(Debug, Default)]
struct Observed {
    states: usize,
    with_calls_that_run: usize,
    with_calls_that_wait: usize,
    with_a_timer: usize,
    cpu_used: Duration,
    time_left: Duration,
}

/// Runs the script to its end; each time it waits, replaces its state by what `through` returns.
async fn run(engine: &Engine, code: &str, through: fn(RunState) -> RunState) -> (RunOutcome, Observed) {
    let provider: Arc<dyn Provider> = Arc::new(FakeProvider::new("fake"));
    let context = testkit::context(&env::temp_dir(), serde_json::json!({}));
    let (deadline, id) = (context.deadline, context.execution.clone());
    let runtime = provider.create(context).await.unwrap();
    let callees = Callees {
        registry: Arc::new(Registry::new(vec![provider]).unwrap()),
        runtimes: [runtime].into(),
        audit: Arc::new(NoAudit),
        meter: Arc::new(NoMeter),
        masker: Masker::default(),
        trace: TraceSink::default(),
        span: tracing::Span::none(),
    };
    let inputs = RunInputs {
        engine: engine.clone(),
        program: Program::prepare(code).unwrap(),
        callees,
        argument_room: Arc::new(Semaphore::new(1 << 28)),
        cancel: CancellationToken::new(),
        observer: Arc::new(NoObserver),
    };
    let new_year: SystemTime = UNIX_EPOCH + Duration::from_secs(1_767_225_600);
    let now = Instant::now();
    let left = deadline - now;
    let mut run = Run::new(RunState::new(id, [3; 32], new_year, left, CPU), now, inputs);
    let (mut replies, mut observed) = (None, Observed::default());
    loop {
        let handle = Handle::current();
        let advanced = engine.threads().run(move || {
            let _runtime = handle.enter();
            let progress = run.advance(replies);
            (run, progress)
        });
        let (back, progress) = advanced.await.unwrap();
        run = back;
        if let TurnProgress::Ended(outcome) = progress {
            return (run.end(outcome), observed);
        }
        run.state = through(run.state.clone());
        let state = &run.state;
        observed.states += 1;
        observed.with_calls_that_run += usize::from(state.under_way.len() > state.waiting.len());
        observed.with_calls_that_wait += usize::from(!state.waiting.is_empty());
        observed.with_a_timer += usize::from(state.next_timer.is_some());
        assert!(state.cpu_used > observed.cpu_used, "each turn takes processor time");
        assert!(
            state.time_left < left && (observed.states == 1 || state.time_left < observed.time_left),
            "time passes"
        );
        (observed.cpu_used, observed.time_left) = (state.cpu_used, state.time_left);
        match run.wait().await {
            Ok(ready) => replies = Some(ready),
            Err(error) => return (run.end(Err(error)), observed),
        }
    }
}

fn written_and_read(state: RunState) -> RunState {
    let written = serde_json::to_vec(&state).unwrap();
    let read: RunState = serde_json::from_slice(&written).unwrap();
    assert_eq!(read, state, "nothing is lost");
    read
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_goes_on_with_a_state_that_was_written_and_read() {
    let engine = Engine::open(&images(), &[], &|line| eprintln!("{line}")).unwrap();
    let (undisturbed, _) = run(&engine, EVERYTHING, |state| state).await;
    let (crossed, observed) = run(&engine, EVERYTHING, written_and_read).await;
    assert!(
        observed.with_calls_that_run > 0 && observed.with_calls_that_wait > 0 && observed.with_a_timer > 0,
        "the state was written with each of these: {observed:?}, {:?}",
        crossed.outcome.as_ref().err()
    );

    let report_of = |run: RunOutcome| {
        let RunOutcome { outcome, summary } = run;
        let report = outcome.err().expect("the script throws");
        (report, summary.console, summary.console_dropped_bytes, summary.warnings, summary.calls)
    };
    let crossed = report_of(crossed);
    let (report, console, dropped_bytes, warnings, calls) = &crossed;
    assert_eq!((report.code, report.message.as_str()), (ErrorCode::PolicyRefused, "not here"));
    assert_eq!(report.details["call"], "fake.fail");
    let (first, last) = (&console[0], &console[console.len() - 1]);
    assert!(first.text.starts_with("first 0.") && first.text.ends_with("true"), "{first:?}");
    assert!(last.text.starts_with("last 0.") && last.text.ends_with("true"), "{last:?}");
    assert!(first.level == Level::Log && *dropped_bytes > CONSOLE_BYTES_KEPT as u64);
    assert_eq!((warnings.len(), *calls), (1, 5));
    assert_eq!(crossed, report_of(undisturbed), "as if the state had never left");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_state_says_is_what_the_run_does() {
    let engine = Engine::open(&images(), &[], &|line| eprintln!("{line}")).unwrap();
    let waits = "await new Promise((done) => setTimeout(done, 100000)); Date.now()";
    // A timer that is due according to the state fires.
    let (outcome, observed) = run(&engine, waits, |mut state| {
        state.age = state.next_timer.unwrap_or_default();
        state
    })
    .await;
    assert_eq!(observed.states, 1);
    assert!(outcome.outcome.is_ok());
    // A state without time left ends the run.
    let (outcome, _) = run(&engine, waits, |mut state| {
        state.time_left = Duration::ZERO;
        state
    })
    .await;
    assert_eq!(outcome.outcome.err().unwrap().code, ErrorCode::TimeExceeded);
    // The processor time in the state counts, not that of the thread on which the script is resumed.
    let spins = "await fake.wait(600); for (;;);";
    let (outcome, _) = run(&engine, spins, |mut state| {
        state.cpu_used = state.cpu;
        state
    })
    .await;
    assert_eq!(outcome.outcome.err().unwrap().code, ErrorCode::CpuExceeded);
    assert!(outcome.summary.cpu < CPU + Duration::from_secs(5), "it ended at the next tick: {:?}", outcome.summary.cpu);
}
