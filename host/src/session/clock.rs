//! The clock by which leases expire: the same for all processes of a machine, and unaffected when the wall clock is
//! set.

use rustix::time::{ClockId, clock_gettime};
use std::{
    fs,
    sync::LazyLock,
    time::{SystemTime, UNIX_EPOCH},
};

/// A source of time. Simulations have their own.
pub trait Clock: Send + Sync {
    /// Milliseconds since the Unix epoch: for display. Retention uses it only for sessions of earlier boots.
    fn wall_ms(&self) -> i64;

    /// Milliseconds since the boot, including suspended time: decides expiry.
    fn steady_ms(&self) -> i64;

    /// The id of the boot. Steady times of different boots cannot be compared, and no process survives a boot.
    fn boot(&self) -> &str;
}

/// The machine's clocks.
#[derive(Clone, Copy, Debug, Default)]
pub struct MachineClock;

impl Clock for MachineClock {
    fn wall_ms(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }

    fn steady_ms(&self) -> i64 {
        let time = clock_gettime(ClockId::Boottime);
        time.tv_sec * 1_000 + time.tv_nsec / 1_000_000
    }

    fn boot(&self) -> &str {
        static BOOT: LazyLock<String> = LazyLock::new(|| {
            fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
        });
        &BOOT
    }
}
