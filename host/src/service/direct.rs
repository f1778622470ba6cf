//! Executions without a script, by which a surface calls methods of namespaces for its clients: one for each caller and
//! session key. Each starts with the first call and ends after some idle time; its browser stays with its keeper, as in
//! the mode `reuse`.

use super::{caller::Caller, host::Service, subsystems::Execution};
use crate::{
    exec::{Direct, DirectRequest},
    history::History,
};
use codemode_spec::{
    ErrorCode, ErrorReport, Value,
    envelope::DataFile,
    limits::{DIRECT_EXECUTIONS_MAX, DIRECT_IDLE_MS},
    session::{SessionMode, SessionRequest, checked_key},
};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    sync::OwnedSemaphorePermit,
    time::{Instant, sleep},
};

/// The executions without a script of one surface. `T` is the surface's state for each of them.
pub struct DirectSessions<T> {
    service: Service,
    program: &'static str,
    slots: Arc<Slots<T>>,
}

/// A slot for each caller and key.
type Slots<T> = Mutex<HashMap<(String, String), Arc<tokio::sync::Mutex<Option<Arc<DirectSession<T>>>>>>>;

/// An execution without a script.
pub struct DirectSession<T> {
    /// The surface's state for this execution.
    pub state: T,
    direct: Direct,
    usage: Mutex<Usage>,
}

struct Usage {
    calls: usize,
    last: Instant,
}

impl<T: Default + Send + Sync + 'static> DirectSessions<T> {
    /// An empty set. `program` is the name of these executions in the audit.
    #[must_use]
    pub fn new(service: Service, program: &'static str) -> Self {
        Self { service, program, slots: Arc::default() }
    }

    /// The execution of a caller and a key, started if there is none. Opens no browser: the first call does.
    ///
    /// # Errors
    /// `POLICY_REFUSED` when the caller may not use the key, `CAPACITY_EXCEEDED` when there are too many such
    /// executions, and the errors of an execution that cannot start.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub async fn begin(&self, caller: &Caller, key: &str) -> Result<Arc<DirectSession<T>>, ErrorReport> {
        let requested = self.service.direct_session(caller, key)?;
        let slot = {
            let mut slots = lock(&self.slots);
            // A locked slot is in use: an execution starts there.
            slots.retain(|_, slot| {
                Arc::strong_count(slot) > 1
                    || slot.try_lock().is_ok_and(|held| held.as_ref().is_some_and(|of| !of.direct.is_over()))
            });
            Arc::clone(slots.entry((caller.name.clone(), key.to_owned())).or_default())
        };
        let mut held = slot.lock().await;
        if let Some(session) = held.as_ref() {
            if session.touch() {
                return Ok(Arc::clone(session));
            }
            session.direct.ended().await;
        }
        *held = None;
        let (begun, permit) = self.service.begin_direct(self.program, caller, requested).await?;
        let begun = Arc::new(begun);
        *held = Some(Arc::clone(&begun));
        tokio::spawn(Arc::clone(&begun).end_when_idle(permit));
        Ok(begun)
    }

    /// The execution of a caller and a key, if it has not ended.
    pub async fn find(&self, caller: &Caller, key: &str) -> Option<Arc<DirectSession<T>>> {
        let slot = lock(&self.slots).get(&(caller.name.clone(), key.to_owned())).cloned()?;
        let held = slot.lock().await;
        held.as_ref().filter(|session| session.touch()).cloned()
    }

    /// Ends all executions, and waits until they are disposed of.
    ///
    /// # Cancellation
    /// May be dropped at any time: executions that were not reached continue.
    pub async fn end_all(&self) {
        let slots: Vec<_> = lock(&self.slots).drain().map(|(_, slot)| slot).collect();
        let ends = slots.into_iter().map(|slot| async move {
            if let Some(session) = slot.lock().await.take() {
                session.end().await;
            }
        });
        futures::future::join_all(ends).await;
    }
}

impl<T> DirectSession<T> {
    /// The id of the execution.
    #[must_use]
    pub fn id(&self) -> &str {
        self.direct.id().as_str()
    }

    /// Calls a method of a namespace with one argument, as a script would. If the session is lost, the execution ends.
    ///
    /// # Errors
    /// The error of the method; `CANCELLED` when the execution ends first.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub async fn call(
        &self,
        namespace: &str,
        method: &str,
        argument: impl Into<Value>,
        time: Duration,
    ) -> Result<Value, ErrorReport> {
        let _used = self.using();
        let result = self.direct.call(namespace, method, vec![argument.into()], Instant::now() + time).await;
        if let Err(error) = &result
            && matches!(error.code, ErrorCode::SessionLost | ErrorCode::SessionExpired | ErrorCode::BrowserGone)
        {
            self.direct.end();
        }
        result
    }

    /// Stores a file for the client, with the same retention as results of scripts.
    ///
    /// # Errors
    /// `RESULT_TOO_LARGE` or `IO_ERROR`.
    pub async fn keep(&self, name: &'static str, content: Vec<u8>) -> Result<DataFile, ErrorReport> {
        self.direct.keep(name, content).await
    }

    /// Ends the execution, and waits until it is disposed of.
    ///
    /// # Cancellation
    /// May be dropped at any time; the execution ends all the same.
    pub async fn end(&self) {
        self.direct.end();
        self.direct.ended().await;
    }

    /// Resets the idle timer. `false` if the execution has ended.
    fn touch(&self) -> bool {
        let mut usage = lock(&self.usage);
        usage.last = Instant::now();
        !self.direct.is_over()
    }

    fn using(&self) -> Using<'_> {
        lock(&self.usage).calls += 1;
        Using(&self.usage)
    }

    /// Ends the execution when it is idle. Holds its permit until it has ended.
    async fn end_when_idle(self: Arc<Self>, _permit: OwnedSemaphorePermit) {
        let idle = Duration::from_millis(DIRECT_IDLE_MS);
        loop {
            let left = {
                let usage = lock(&self.usage);
                let left = if usage.calls > 0 { idle } else { idle.saturating_sub(usage.last.elapsed()) };
                if left.is_zero() {
                    // While the usage is locked, so that no concurrent `touch` reports the execution as running.
                    self.direct.end();
                }
                left
            };
            tokio::select! {
                () = sleep(left), if !left.is_zero() => {}
                () = self.direct.ended() => return,
            }
        }
    }
}

/// Counts a running call until it is dropped.
struct Using<'a>(&'a Mutex<Usage>);

impl Drop for Using<'_> {
    fn drop(&mut self) {
        let mut usage = lock(self.0);
        usage.calls -= 1;
        usage.last = Instant::now();
    }
}

impl Service {
    /// The history of the clients of HTTP contracts.
    ///
    /// # Errors
    /// When the state folder cannot be used.
    pub async fn history(&self) -> Result<History, ErrorReport> {
        Ok(self.administration().await?.history.clone())
    }

    /// Checks that a caller may use a session key.
    ///
    /// # Errors
    /// `POLICY_REFUSED`, or `INVALID_ARGUMENT` for an invalid key.
    pub fn may_use(&self, caller: &Caller, key: &str) -> Result<(), ErrorReport> {
        self.direct_session(caller, key).map(drop)
    }

    /// Whether this key has a browser that has not ended.
    ///
    /// # Errors
    /// When the store cannot be opened or read.
    pub async fn has_browser(&self, key: &str) -> Result<bool, ErrorReport> {
        let sessions = self.sessions_list(false).await?.sessions;
        Ok(sessions.iter().any(|session| session.key.as_deref() == Some(key)))
    }

    /// Ends the browser of a key, even while an execution uses it. The profile and the cookies of the key stay. `false`
    /// if the key had no browser.
    ///
    /// # Errors
    /// When the store cannot be opened or read, or the browser cannot be ended.
    pub async fn stop_browser(&self, key: &str) -> Result<bool, ErrorReport> {
        if !self.has_browser(key).await? {
            return Ok(false);
        }
        let sessions = &self.administration().await?.sessions;
        sessions.stop(&sessions.find(key).await?).await.map(|()| true)
    }

    /// The session request of an execution without a script.
    fn direct_session(&self, caller: &Caller, key: &str) -> Result<SessionRequest, ErrorReport> {
        if self.settings().is_external() {
            return self.session(caller, SessionRequest::default());
        }
        let key = checked_key(key).map_err(|fault| ErrorReport::new(ErrorCode::InvalidArgument, fault))?;
        self.session(caller, SessionRequest { mode: SessionMode::Reuse, key: Some(key), ..SessionRequest::default() })
    }

    async fn begin_direct<T: Default>(
        &self,
        program: &'static str,
        caller: &Caller,
        session: SessionRequest,
    ) -> Result<(DirectSession<T>, OwnedSemaphorePermit), ErrorReport> {
        let permit = Arc::clone(&self.inner.direct_permits).try_acquire_owned().map_err(|_| {
            let message = format!("{DIRECT_EXECUTIONS_MAX} clients have a browser open through this host");
            ErrorReport::new(ErrorCode::CapacityExceeded, message)
                .with_hint("Stop one of them, or wait until one is idle.")
        })?;
        let Execution { executor, .. } = self.execution(&|_| {}).await?;
        let direct = executor.direct(DirectRequest { program, session, share: caller.share() }).await?;
        let usage = Mutex::new(Usage { calls: 0, last: Instant::now() });
        Ok((DirectSession { state: T::default(), direct, usage }, permit))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
