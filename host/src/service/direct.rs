//! Executions without a script, which a surface keeps for its clients: one for each caller and session key. Each begins with
//! the first call and ends when no call has been made for a while; the browser stays with its keeper, as one of `reuse`.

use super::{caller::Caller, host::Service, parts::Execution};
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

/// The executions without a script of one surface. `T` is what the surface keeps with each, new with it.
pub struct DirectSessions<T> {
    service: Service,
    program: &'static str,
    seats: Arc<Seats<T>>,
}

/// By caller and key.
type Seats<T> = Mutex<HashMap<(String, String), Arc<tokio::sync::Mutex<Option<Arc<DirectSession<T>>>>>>>;

/// One of them.
pub struct DirectSession<T> {
    /// What the surface keeps with it.
    pub state: T,
    direct: Direct,
    usage: Mutex<Usage>,
}

struct Usage {
    calls: usize,
    last: Instant,
}

impl<T: Default + Send + Sync + 'static> DirectSessions<T> {
    /// None yet. `program` is what the audit knows them by.
    #[must_use]
    pub fn new(service: Service, program: &'static str) -> Self {
        Self { service, program, seats: Arc::default() }
    }

    /// The one of a caller and a key, begun if there is none. Opens no browser: the first call does.
    ///
    /// # Errors
    /// `POLICY_REFUSED` when the key is not for the caller, `CAPACITY_EXCEEDED` when there are too many, and as an
    /// execution that cannot begin.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub async fn begin(&self, caller: &Caller, key: &str) -> Result<Arc<DirectSession<T>>, ErrorReport> {
        let asked = self.service.direct_session(caller, key)?;
        let seat = {
            let mut seats = lock(&self.seats);
            // A seat that is locked is one where an execution begins.
            seats.retain(|_, seat| {
                Arc::strong_count(seat) > 1
                    || seat.try_lock().is_ok_and(|held| held.as_ref().is_some_and(|of| !of.direct.is_over()))
            });
            Arc::clone(seats.entry((caller.name.clone(), key.to_owned())).or_default())
        };
        let mut held = seat.lock().await;
        if let Some(session) = held.as_ref() {
            if session.touch() {
                return Ok(Arc::clone(session));
            }
            session.direct.ended().await;
        }
        *held = None;
        let (begun, place) = self.service.begin_direct(self.program, caller, asked).await?;
        let begun = Arc::new(begun);
        *held = Some(Arc::clone(&begun));
        tokio::spawn(Arc::clone(&begun).end_when_idle(place));
        Ok(begun)
    }

    /// The one of a caller and a key, if it goes on.
    pub async fn find(&self, caller: &Caller, key: &str) -> Option<Arc<DirectSession<T>>> {
        let seat = lock(&self.seats).get(&(caller.name.clone(), key.to_owned())).cloned()?;
        let held = seat.lock().await;
        held.as_ref().filter(|session| session.touch()).cloned()
    }

    /// Ends all, and waits until they are disposed of.
    ///
    /// # Cancellation
    /// May be dropped at any time: those that were not reached go on.
    pub async fn end_all(&self) {
        let seats: Vec<_> = lock(&self.seats).drain().map(|(_, seat)| seat).collect();
        let ends = seats.into_iter().map(|seat| async move {
            if let Some(session) = seat.lock().await.take() {
                session.end().await;
            }
        });
        futures::future::join_all(ends).await;
    }
}

impl<T> DirectSession<T> {
    /// The execution that it is.
    #[must_use]
    pub fn id(&self) -> &str {
        self.direct.id().as_str()
    }

    /// Calls a method of a namespace with one argument, as a script would. When the session is lost, this is the last call.
    ///
    /// # Errors
    /// What the method fails with; `CANCELLED` when the execution ends first.
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

    /// Keeps a file for the client, for as long as results of scripts are kept.
    ///
    /// # Errors
    /// `RESULT_TOO_LARGE` or `IO_ERROR`.
    pub async fn keep(&self, name: &'static str, content: Vec<u8>) -> Result<DataFile, ErrorReport> {
        self.direct.keep(name, content).await
    }

    /// Ends it, and waits until it is disposed of.
    ///
    /// # Cancellation
    /// May be dropped at any time; it ends all the same.
    pub async fn end(&self) {
        self.direct.end();
        self.direct.ended().await;
    }

    /// Counts as a use. `false` when it is over.
    fn touch(&self) -> bool {
        let mut usage = lock(&self.usage);
        usage.last = Instant::now();
        !self.direct.is_over()
    }

    fn using(&self) -> Using<'_> {
        lock(&self.usage).calls += 1;
        Using(&self.usage)
    }

    /// Has its place until it has ended.
    async fn end_when_idle(self: Arc<Self>, _place: OwnedSemaphorePermit) {
        let idle = Duration::from_millis(DIRECT_IDLE_MS);
        loop {
            let left = {
                let usage = lock(&self.usage);
                let left = if usage.calls > 0 { idle } else { idle.saturating_sub(usage.last.elapsed()) };
                if left.is_zero() {
                    // While the usage is locked: nobody is told that it goes on.
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

/// A call that runs.
struct Using<'a>(&'a Mutex<Usage>);

impl Drop for Using<'_> {
    fn drop(&mut self) {
        let mut usage = lock(self.0);
        usage.calls -= 1;
        usage.last = Instant::now();
    }
}

impl Service {
    /// What clients of contracts over HTTP did.
    ///
    /// # Errors
    /// When the state folder cannot be used.
    pub async fn history(&self) -> Result<History, ErrorReport> {
        Ok(self.administration().await?.history.clone())
    }

    /// Refuses a session key that is not for a caller.
    ///
    /// # Errors
    /// `POLICY_REFUSED`, or `INVALID_ARGUMENT` where it is no key.
    pub fn may_use(&self, caller: &Caller, key: &str) -> Result<(), ErrorReport> {
        self.direct_session(caller, key).map(drop)
    }

    /// Whether a browser of this key lives.
    ///
    /// # Errors
    /// When the store cannot be opened or read.
    pub async fn has_browser(&self, key: &str) -> Result<bool, ErrorReport> {
        let sessions = self.sessions_list(false).await?.sessions;
        Ok(sessions.iter().any(|session| session.key.as_deref() == Some(key)))
    }

    /// Ends the browser of a key, even while an execution uses it. What is kept of the key stays. `false` if there was none.
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

    /// The session of a caller's execution without a script.
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
        let place = Arc::clone(&self.inner.direct_places).try_acquire_owned().map_err(|_| {
            let message = format!("{DIRECT_EXECUTIONS_MAX} clients have a browser open through this host");
            ErrorReport::new(ErrorCode::CapacityExceeded, message)
                .with_hint("Stop one of them, or wait until one is idle.")
        })?;
        let Execution { executor, .. } = self.execution(&|_| {}).await?;
        let direct = executor.direct(DirectRequest { program, session, share: caller.share() }).await?;
        let usage = Mutex::new(Usage { calls: 0, last: Instant::now() });
        Ok((DirectSession { state: T::default(), direct, usage }, place))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
