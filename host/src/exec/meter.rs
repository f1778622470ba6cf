//! Who counts what executions take.

use codemode_spec::ErrorCode;
use std::time::Duration;

/// Counts what executions take. Called while they run, also from the thread of a turn: must return at once.
pub trait Meter: Send + Sync {
    /// A turn of a sandbox has ended, after this wall time.
    fn turn(&self, _took: Duration) {}
    /// A call of a method of this namespace has ended, after this wall time.
    fn call(&self, _namespace: &str, _took: Duration, _outcome: Result<(), ErrorCode>) {}
    /// An execution has ended, after this wall time and this processor time of its sandbox, and is disposed of.
    fn execution(&self, _took: Duration, _cpu: Duration, _outcome: Result<(), ErrorCode>) {}
}

/// Counts nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoMeter;

impl Meter for NoMeter {}
