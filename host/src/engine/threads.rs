//! The threads on which turns run. They are separate from the async workers, so that a spinning script delays no
//! timers, and their stack is so large that wasm traps before the thread overflows.

use codemode_spec::limits::{EXECUTIONS_CONCURRENT_MAX, TURN_THREAD_STACK_BYTES};
use std::time::Duration;
use tokio::{runtime::Runtime, task::JoinHandle};

/// A pool of threads that are started on demand and end after some idle time.
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

    /// Runs a job on a thread of the pool.
    ///
    /// # Panics
    /// When the runtime could not be created at the start of the process.
    ///
    /// # Cancellation
    /// Dropping the handle does not stop the job.
    pub fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
        self.runtime.as_ref().expect("the runtime is taken only when it is dropped").spawn_blocking(job)
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        // Dropping a runtime blocks until its threads end, which is forbidden in async code, where the last engine may
        // be dropped.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
