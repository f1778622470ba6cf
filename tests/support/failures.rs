//! Prints test failures immediately: the test harness prints them only after all other tests have ended, a quarter of
//! an hour later, and a run that is aborted never prints them.

use std::{
    io::{self, Write as _},
    panic,
    sync::Once,
    thread,
};

/// How much of a message is printed. The harness prints the whole.
const CHARS_MAX: usize = 1_500;

/// Installs a panic hook that prints each panic of a test's thread to standard error as it happens.
pub fn tell_at_once() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            // A test's thread has the name of the test.
            if let Some(test) = thread::current().name().filter(|name| name.contains("::")) {
                let message = info.payload_as_str().unwrap_or("no message").chars().take(CHARS_MAX).collect::<String>();
                let place = info.location().map(ToString::to_string).unwrap_or_default();
                // Not `eprintln!`, whose output the harness captures.
                let _ = writeln!(io::stderr(), "{test} at {place}: {message}");
            }
            usual(info);
        }));
    });
}
