//! Admission of executions: how many run, how many wait, which is admitted next, and which are refused.
//!
//! Callers take turns: a free permit goes to the caller that was last granted one the longest ago, regardless of how
//! many of its executions wait. The executions of one caller are admitted in the order of arrival.

use super::outcome::cancelled;
use codemode_spec::{ErrorCode, ErrorReport};
use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{sync::oneshot, time::timeout};
use tokio_util::sync::CancellationToken;

/// One caller's share of an executor's permits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// Executions with the same caller name share one queue.
    pub caller: Arc<str>,
    /// Executions of the caller that may run at the same time.
    pub concurrent_max: usize,
    /// Executions of the caller that may wait for a permit.
    pub queued_max: usize,
}

/// An unlimited share without a caller name, for an executor with only one caller.
impl Default for Share {
    fn default() -> Self {
        Self { caller: "".into(), concurrent_max: usize::MAX, queued_max: usize::MAX }
    }
}

/// The current number of executions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Executions that run.
    pub running: usize,
    /// Executions that wait for a permit.
    pub waiting: usize,
}

/// Admits a bounded number of executions, queues a bounded number, and refuses the rest.
pub(super) struct Admission {
    queues: Arc<Mutex<Queues>>,
}

/// A permit of a running execution, released on drop.
pub(super) struct Permit {
    queues: Arc<Mutex<Queues>>,
    caller: Arc<str>,
}

impl Drop for Permit {
    fn drop(&mut self) {
        let next = lock(&self.queues).release(&self.caller);
        grant(&self.queues, next);
    }
}

/// A waiting execution; removed from the queue on drop.
struct QueueGuard<'a> {
    queues: &'a Mutex<Queues>,
    caller: Arc<str>,
    number: u64,
}

impl Drop for QueueGuard<'_> {
    fn drop(&mut self) {
        lock(self.queues).remove_waiting(&self.caller, self.number);
    }
}

/// The running and waiting executions of all callers.
struct Queues {
    concurrent_max: usize,
    queued_max: usize,
    running: usize,
    waiting: usize,
    /// Executions that have ever waited; the last one's number.
    numbered: u64,
    /// Callers with an execution that runs or waits.
    callers: BTreeMap<Arc<str>, CallerState>,
    /// Callers with a waiting execution; the first is next.
    turns: VecDeque<Arc<str>>,
}

/// The executions of one caller.
#[derive(Default)]
struct CallerState {
    running: usize,
    /// The limit in the caller's latest request.
    concurrent_max: usize,
    waiting: VecDeque<Waiting>,
}

struct Waiting {
    number: u64,
    granted: oneshot::Sender<Permit>,
}

/// A waiting execution to which a free permit goes.
type Next = Option<(Arc<str>, Waiting)>;

fn lock(queues: &Mutex<Queues>) -> MutexGuard<'_, Queues> {
    queues.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends a permit to the next execution. If that has been dropped meanwhile, the permit is dropped too, and so passes
/// to another.
fn grant(queues: &Arc<Mutex<Queues>>, next: Next) {
    if let Some((caller, waiting)) = next {
        let _ = waiting.granted.send(Permit { queues: Arc::clone(queues), caller });
    }
}

impl Queues {
    /// Admits an execution of this caller if it may start now, and counts it as running.
    fn try_admit(&mut self, share: &Share) -> bool {
        let state = self.callers.entry(Arc::clone(&share.caller)).or_default();
        state.concurrent_max = share.concurrent_max;
        let admitted =
            self.running < self.concurrent_max && state.running < share.concurrent_max && state.waiting.is_empty();
        if admitted {
            state.running += 1;
            self.running += 1;
        }
        admitted
    }

    /// Appends an execution to its caller's queue.
    fn queue(&mut self, share: &Share, granted: oneshot::Sender<Permit>) -> Result<u64, ErrorReport> {
        let state = self.callers.entry(Arc::clone(&share.caller)).or_default();
        if self.waiting >= self.queued_max || state.waiting.len() >= share.queued_max {
            let error = self.refused(share, "and the queue is full");
            self.remove_idle(&share.caller);
            return Err(error);
        }
        if state.waiting.is_empty() {
            self.turns.push_back(Arc::clone(&share.caller));
        }
        self.waiting += 1;
        self.numbered += 1;
        state.waiting.push_back(Waiting { number: self.numbered, granted });
        Ok(self.numbered)
    }

    fn release(&mut self, caller: &Arc<str>) -> Next {
        self.running -= 1;
        if let Some(state) = self.callers.get_mut(caller) {
            state.running -= 1;
        }
        let next = self.next();
        self.remove_idle(caller);
        next
    }

    /// The execution to admit next, counted as running.
    fn next(&mut self) -> Next {
        let has_share = |state: &CallerState| state.running < state.concurrent_max;
        let at = self.turns.iter().position(|caller| self.callers.get(caller).is_some_and(has_share))?;
        let caller = self.turns.remove(at)?;
        let state = self.callers.get_mut(&caller)?;
        let waiting = state.waiting.pop_front()?;
        state.running += 1;
        self.running += 1;
        self.waiting -= 1;
        if !state.waiting.is_empty() {
            self.turns.push_back(Arc::clone(&caller));
        }
        Some((caller, waiting))
    }

    /// Removes an execution from its caller's queue, unless it has been granted a permit by now.
    fn remove_waiting(&mut self, caller: &Arc<str>, number: u64) {
        let Some(state) = self.callers.get_mut(caller) else { return };
        let before = state.waiting.len();
        state.waiting.retain(|waiting| waiting.number != number);
        self.waiting -= before - state.waiting.len();
        if state.waiting.is_empty() {
            self.turns.retain(|other| other != caller);
        }
        self.remove_idle(caller);
    }

    /// Removes a caller without executions.
    fn remove_idle(&mut self, caller: &Arc<str>) {
        if self.callers.get(caller).is_some_and(|state| state.running == 0 && state.waiting.is_empty()) {
            self.callers.remove(caller);
        }
    }

    fn refused(&self, share: &Share, why: &str) -> ErrorReport {
        let state = self.callers.get(&share.caller);
        let own = state.map_or(0, |state| state.running);
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
        let queues = Queues {
            concurrent_max,
            queued_max,
            running: 0,
            waiting: 0,
            numbered: 0,
            callers: BTreeMap::new(),
            turns: VecDeque::new(),
        };
        Self { queues: Arc::new(Mutex::new(queues)) }
    }

    pub(super) fn load(&self) -> Load {
        let queues = lock(&self.queues);
        Load { running: queues.running, waiting: queues.waiting }
    }

    /// Waits for a permit, at most for the given time.
    ///
    /// # Errors
    /// `CAPACITY_EXCEEDED` when the queue is full or the wait times out, `CANCELLED`.
    ///
    /// # Cancellation
    /// May be dropped at any time: the execution is removed from the queue.
    pub(super) async fn acquire(
        &self,
        share: &Share,
        wait: Duration,
        cancel: &CancellationToken,
    ) -> Result<Permit, ErrorReport> {
        let (granted, permit) = oneshot::channel();
        let number = {
            let mut queues = lock(&self.queues);
            if queues.try_admit(share) {
                return Ok(Permit { queues: Arc::clone(&self.queues), caller: Arc::clone(&share.caller) });
            }
            queues.queue(share, granted)?
        };
        let _queued = QueueGuard { queues: &self.queues, caller: Arc::clone(&share.caller), number };
        tokio::select! {
            () = cancel.cancelled() => Err(cancelled()),
            permit = timeout(wait, permit) => match permit {
                Ok(Ok(permit)) => Ok(permit),
                _ => Err(lock(&self.queues).refused(share, "and none came free in time")),
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

    /// Queues executions in this order, and returns the order in which they get the one permit.
    async fn order(admission: &Arc<Admission>, waiting: &[&str]) -> Vec<String> {
        let cancel = CancellationToken::new();
        let first = admission.acquire(&share("first", 9, 9), SOON, &cancel).await.unwrap();
        let (admitted, mut order) = tokio::sync::mpsc::unbounded_channel();
        for (number, caller) in waiting.iter().enumerate() {
            let before = lock(&admission.queues).waiting;
            let (queue, admitted, caller) = (Arc::clone(admission), admitted.clone(), (*caller).to_owned());
            tokio::spawn(async move {
                let permit = queue.acquire(&share(&caller, 9, 9), SOON, &CancellationToken::new()).await.unwrap();
                admitted.send(format!("{caller}{number}")).unwrap();
                drop(permit);
            });
            while lock(&admission.queues).waiting == before {
                tokio::task::yield_now().await;
            }
        }
        drop((first, admitted));
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
        let queues = lock(&admission.queues);
        assert!(queues.callers.is_empty() && queues.turns.is_empty() && queues.running == 0 && queues.waiting == 0);
    }

    #[tokio::test]
    async fn a_caller_has_no_more_than_its_share() {
        let (admission, cancel) = (Admission::new(3, 20), CancellationToken::new());
        let small = share("small", 1, 1);
        let permit = admission.acquire(&small, SOON, &cancel).await.unwrap();
        let error = admission.acquire(&small, Duration::ZERO, &cancel).await.err().unwrap();
        assert_eq!(error.message, "1 executions of this caller are running, and none came free in time");
        let mut waiting = Box::pin(admission.acquire(&small, SOON, &cancel));
        assert!(futures::poll!(&mut waiting).is_pending());
        let error = admission.acquire(&small, SOON, &cancel).await.err().unwrap();
        assert_eq!(error.message, "1 executions of this caller are running, and the queue is full");
        assert_eq!(error.code, ErrorCode::CapacityExceeded);
        // Other callers are still admitted.
        drop(admission.acquire(&share("other", 9, 9), SOON, &cancel).await.unwrap());
        assert!(futures::poll!(&mut waiting).is_pending());
        drop(permit);
        drop(waiting.await.unwrap());
        assert!(lock(&admission.queues).callers.is_empty());
    }

    #[tokio::test]
    async fn a_place_that_is_granted_to_one_that_goes_is_passed_on() {
        let (admission, cancel) = (Admission::new(1, 20), CancellationToken::new());
        let permit = admission.acquire(&share("a", 9, 9), SOON, &cancel).await.unwrap();
        let (b, c) = (share("b", 9, 9), share("c", 9, 9));
        let mut dropped = Box::pin(admission.acquire(&b, SOON, &cancel));
        let mut waits = Box::pin(admission.acquire(&c, SOON, &cancel));
        assert!(futures::poll!(&mut dropped).is_pending() && futures::poll!(&mut waits).is_pending());
        drop(permit);
        // It was granted the permit, but never polled again.
        drop(dropped);
        drop(waits.await.unwrap());
        assert!(lock(&admission.queues).callers.is_empty());
    }

    #[tokio::test]
    async fn one_that_is_cancelled_or_gives_up_leaves_the_line() {
        let admission = Admission::new(1, 1);
        let (cancel, never) = (CancellationToken::new(), CancellationToken::new());
        let all = Share::default();
        let permit = admission.acquire(&all, SOON, &never).await.unwrap();
        let mut waiting = Box::pin(admission.acquire(&all, SOON, &cancel));
        assert!(futures::poll!(&mut waiting).is_pending());
        cancel.cancel();
        assert_eq!(waiting.await.err().unwrap().code, ErrorCode::Cancelled);
        let late = admission.acquire(&Share::default(), Duration::ZERO, &never).await.err().unwrap();
        assert_eq!(late.message, "1 executions are running, and none came free in time");
        assert_eq!(lock(&admission.queues).waiting, 0);
        drop(permit);
        drop(admission.acquire(&Share::default(), SOON, &never).await.unwrap());
    }
}
