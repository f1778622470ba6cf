//! The sandbox: wasmtime and nothing but wasmtime. It knows the messages of the contract, not what a call in them means.
//!
//! Invariant: a sandbox can reach nothing. Its WASI has no files, arguments, environment or sockets, a clock that stands
//! still and a random source that is always zero; all else comes in messages.

mod artifact;
mod kernel;
mod sandbox;
mod threads;
mod ticker;

pub use artifact::{ArtifactError, Image};
pub use kernel::Kernel;
pub use sandbox::{Allowance, Sandbox, Stop};
pub use threads::Threads;

use codemode_spec::limits::{
    EXECUTIONS_CONCURRENT_MAX, MEMORY_BYTES_MAX, TURN_THREAD_STACK_BYTES, WASM_STACK_BYTES_MAX,
};
use sandbox::StoreData;
use std::{path::Path, sync::Arc};
use ticker::Ticker;
use wasmtime::{Config, Enabled, InstancePre, Linker, OptLevel, PoolingAllocationConfig};

/// Sandboxes that may exist at once: those of the running executions, and a few that are being dropped.
const SANDBOXES_MAX: u32 = EXECUTIONS_CONCURRENT_MAX as u32 + 8;
/// Dirty memory of a sandbox's place that is reset by copying and stays mapped: the next sandbox there takes no page
/// faults. A trivial script dirties about a third of it.
const KEEP_RESIDENT_BYTES: usize = 1024 * 1024;

/// Makes sandboxes. Cheap to clone.
#[derive(Clone)]
pub struct Engine {
    inner: Arc<Inner>,
}

struct Inner {
    instance_pre: InstancePre<StoreData>,
    ticker: Ticker,
    threads: Threads,
}

impl Engine {
    /// An engine for the image in a folder; it is made there first if it is missing, which takes some seconds and is
    /// told to `progress`.
    ///
    /// # Errors
    /// When the image can be neither loaded nor made.
    pub fn open(images: &Path, progress: &dyn Fn(&str)) -> Result<Self, ArtifactError> {
        let wasmtime = wasmtime::Engine::new(&config(true)).map_err(ArtifactError::engine)?;
        let image = Image::open(&wasmtime, images, progress)?;
        let mut linker = Linker::new(&wasmtime);
        sandbox::link(&mut linker).map_err(ArtifactError::engine)?;
        let instance_pre = linker.instantiate_pre(image.module()).map_err(ArtifactError::engine)?;
        let ticker = Ticker::new(wasmtime);
        Ok(Self { inner: Arc::new(Inner { instance_pre, ticker, threads: Threads::new() }) })
    }

    /// A fresh sandbox, in the state in which the image was frozen.
    ///
    /// # Errors
    /// When there is no place for one more, or the image is not of this ABI.
    pub fn sandbox(&self) -> Result<Sandbox, Stop> {
        Sandbox::new(&self.inner.instance_pre, &self.inner.ticker)
    }

    /// The threads on which turns run.
    #[must_use]
    pub fn threads(&self) -> &Threads {
        &self.inner.threads
    }
}

/// How the image is compiled and run. Without the pool, for making the image.
fn config(pooled: bool) -> Config {
    let mut config = Config::new();
    config.cranelift_opt_level(OptLevel::Speed).epoch_interruption(true).max_wasm_stack(WASM_STACK_BYTES_MAX);
    // Only the making of the image runs on such a stack.
    config.async_stack_size(TURN_THREAD_STACK_BYTES);
    if pooled {
        let mut pool = PoolingAllocationConfig::new();
        pool.total_core_instances(SANDBOXES_MAX)
            .total_memories(SANDBOXES_MAX)
            .total_tables(SANDBOXES_MAX)
            .total_stacks(0)
            .total_component_instances(0)
            .total_gc_heaps(0)
            .max_memory_size(MEMORY_BYTES_MAX)
            .table_elements(sandbox::TABLE_ELEMENTS_MAX)
            .max_unused_warm_slots(SANDBOXES_MAX)
            .linear_memory_keep_resident(KEEP_RESIDENT_BYTES)
            .table_keep_resident(1024 * 1024)
            .pagemap_scan(Enabled::Auto);
        config.allocation_strategy(pool);
    }
    config
}
