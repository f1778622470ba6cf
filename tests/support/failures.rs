//! Why a test fails, told at once: the test harness keeps it until all other tests have ended, a quarter of an hour later,
//! and a run that is cut off never tells it.

use std::{
    io::{self, Write as _},
    panic,
    sync::Once,
    thread,
};

/// How much of a message is told. The harness has the whole.
const CHARS_MAX: usize = 1_500;

/// From now on each panic of a test's own thread is told on standard error as it happens.
pub fn tell_at_once() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            // Threads of tests have the names of their tests.
            if let Some(test) = thread::current().name().filter(|name| name.contains("::")) {
                let message = info.payload_as_str().unwrap_or("no message").chars().take(CHARS_MAX).collect::<String>();
                let place = info.location().map(ToString::to_string).unwrap_or_default();
                // Not by a macro, whose words the harness keeps.
                let _ = writeln!(io::stderr(), "{test} at {place}: {message}");
            }
            usual(info);
        }));
    });
}
