//! The sandbox itself.

use crate::measure::{Bench, Named, Table, execute, median, middle, timed};
use codemode_host::{
    engine::{Allowance, Sandbox},
    exec::{Observer, Request},
    program::Program,
};
use codemode_spec::{
    limits::{CALLS_PER_EXECUTION_MAX, CPU_MS_DEFAULT, WALL_MS_DEFAULT},
    message::{ConsoleLine, Namespace, Start},
};
use std::{
    fs,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

pub const BENCHES: &[Named] = &[
    ("fresh sandbox", fresh_sandbox),
    ("whole execution", whole_execution),
    ("memory per waiting execution", memory_per_waiting),
    ("kernels", kernels),
];

fn start(code: &str) -> Start {
    let program = Program::prepare(code).expect("the source is right");
    Start {
        source: program.source,
        source_name: program.source_name,
        namespaces: vec![Namespace { name: "cdp".to_owned(), methods: vec!["send".to_owned(), "spec".to_owned()] }],
        seed: [7; 32],
        now_ms: 1.8e12,
        calls_max: CALLS_PER_EXECUTION_MAX,
        call_bytes: 0,
    }
}

fn allowance() -> Allowance {
    Allowance {
        deadline: Instant::now() + Duration::from_millis(WALL_MS_DEFAULT),
        cpu: Duration::from_millis(CPU_MS_DEFAULT),
        cpu_used: Duration::ZERO,
        cancel: CancellationToken::new(),
    }
}

fn fresh_sandbox(bench: &Bench, _: &Runtime, table: &mut Table) {
    let start = start("async () => 1+1");
    let (mut made, mut ran, mut dropped, mut total) = (vec![], vec![], vec![], vec![]);
    for _ in 0..2_000 {
        let began = Instant::now();
        let mut sandbox: Sandbox = bench.engine.sandbox().expect("there is a place");
        made.push(began.elapsed());
        ran.push(timed(|| drop(sandbox.start(&start, allowance(), || {}).expect("it runs"))));
        dropped.push(timed(move || drop(sandbox)));
        total.push(began.elapsed());
    }
    let bound = ("making the instance", middle(made.clone()));
    table.time("fresh sandbox, `async () => 1+1`", middle(total), Some(bound), "≤ 100 µs");
    table.time("… of it making the instance", middle(made), None, "–");
    table.time("… of it running the script", middle(ran), None, "–");
    table.time("… of it dropping the sandbox", middle(dropped), None, "–");
}

fn whole_execution(bench: &Bench, runtime: &Runtime, table: &mut Table) {
    let start = start("async () => 1+1");
    let bound = median(500, || {
        let mut sandbox = bench.engine.sandbox().expect("there is a place");
        sandbox.start(&start, allowance(), || {}).expect("it runs");
    });
    let ours = median(500, || drop(execute(runtime, &bench.executor, "async () => 1+1")));
    table.time("whole execution, `async () => 1+1`", ours, Some(("its sandbox alone", bound)), "–");
}

/// The proportional set size of this process, in KiB: pages shared with the image file are not counted twice.
fn pss_kib() -> u64 {
    let rollup = fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
    let private = |key: &str| {
        let line = rollup.lines().find(|line| line.starts_with(key));
        line.and_then(|line| line.split_whitespace().nth(1)).and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0)
    };
    private("Pss:")
}

/// Counts the executions that have started to wait.
#[derive(Default)]
struct Waiting(AtomicU64);

impl Observer for Waiting {
    fn console(&self, _: &ConsoleLine) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Waits until waiting scripts have left their threads and released the memory that they do not need: they keep the
/// thread for a moment.
fn wait_for_rest() {
    std::thread::sleep(std::time::Duration::from_millis(20));
}

fn memory_per_waiting(bench: &Bench, runtime: &Runtime, table: &mut Table) {
    // The first ones allocate what all share.
    const FIRST: u64 = 8;
    const WAITING: u64 = 20;
    let (cancel, waiting) = (CancellationToken::new(), Arc::new(Waiting::default()));
    let waits = "async () => { console.log('waits'); await new Promise(done => setTimeout(done, 50000)) }";
    let run = |_| {
        let request = Request { cancel: cancel.clone(), ..Request::new(waits) };
        let (executor, waiting) = (bench.executor.clone(), waiting.clone());
        runtime.spawn(async move { executor.execute(request, waiting).await })
    };
    // Sequentially: waiting executions have no thread, and the memory of threads is not what is measured.
    let begin = |number| {
        let task = run(number);
        while waiting.0.load(Ordering::Relaxed) <= number {
            std::thread::yield_now();
        }
        wait_for_rest();
        task
    };
    let mut tasks: Vec<_> = (0..FIRST).map(&begin).collect();
    let before = pss_kib();
    tasks.extend((FIRST..FIRST + WAITING).map(begin));
    let after = pss_kib();
    cancel.cancel();
    for task in tasks {
        drop(runtime.block_on(task));
    }
    table.text("memory per waiting execution", format!("{} KiB", after.saturating_sub(before) / WAITING), "≤ 200 KiB");
}

const KERNELS: &[(&str, &str)] = &[
    ("fibonacci of 22", "function f(n) { return n < 2 ? n : f(n - 1) + f(n - 2) } return f(22)"),
    ("sum over 200,000 floats", "let s = 0; for (let i = 0; i < 200000; i++) s += i * 0.5; return s"),
    (
        "sort 20,000 numbers",
        "const a = Array.from({length: 20000}, (_, i) => (i * 7919) % 20011); a.sort((x, y) => x - y); return a[0]",
    ),
    (
        "JSON of 3,000 objects",
        "const a = Array.from({length: 3000}, (_, i) => ({i, s: 'x' + i})); return JSON.parse(JSON.stringify(a)).length",
    ),
    ("regex over 100 KB", "const s = 'lorem ipsum 12345 '.repeat(6000); return s.match(/\\d+/g).length"),
    (
        "map and filter of 50,000",
        "return Array.from({length: 50000}, (_, i) => i).map(x => x * 2).filter(x => x % 3 == 0).length",
    ),
];

fn kernels(bench: &Bench, runtime: &Runtime, table: &mut Table) {
    for (name, body) in KERNELS {
        let code = format!("async () => {{ {body} }}");
        let time = median(7, || drop(execute(runtime, &bench.executor, &code)));
        table.time(&format!("kernel: {name}"), time, None, "–");
    }
}
