//! How many executions run, how many wait, whose turn it is, and who is refused.
//!
//! Callers take turns: when a place comes free, the caller that was granted one longest ago goes first, whatever its number
//! of waiting executions. Those of one caller are admitted in the order of their coming.

use super::outcome::cancelled;
use codemode_spec::{ErrorCode, ErrorReport};
use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{sync::oneshot, time::timeout};
use tokio_util::sync::CancellationToken;

/// What one caller may have of the places of an executor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// Executions of one name take their turns together.
    pub caller: Arc<str>,
    /// Its executions that run at the same time.
    pub concurrent_max: usize,
    /// Its executions that wait for a place.
    pub queued_max: usize,
}

/// All of them, under no name: what an executor with one caller needs.
impl Default for Share {
    fn default() -> Self {
        Self { caller: "".into(), concurrent_max: usize::MAX, queued_max: usize::MAX }
    }
}

/// How many executions there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Executions that run.
    pub running: usize,
    /// Executions that wait for a place.
    pub waiting: usize,
}

/// Lets in a bounded number, queues a bounded number, refuses the rest.
pub(super) struct Admission {
    line: Arc<Mutex<Line>>,
}

/// A place among the executions that run, given back when it is dropped.
pub(super) struct Place {
    line: Arc<Mutex<Line>>,
    caller: Arc<str>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let next = lock(&self.line).leave(&self.caller);
        grant(&self.line, next);
    }
}

/// An execution that waits; it leaves the line when it is dropped.
struct Queued<'a> {
    line: &'a Mutex<Line>,
    caller: Arc<str>,
    number: u64,
}

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        lock(self.line).give_up(&self.caller, self.number);
    }
}

/// Who runs and who waits.
struct Line {
    concurrent_max: usize,
    queued_max: usize,
    running: usize,
    waiting: usize,
    /// Executions that ever waited.
    numbered: u64,
    /// Those with an execution that runs or waits.
    callers: BTreeMap<Arc<str>, Of>,
    /// Callers with an execution that waits; the first is the next.
    turns: VecDeque<Arc<str>>,
}

/// What one caller has.
#[derive(Default)]
struct Of {
    running: usize,
    /// As it was when its last execution came.
    concurrent_max: usize,
    waiting: VecDeque<Waiting>,
}

struct Waiting {
    number: u64,
    granted: oneshot::Sender<Place>,
}

/// A place that has come free, and the execution that gets it.
type Next = Option<(Arc<str>, Waiting)>;

fn lock(line: &Mutex<Line>) -> MutexGuard<'_, Line> {
    line.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Gives a place to the execution that is next. One that has gone meanwhile drops it, and so passes it on.
fn grant(line: &Arc<Mutex<Line>>, next: Next) {
    if let Some((caller, waiting)) = next {
        let _ = waiting.granted.send(Place { line: Arc::clone(line), caller });
    }
}

impl Line {
    /// Whether an execution of this caller may begin now, and if so, counts it.
    fn enter(&mut self, share: &Share) -> bool {
        let of = self.callers.entry(Arc::clone(&share.caller)).or_default();
        of.concurrent_max = share.concurrent_max;
        let enters = self.running < self.concurrent_max && of.running < share.concurrent_max && of.waiting.is_empty();
        if enters {
            of.running += 1;
            self.running += 1;
        }
        enters
    }

    /// Puts an execution at the end of its caller's line.
    fn queue(&mut self, share: &Share, granted: oneshot::Sender<Place>) -> Result<u64, ErrorReport> {
        let of = self.callers.entry(Arc::clone(&share.caller)).or_default();
        if self.waiting >= self.queued_max || of.waiting.len() >= share.queued_max {
            let error = self.refused(share, "and the queue is full");
            self.tidy(&share.caller);
            return Err(error);
        }
        if of.waiting.is_empty() {
            self.turns.push_back(Arc::clone(&share.caller));
        }
        self.waiting += 1;
        self.numbered += 1;
        of.waiting.push_back(Waiting { number: self.numbered, granted });
        Ok(self.numbered)
    }

    fn leave(&mut self, caller: &Arc<str>) -> Next {
        self.running -= 1;
        if let Some(of) = self.callers.get_mut(caller) {
            of.running -= 1;
        }
        let next = self.next();
        self.tidy(caller);
        next
    }

    /// Whose turn it is, counted as one that runs.
    fn next(&mut self) -> Next {
        let may = |of: &Of| of.running < of.concurrent_max;
        let at = self.turns.iter().position(|caller| self.callers.get(caller).is_some_and(may))?;
        let caller = self.turns.remove(at)?;
        let of = self.callers.get_mut(&caller)?;
        let waiting = of.waiting.pop_front()?;
        of.running += 1;
        self.running += 1;
        self.waiting -= 1;
        if !of.waiting.is_empty() {
            self.turns.push_back(Arc::clone(&caller));
        }
        Some((caller, waiting))
    }

    /// Takes an execution out of its caller's line, unless it has a place by now.
    fn give_up(&mut self, caller: &Arc<str>, number: u64) {
        let Some(of) = self.callers.get_mut(caller) else { return };
        let before = of.waiting.len();
        of.waiting.retain(|waiting| waiting.number != number);
        self.waiting -= before - of.waiting.len();
        if of.waiting.is_empty() {
            self.turns.retain(|other| other != caller);
        }
        self.tidy(caller);
    }

    /// Forgets a caller that has nothing.
    fn tidy(&mut self, caller: &Arc<str>) {
        if self.callers.get(caller).is_some_and(|of| of.running == 0 && of.waiting.is_empty()) {
            self.callers.remove(caller);
        }
    }

    fn refused(&self, share: &Share, why: &str) -> ErrorReport {
        let of = self.callers.get(&share.caller);
        let own = of.map_or(0, |of| of.running);
        let running = if own >= share.concurrent_max {
            format!("{own} executions of this caller are running")
        } else {
            format!("{} executions are running", self.running)
        };
        ErrorReport::new(ErrorCode::CapacityExceeded, format!("{running}, {why}"))
            .with_detail("running", self.running)
            .with_detail("queued", self.waiting)
    }
}

impl Admission {
    pub(super) fn new(concurrent_max: usize, queued_max: usize) -> Self {
        let line = Line {
            concurrent_max,
            queued_max,
            running: 0,
            waiting: 0,
            numbered: 0,
            callers: BTreeMap::new(),
            turns: VecDeque::new(),
        };
        Self { line: Arc::new(Mutex::new(line)) }
    }

    pub(super) fn load(&self) -> Load {
        let line = lock(&self.line);
        Load { running: line.running, waiting: line.waiting }
    }

    /// Waits for a place, at most as long as the execution itself may take.
    ///
    /// # Errors
    /// `CAPACITY_EXCEEDED` when the queue is full or the time is over, `CANCELLED`.
    ///
    /// # Cancellation
    /// May be dropped at any time: the execution leaves the line.
    pub(super) async fn enter(
        &self,
        share: &Share,
        wait: Duration,
        cancel: &CancellationToken,
    ) -> Result<Place, ErrorReport> {
        let (granted, place) = oneshot::channel();
        let number = {
            let mut line = lock(&self.line);
            if line.enter(share) {
                return Ok(Place { line: Arc::clone(&self.line), caller: Arc::clone(&share.caller) });
            }
            line.queue(share, granted)?
        };
        let _queued = Queued { line: &self.line, caller: Arc::clone(&share.caller), number };
        tokio::select! {
            () = cancel.cancelled() => Err(cancelled()),
            place = timeout(wait, place) => match place {
                Ok(Ok(place)) => Ok(place),
                _ => Err(lock(&self.line).refused(share, "and none came free in time")),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(caller: &str, concurrent_max: usize, queued_max: usize) -> Share {
        Share { caller: caller.into(), concurrent_max, queued_max }
    }

    const SOON: Duration = Duration::from_secs(60);

    /// Has executions wait, in this order, and returns the order in which they get the one place.
    async fn order(admission: &Arc<Admission>, waiting: &[&str]) -> Vec<String> {
        let cancel = CancellationToken::new();
        let first = admission.enter(&share("first", 9, 9), SOON, &cancel).await.unwrap();
        let (told, mut order) = tokio::sync::mpsc::unbounded_channel();
        for (number, caller) in waiting.iter().enumerate() {
            let before = lock(&admission.line).waiting;
            let (queue, told, caller) = (Arc::clone(admission), told.clone(), (*caller).to_owned());
            tokio::spawn(async move {
                let place = queue.enter(&share(&caller, 9, 9), SOON, &CancellationToken::new()).await.unwrap();
                told.send(format!("{caller}{number}")).unwrap();
                drop(place);
            });
            while lock(&admission.line).waiting == before {
                tokio::task::yield_now().await;
            }
        }
        drop((first, told));
        let mut seen = Vec::new();
        while let Some(next) = order.recv().await {
            seen.push(next);
        }
        seen
    }

    #[tokio::test]
    async fn a_caller_with_many_executions_does_not_keep_another_waiting() {
        let admission = Arc::new(Admission::new(1, 20));
        let seen = order(&admission, &["noisy", "noisy", "noisy", "noisy", "quiet", "other", "quiet"]).await;
        assert_eq!(seen, ["noisy0", "quiet4", "other5", "noisy1", "quiet6", "noisy2", "noisy3"]);
        let line = lock(&admission.line);
        assert!(line.callers.is_empty() && line.turns.is_empty() && line.running == 0 && line.waiting == 0);
    }

    #[tokio::test]
    async fn a_caller_has_no_more_than_its_share() {
        let (admission, cancel) = (Admission::new(3, 20), CancellationToken::new());
        let small = share("small", 1, 1);
        let place = admission.enter(&small, SOON, &cancel).await.unwrap();
        let error = admission.enter(&small, Duration::ZERO, &cancel).await.err().unwrap();
        assert_eq!(error.message, "1 executions of this caller are running, and none came free in time");
        let mut waiting = Box::pin(admission.enter(&small, SOON, &cancel));
        assert!(futures::poll!(&mut waiting).is_pending());
        let error = admission.enter(&small, SOON, &cancel).await.err().unwrap();
        assert_eq!(error.message, "1 executions of this caller are running, and the queue is full");
        assert_eq!(error.code, ErrorCode::CapacityExceeded);
        // There is room for others.
        drop(admission.enter(&share("other", 9, 9), SOON, &cancel).await.unwrap());
        assert!(futures::poll!(&mut waiting).is_pending());
        drop(place);
        drop(waiting.await.unwrap());
        assert!(lock(&admission.line).callers.is_empty());
    }

    #[tokio::test]
    async fn a_place_that_is_granted_to_one_that_goes_is_passed_on() {
        let (admission, cancel) = (Admission::new(1, 20), CancellationToken::new());
        let place = admission.enter(&share("a", 9, 9), SOON, &cancel).await.unwrap();
        let (b, c) = (share("b", 9, 9), share("c", 9, 9));
        let mut goes = Box::pin(admission.enter(&b, SOON, &cancel));
        let mut stays = Box::pin(admission.enter(&c, SOON, &cancel));
        assert!(futures::poll!(&mut goes).is_pending() && futures::poll!(&mut stays).is_pending());
        drop(place);
        // It was granted the place, and never looked.
        drop(goes);
        drop(stays.await.unwrap());
        assert!(lock(&admission.line).callers.is_empty());
    }

    #[tokio::test]
    async fn one_that_is_cancelled_or_gives_up_leaves_the_line() {
        let admission = Admission::new(1, 1);
        let (cancel, never) = (CancellationToken::new(), CancellationToken::new());
        let all = Share::default();
        let place = admission.enter(&all, SOON, &never).await.unwrap();
        let mut waiting = Box::pin(admission.enter(&all, SOON, &cancel));
        assert!(futures::poll!(&mut waiting).is_pending());
        cancel.cancel();
        assert_eq!(waiting.await.err().unwrap().code, ErrorCode::Cancelled);
        let late = admission.enter(&Share::default(), Duration::ZERO, &never).await.err().unwrap();
        assert_eq!(late.message, "1 executions are running, and none came free in time");
        assert_eq!(lock(&admission.line).waiting, 0);
        drop(place);
        drop(admission.enter(&Share::default(), SOON, &never).await.unwrap());
    }
}
