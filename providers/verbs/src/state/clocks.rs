//! The state of page clocks: which pages are paused, since when, and how long they have run.

use codemode_page::{ConnectedBrowser, Event};
use codemode_spec::limits::PAGE_STATES_MAX;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tokio::time::Instant;

/// The clocks of pages that were ever paused.
#[derive(Default)]
pub(crate) struct Clocks(Mutex<HashMap<String, Clock>>);

/// The clock of a page.
#[derive(Clone)]
pub(crate) struct Clock {
    /// Where the page's time started when the clock was created, in milliseconds since 1970.
    pub(crate) base_ms: f64,
    /// How long the page has run since then, up to `runs_since`.
    ran: Duration,
    /// When it last resumed; `None` while it is paused.
    runs_since: Option<Instant>,
    halt: Halt,
    /// Whether a pause was begun, and not ended since: the page may be paused.
    touched: bool,
}

/// The event that reported that a page is paused.
#[derive(Clone, Default)]
pub(crate) struct Halt {
    connection: Weak<ConnectedBrowser>,
    session: String,
    /// The number of the event.
    seq: u64,
}

impl Halt {
    pub(crate) fn new(connected: &Arc<ConnectedBrowser>, session: &str, seq: u64) -> Self {
        Self { connection: Arc::downgrade(connected), session: session.to_owned(), seq }
    }

    /// Whether the pause is still in force: a page resumes on request, with a new document, and when the connection is
    /// closed.
    fn holds(&self, connected: &Arc<ConnectedBrowser>, page: &str) -> bool {
        let is_end = |event: &Event| match event.method.as_str() {
            "Debugger.resumed" => event.session.as_ref() == Some(&self.session),
            "Page.frameNavigated" => event.params["frame"]["id"] == page,
            _ => false,
        };
        self.connection.as_ptr() == Arc::as_ptr(connected)
            && connected.events().since(self.seq, 1, &is_end).events.is_empty()
    }
}

impl Clock {
    fn new(initial_ms: Option<f64>) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let base_ms = initial_ms.unwrap_or(now.as_secs_f64() * 1_000.0);
        Self { base_ms, ran: Duration::ZERO, runs_since: Some(Instant::now()), halt: Halt::default(), touched: false }
    }

    /// The page's time in milliseconds since 1970, which stands still while the page is paused.
    pub(crate) fn now_ms(&self) -> f64 {
        let runs = self.runs_since.map_or(Duration::ZERO, |since| since.elapsed());
        self.base_ms + (self.ran + runs).as_secs_f64() * 1_000.0
    }

    pub(crate) const fn is_halted(&self) -> bool {
        self.runs_since.is_none()
    }

    /// Whether the page may be paused, including by an unfinished attempt.
    pub(crate) const fn may_be_halted(&self) -> bool {
        self.touched
    }
}

impl Clocks {
    /// The clock of a page, if it has one.
    pub(crate) fn of(&self, connected: &Arc<ConnectedBrowser>, page: &str) -> Option<Clock> {
        let mut clocks = lock(&self.0);
        let clock = clocks.get_mut(page)?;
        if clock.is_halted() && !clock.halt.holds(connected, page) {
            clock.runs_since = Some(Instant::now());
        }
        Some(clock.clone())
    }

    /// Whether a page is paused.
    pub(crate) fn has_halted(&self, connected: &Arc<ConnectedBrowser>, page: &str) -> bool {
        self.of(connected, page).is_some_and(|clock| clock.is_halted())
    }

    /// Creates the clock of a page unless it has one. Its time starts at `initial_ms`, by default now.
    pub(crate) fn begin(&self, connected: &ConnectedBrowser, page: &str, initial_ms: Option<f64>) {
        let mut clocks = lock(&self.0);
        if clocks.len() >= PAGE_STATES_MAX {
            clocks.retain(|page, _| connected.targets.target(page).is_some());
        }
        clocks.entry(page.to_owned()).or_insert_with(|| Clock::new(initial_ms));
    }

    /// Records that a page may be paused from now on.
    pub(crate) fn touch(&self, page: &str) {
        if let Some(clock) = lock(&self.0).get_mut(page) {
            clock.touched = true;
        }
    }

    /// Records that a page is paused.
    pub(crate) fn halted(&self, page: &str, halt: Halt) {
        if let Some(clock) = lock(&self.0).get_mut(page) {
            clock.halt = halt;
            clock.ran += clock.runs_since.map_or(Duration::ZERO, |since| since.elapsed());
            clock.runs_since = None;
        }
    }

    /// Records that a page is running.
    pub(crate) fn runs(&self, page: &str) {
        if let Some(clock) = lock(&self.0).get_mut(page) {
            clock.touched = false;
            clock.runs_since.get_or_insert_with(Instant::now);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
