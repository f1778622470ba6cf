//! wasmtime's configuration for compiling and running the image.

use super::sandbox::TABLE_ELEMENTS_MAX;
use codemode_spec::limits::{
    EXECUTIONS_CONCURRENT_MAX, MEMORY_BYTES_MAX, TURN_THREAD_STACK_BYTES, WASM_STACK_BYTES_MAX,
};
use wasmtime::{Config, Enabled, OptLevel, PoolingAllocationConfig};

/// Sandboxes that may exist at once: those of the running executions, and a few that are being dropped.
const SANDBOXES_MAX: u32 = EXECUTIONS_CONCURRENT_MAX as u32 + 8;
/// Dirty memory of a pool slot that is reset by copying and stays mapped, so that the next sandbox in the slot takes no
/// page faults. A trivial script dirties about a third of it.
const KEEP_RESIDENT_BYTES: usize = 1024 * 1024;

/// The configuration; without the pool for building the image.
pub(super) fn config(pooled: bool) -> Config {
    let mut config = Config::new();
    config.cranelift_opt_level(OptLevel::Speed).epoch_interruption(true).max_wasm_stack(WASM_STACK_BYTES_MAX);
    // Nothing runs on an async stack, but wasmtime validates its size.
    config.async_stack_size(TURN_THREAD_STACK_BYTES);
    if pooled {
        let mut pool = PoolingAllocationConfig::new();
        pool.total_core_instances(SANDBOXES_MAX)
            .total_memories(SANDBOXES_MAX)
            .total_tables(SANDBOXES_MAX)
            .total_stacks(0)
            .total_component_instances(0)
            .max_memory_size(MEMORY_BYTES_MAX)
            .table_elements(TABLE_ELEMENTS_MAX)
            .max_unused_warm_slots(SANDBOXES_MAX)
            .linear_memory_keep_resident(KEEP_RESIDENT_BYTES)
            .table_keep_resident(1024 * 1024)
            .pagemap_scan(Enabled::Auto);
        config.allocation_strategy(pool);
    }
    config
}
