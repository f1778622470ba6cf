//! Helpers of all benchmarks: an engine, an executor, medians and a table.

use crate::provider::BenchProvider;
use codemode_host::{
    engine::Engine,
    exec::{Execution, Executor, NoObserver, Request, Settings},
    result::Identity,
};
use codemode_provider::{Provider, Registry};
use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::runtime::Runtime;

/// A benchmark and its name.
pub type Named = (&'static str, fn(&Bench, &Runtime, &mut Table));

pub struct Bench {
    pub engine: Engine,
    pub executor: Executor,
    pub state: tempfile::TempDir,
}

impl Bench {
    pub fn open() -> Self {
        let images = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("images");
        let engine = Engine::open(&images, &[], &|line| eprintln!("{line}")).expect("the image can be made");
        let state = tempfile::tempdir().expect("a temporary folder");
        let executor = executor(&engine, state.path().to_owned(), vec![Arc::new(BenchProvider::default())]);
        Self { engine, executor, state }
    }
}

/// An executor that does not shape results, so that only the path of calls is measured.
pub fn executor(engine: &Engine, state_dir: PathBuf, providers: Vec<Arc<dyn Provider>>) -> Executor {
    let registry = Registry::new(providers).expect("the names are right");
    Executor::new(engine.clone(), registry, Settings { transform: Arc::new(Identity), ..Settings::new(state_dir) })
}

/// Executes a script that must succeed.
pub fn execute(runtime: &Runtime, executor: &Executor, code: &str) -> Execution {
    let execution = runtime.block_on(executor.execute(Request::new(code), Arc::new(NoObserver)));
    assert!(execution.outcome.is_ok(), "{code}: {:?}", execution.outcome);
    execution
}

/// The median time of a number of runs, after warm-up runs.
pub fn median(runs: usize, mut run: impl FnMut()) -> Duration {
    for _ in 0..runs.div_ceil(10) {
        run();
    }
    middle((0..runs).map(|_| timed(&mut run)).collect())
}

/// The median times of several functions, run in alternation, so that other load on the machine affects all of them
/// alike. The first round is a warm-up.
pub fn medians_in_turn<const N: usize>(rounds: usize, mut runs: [&mut dyn FnMut(); N]) -> [Duration; N] {
    let mut times = [const { Vec::new() }; N];
    for round in 0..=rounds {
        for (run, times) in runs.iter_mut().zip(&mut times) {
            let time = timed(run);
            if round > 0 {
                times.push(time);
            }
        }
    }
    times.map(middle)
}

pub fn timed(run: impl FnOnce()) -> Duration {
    let began = Instant::now();
    run();
    began.elapsed()
}

pub fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// The figures, printed as a Markdown table.
#[derive(Default)]
pub struct Table {
    rows: Vec<[String; 5]>,
}

impl Table {
    pub fn time(&mut self, name: &str, figure: Duration, bound: Option<(&str, Duration)>, aim: &str) {
        let (bound, ratio) = match bound {
            Some((what, bound)) => {
                (format!("{bound:.1?} ({what})"), format!("{:.2}", figure.as_secs_f64() / bound.as_secs_f64()))
            }
            None => ("–".to_owned(), "–".to_owned()),
        };
        self.row(name, format!("{figure:.1?}"), bound, ratio, aim);
    }

    pub fn text(&mut self, name: &str, figure: String, aim: &str) {
        self.row(name, figure, "–".to_owned(), "–".to_owned(), aim);
    }

    fn row(&mut self, name: &str, figure: String, bound: String, ratio: String, aim: &str) {
        eprintln!("{name}: {figure} | {bound} | {ratio}");
        self.rows.push([name.to_owned(), figure, bound, ratio, aim.to_owned()]);
    }

    pub fn print(&self) {
        println!("| what | median | lower bound | ratio | aim |\n|---|---|---|---|---|");
        for row in &self.rows {
            println!("| {} |", row.join(" | "));
        }
    }
}
