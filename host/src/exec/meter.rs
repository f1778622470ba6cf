//! Measuring the resources that executions use.

use codemode_spec::ErrorCode;
use std::{sync::Arc, time::Duration};

/// Counts the resources that executions use. Also called from turn threads: must return at once.
pub trait Meter: Send + Sync {
    /// A turn of a sandbox has ended, after this wall time.
    fn turn(&self, _took: Duration) {}
    /// A call of a method of this namespace has ended, after this wall time.
    fn call(&self, _namespace: &str, _took: Duration, _outcome: Result<(), ErrorCode>) {}
    /// A sandbox's memory changed from `before` to `now` bytes; zero when the sandbox is dropped.
    fn sandbox_memory(&self, _before: usize, _now: usize) {}
    /// An execution has ended, after this wall time and this processor time of its sandbox, and is disposed of.
    fn execution(&self, _took: Duration, _cpu: Duration, _outcome: Result<(), ErrorCode>) {}
}

/// A meter that ignores everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoMeter;

impl Meter for NoMeter {}

/// The memory of one sandbox, reported to a meter until this is dropped.
pub(super) struct SandboxMemory {
    meter: Arc<dyn Meter>,
    bytes: usize,
}

impl SandboxMemory {
    pub(super) fn none(meter: Arc<dyn Meter>) -> Self {
        Self { meter, bytes: 0 }
    }

    pub(super) fn set(&mut self, bytes: usize) {
        if bytes != self.bytes {
            self.meter.sandbox_memory(self.bytes, bytes);
            self.bytes = bytes;
        }
    }
}

impl Drop for SandboxMemory {
    fn drop(&mut self) {
        self.set(0);
    }
}
