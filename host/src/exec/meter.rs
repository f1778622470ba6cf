//! Who counts what executions take.

use codemode_spec::ErrorCode;
use std::{sync::Arc, time::Duration};

/// Counts what executions take. Called while they run, also from the thread of a turn: must return at once.
pub trait Meter: Send + Sync {
    /// A turn of a sandbox has ended, after this wall time.
    fn turn(&self, _took: Duration) {}
    /// A call of a method of this namespace has ended, after this wall time.
    fn call(&self, _namespace: &str, _took: Duration, _outcome: Result<(), ErrorCode>) {}
    /// The memory of a sandbox has so many bytes, where it had so many before; none when the sandbox is gone.
    fn sandbox_memory(&self, _before: usize, _now: usize) {}
    /// An execution has ended, after this wall time and this processor time of its sandbox, and is disposed of.
    fn execution(&self, _took: Duration, _cpu: Duration, _outcome: Result<(), ErrorCode>) {}
}

/// Counts nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoMeter;

impl Meter for NoMeter {}

/// The memory of one sandbox, told to a meter until this is dropped.
pub(super) struct SandboxMemory {
    meter: Arc<dyn Meter>,
    bytes: usize,
}

impl SandboxMemory {
    pub(super) fn none(meter: Arc<dyn Meter>) -> Self {
        Self { meter, bytes: 0 }
    }

    pub(super) fn is(&mut self, bytes: usize) {
        if bytes != self.bytes {
            self.meter.sandbox_memory(self.bytes, bytes);
            self.bytes = bytes;
        }
    }
}

impl Drop for SandboxMemory {
    fn drop(&mut self) {
        self.is(0);
    }
}
