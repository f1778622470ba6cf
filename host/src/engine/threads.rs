//! The threads on which turns run: away from the async workers, so that a spinning script delays no timers, and
//! with a stack on which wasm traps before the thread overflows.

use codemode_spec::limits::{EXECUTIONS_CONCURRENT_MAX, TURN_THREAD_STACK_BYTES};
use std::time::Duration;
use tokio::{runtime::Runtime, task::JoinHandle};

/// Threads that are started when they are needed and end when they were idle for a while.
pub struct Threads {
    runtime: Option<Runtime>,
}

impl Threads {
    pub(super) fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .thread_name("codemode-turn")
            .thread_stack_size(TURN_THREAD_STACK_BYTES)
            .max_blocking_threads(EXECUTIONS_CONCURRENT_MAX)
            .thread_keep_alive(Duration::from_secs(10))
            .build();
        Self { runtime: runtime.ok() }
    }

    /// Runs a job on one of the threads.
    ///
    /// # Panics
    /// When the system could not give the runtime what it needs at the start of the process.
    ///
    /// # Cancellation
    /// Dropping the handle does not stop the job.
    pub fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        self.runtime.as_ref().expect("the runtime is taken only when it is dropped").spawn_blocking(job)
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        // Dropping a runtime waits for its threads, which is forbidden where the last engine may be dropped.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
