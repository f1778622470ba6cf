//! Reading the messages of a connection: by the task of the connection, or by a thread that waits for a reply.
//!
//! The task reads unless a thread has taken over. A thread that waits for a reply is woken by the reply itself when it
//! reads, instead of by the worker that runs the task.

use crate::{
    broken::Broken,
    transport::{Reader, Text},
};
use futures::{future::BoxFuture, task::AtomicWaker};
use std::{
    future::poll_fn,
    io,
    os::fd::{AsFd as _, BorrowedFd},
    panic::{self, AssertUnwindSafe},
    sync::{
        Mutex, MutexGuard, TryLockError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Waker, ready},
};

/// The reading side of a connection.
pub(crate) struct Reading {
    /// Locked by the one that reads, and never waited for. `None` once reading has ended.
    state: Mutex<Option<State>>,
    task: AtomicWaker,
    /// Whether the task found the state locked and must be woken by the one that holds it.
    task_waits: AtomicBool,
    ended: AtomicBool,
}

struct State {
    reader: Reader,
    /// Handles a message.
    handler: Box<dyn Fn(Text) -> BoxFuture<'static, ()> + Send>,
    /// The handling of the last message, until it is complete: it may wait for memory.
    handling: Option<BoxFuture<'static, ()>>,
    /// Why nothing more can be read.
    broken: Option<Broken>,
    /// The task's waker; `None` before the task has started.
    task: Option<Waker>,
}

impl Reading {
    pub(crate) fn new(reader: Reader, handler: impl Fn(Text) -> BoxFuture<'static, ()> + Send + 'static) -> Self {
        let state = State { reader, handler: Box::new(handler), handling: None, broken: None, task: None };
        Self {
            state: Mutex::new(Some(state)),
            task: AtomicWaker::new(),
            task_waits: AtomicBool::new(false),
            ended: AtomicBool::new(false),
        }
    }

    /// Reads until no further message can be read or handled, and returns why; `None` if reading was ended on this side. Run by
    /// the connection's task alone.
    pub(crate) async fn run(&self) -> Option<Broken> {
        poll_fn(|context| {
            self.task.register(context.waker());
            let slot = self.try_lock().or_else(|| {
                self.task_waits.store(true, Ordering::SeqCst);
                // Again: it may have been unlocked just before.
                self.try_lock()
            });
            let Some(mut slot) = slot else { return Poll::Pending };
            let Some(state) = slot.as_mut() else { return Poll::Ready(None) };
            state.task = Some(context.waker().clone());
            ready!(state.poll(context, &|| false));
            Poll::Ready(slot.take().and_then(|state| state.broken))
        })
        .await
    }

    /// See [`crate::Connection::read_on_this_thread`].
    pub(crate) fn run_on_this_thread(
        &self,
        is_done: &dyn Fn() -> bool,
        wait: &dyn Fn(BorrowedFd<'_>) -> io::Result<()>,
    ) -> bool {
        let run = |slot: &mut Option<State>| slot.as_mut().is_some_and(|state| state.run_on_this_thread(is_done, wait));
        let has_read = self.locked(run).unwrap_or(false);
        if self.ended.load(Ordering::SeqCst) {
            self.end();
        }
        has_read
    }

    /// Ends reading. A thread that is reading ends it when it is done.
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::SeqCst);
        self.locked(|slot| drop(slot.take()));
    }

    /// Runs a function on the state, unless it is locked. The task is woken if it found the state locked meanwhile.
    fn locked<T>(&self, function: impl FnOnce(&mut Option<State>) -> T) -> Option<T> {
        let mut slot = self.try_lock()?;
        let result = function(&mut slot);
        drop(slot);
        if self.task_waits.swap(false, Ordering::SeqCst) {
            self.task.wake();
        }
        Some(result)
    }

    fn try_lock(&self) -> Option<MutexGuard<'_, Option<State>>> {
        match self.state.try_lock() {
            Ok(slot) => Some(slot),
            Err(TryLockError::WouldBlock) => None,
            // A caller's function panicked: the state is used as it was left.
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        }
    }
}

impl State {
    /// Reads and handles messages until `is_done`, or until no further message can be read.
    fn poll(&mut self, context: &mut Context<'_>, is_done: &dyn Fn() -> bool) -> Poll<()> {
        loop {
            if let Some(handling) = &mut self.handling {
                let handled = panic::catch_unwind(AssertUnwindSafe(|| handling.as_mut().poll(context)));
                if let Ok(handled) = handled {
                    ready!(handled);
                } else {
                    self.broken = Some(Broken::because(&"handling a message of the browser panicked"));
                }
                self.handling = None;
            }
            if self.broken.is_some() || is_done() {
                return Poll::Ready(());
            }
            ready!(self.poll_message(context));
        }
    }

    /// Reads one message, whose handling then begins with the next poll, or a frame that carries none.
    fn poll_message(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match ready!(self.reader.poll_next(context)) {
            Ok(text) => self.handling = text.map(&self.handler),
            Err(broken) => self.broken = Some(broken),
        }
        Poll::Ready(())
    }

    fn run_on_this_thread(
        &mut self,
        is_done: &dyn Fn() -> bool,
        wait: &dyn Fn(BorrowedFd<'_>) -> io::Result<()>,
    ) -> bool {
        let (Some(task), None, None) = (self.task.clone(), &self.handling, &self.broken) else { return false };
        let descriptor = match self.reader.take_over() {
            Ok(descriptor) => descriptor,
            Err(error) => {
                self.broken = Some(Broken::because(&error));
                task.wake();
                return false;
            }
        };
        let mut context = Context::from_waker(Waker::noop());
        // A message whose handling waits for memory is left to the task.
        while self.poll(&mut context, is_done).is_pending() && self.handling.is_none() {
            if wait(descriptor.as_fd()).is_err() || is_done() {
                break;
            }
        }
        drop(descriptor);
        if let Err(error) = self.reader.give_back() {
            self.broken.get_or_insert(Broken::because(&error));
        }
        // Only if nothing is left to do, the task is not woken: this poll registers it for the next message.
        let has_more = self.handling.is_some() || self.broken.is_some();
        if has_more || self.poll_message(&mut Context::from_waker(&task)).is_ready() {
            task.wake();
        }
        true
    }
}

#[cfg(test)]
mod tests;
