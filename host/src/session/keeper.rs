//! The keeper: a small process that starts one browser, and ends it when no execution may use it any more.
//!
//! A keeper has no persistent state: it polls the store for what it needs. It outlives the host that started it. If the
//! keeper dies, its browser dies as well (the kernel kills the browser, and the debugging pipe closes), and the
//! profile's ledger tells the next start what is left to remove.

use super::{
    browsers::{LaunchOrder, ORDER_BYTES_MAX, Started},
    clock::MachineClock,
    keeper_proxy::KeeperProxy,
    keeper_socket::KeeperSocket,
    liveness::{ProcessLock, ProcessLocks},
    profile_of_key,
    rules::{KeeperView, ends_without_store},
    store::{BrowserFacts, EndReason, SqliteStore, Store, Watch},
};
use crate::state_dir::StateDir;
use codemode_chromium::{Browser, LaunchOptions, ProcessId};
use codemode_spec::{ErrorCode, ErrorReport};
use std::{
    fs,
    io::{self, Write as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader, Stdin},
    signal::unix::{Signal, SignalKind, signal},
};

/// How long a browser may take to start: less than the TTL of a lease.
const START_MAX: Duration = Duration::from_secs(20);
/// How long a browser may take to flush its data and quit.
const QUIT_MAX: Duration = Duration::from_secs(6);
/// How often the keeper polls the store and its browser.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Runs one browser until it has ended. Reads a [`LaunchOrder`] from standard input, and writes one line to standard
/// output that tells whether the browser started.
///
/// # Errors
/// When the browser could not be ended: the next sweep tries again.
pub async fn keep(state_dir: StateDir) -> Result<(), ErrorReport> {
    let signals = Signals::listen()?;
    let mut stdin = BufReader::new(tokio::io::stdin());
    let mut keeper = match Keeper::start(&state_dir, &mut stdin).await {
        Ok(keeper) => keeper,
        Err(report) => {
            reply(&Started::Error(Box::new(report)));
            return Ok(());
        }
    };
    reply(&Started::Browser(keeper.facts()));
    let reason = keeper.watch(stdin, signals).await?;
    keeper.end(reason).await
}

fn reply(started: &Started) {
    let mut line = serde_json::to_string(started).unwrap_or_default();
    line.push('\n');
    // The host may have exited already.
    let _ = io::stdout().write_all(line.as_bytes()).and_then(|()| io::stdout().flush());
}

/// The signals that a keeper handles. None of them ends the keeper.
struct Signals {
    /// Makes the keeper poll the store now.
    poll_now: Signal,
    /// The signals of the host's terminal, which are not meant for a keeper.
    _ignored: [Signal; 2],
}

impl Signals {
    fn listen() -> Result<Self, ErrorReport> {
        let listen = |kind| signal(kind).map_err(|error| ErrorReport::new(ErrorCode::HostFault, error.to_string()));
        let _ignored = [listen(SignalKind::hangup())?, listen(SignalKind::interrupt())?];
        Ok(Self { poll_now: listen(SignalKind::terminate())?, _ignored })
    }
}

struct Keeper {
    session: String,
    browser: Browser,
    program: PathBuf,
    proxy: KeeperProxy,
    /// `None` once the keeper is about to end the browser.
    socket: Option<KeeperSocket>,
    store: Arc<dyn Store>,
    state_dir: StateDir,
    /// Device and inode of the store's file: once that file is removed or replaced, no host can reach this keeper any
    /// more.
    store_file: Option<(u64, u64)>,
    ttl: Duration,
    /// Proves to other processes that this keeper is alive.
    _alive: ProcessLock,
}

impl Keeper {
    async fn start(state_dir: &StateDir, stdin: &mut BufReader<Stdin>) -> Result<Self, ErrorReport> {
        let mut line = String::new();
        let wrong = |error: &dyn std::fmt::Display| {
            ErrorReport::new(ErrorCode::InvalidArgument, format!("the keeper was not told what to start: {error}"))
        };
        stdin.take(ORDER_BYTES_MAX).read_line(&mut line).await.map_err(|error| wrong(&error))?;
        let order: LaunchOrder = serde_json::from_str(&line).map_err(|error| wrong(&error))?;
        let locks = ProcessLocks::open(state_dir.hosts())?;
        let alive = locks.enter(&order.session)?;
        let store: Arc<dyn Store> =
            Arc::new(SqliteStore::open(&state_dir.store(), Arc::new(MachineClock), Arc::new(locks))?);
        // The execution may have been cancelled while this process started.
        if let Watch::End(reason) = store.session_watch(&order.session).await? {
            return Err(no_longer_wanted(reason));
        }
        let program = match order.executable {
            Some(executable) => executable,
            None => codemode_chromium::find(None)?.path,
        };
        let mut proxy = KeeperProxy::start(order.network).await?;
        let launched = Browser::launch(LaunchOptions {
            executable: program.clone(),
            profiles_dir: state_dir.profiles(),
            name: order.profile,
            downloads_dir: Some(order.downloads_dir),
            keep_profile: order.profile_kept,
            bound_to_thread: true,
            headless: order.headless,
            confinement: order.confinement,
            listens: false,
            proxy: Some(proxy.address()),
            start_timeout: START_MAX,
        });
        let browser = tokio::select! {
            launched = launched => launched?,
            reason = wait_for_end_request(&*store, &order.session) => {
                // Dropping the launch future has removed everything of the browser.
                store.session_ended(&order.session, reason).await?;
                return Err(no_longer_wanted(reason));
            }
        };
        proxy.serve(browser.pid(), browser.relay().clone());
        let ttl = store.session(&order.session).await?.map_or(0, |row| row.ttl_ms);
        let socket =
            KeeperSocket::listen(&state_dir.sockets(), &order.session, browser.relay().clone(), Arc::clone(&store))?;
        let keeper = Self {
            session: order.session,
            browser,
            program,
            proxy,
            socket: Some(socket),
            store,
            store_file: file_id(&state_dir.store()),
            state_dir: state_dir.clone(),
            ttl: Duration::from_millis(ttl),
            _alive: alive,
        };
        if keeper.store.session_started(&keeper.session, &keeper.facts()).await? {
            return Ok(keeper);
        }
        let reason = match keeper.store.session_watch(&keeper.session).await? {
            Watch::End(reason) => reason,
            Watch::Keep => EndReason::Abandoned,
        };
        keeper.end(reason).await?;
        Err(no_longer_wanted(reason))
    }

    fn facts(&self) -> BrowserFacts {
        let ProcessId { pid, start_ticks } = ProcessId::own();
        BrowserFacts {
            program: self.program.clone(),
            shortfalls: self.browser.shortfalls().to_vec(),
            browser_pid: self.browser.pid(),
            keeper_pid: pid,
            keeper_started: start_ticks,
        }
    }

    /// Waits until the browser has to end, and returns the reason.
    async fn watch(&mut self, stdin: BufReader<Stdin>, mut signals: Signals) -> Result<EndReason, ErrorReport> {
        let mut host = Some(stdin);
        let mut unreadable_since = None;
        loop {
            let view = KeeperView {
                browser_has_ended: self.browser.has_ended(),
                has_its_store: file_id(&self.state_dir.store()) == self.store_file,
                store_unreadable_ms: unreadable_since.map_or(0, |since: Instant| as_ms(since.elapsed())),
            };
            if let Some(reason) = ends_without_store(view, as_ms(self.ttl)) {
                return Ok(reason);
            }
            if let Some(socket) = &self.socket {
                socket.disconnect_stale().await;
            }
            match self.store.session_watch(&self.session).await {
                Ok(Watch::Keep) => unreadable_since = None,
                Ok(Watch::End(reason)) => return Ok(reason),
                Err(_) => {
                    unreadable_since.get_or_insert_with(Instant::now);
                }
            }
            // The store may fail for a while: new rules and refusals are handled by a later iteration.
            let _ = self.proxy.apply_rules(&*self.store, &self.session).await;
            tokio::select! {
                () = tokio::time::sleep(POLL_INTERVAL) => {}
                () = self.proxy.refused() => {}
                _ = signals.poll_now.recv() => {}
                () = host_closed(&mut host) => host = None,
            }
        }
    }

    async fn end(mut self, reason: EndReason) -> Result<(), ErrorReport> {
        // Before the browser ends, so that no client connects to it any more. The browser ends even if the store fails.
        let _ = self.store.session_closing(&self.session, reason, None).await;
        self.socket = None;
        let row = self.store.session(&self.session).await.ok().flatten();
        let is_shared = row.as_ref().is_some_and(|row| row.key.is_some());
        if is_shared && reason == EndReason::Idle {
            self.browser.quit(QUIT_MAX).await;
        }
        // If a script promoted the session, its profile becomes the key's profile. No other browser of the key starts
        // before this session has ended.
        let moved = row.filter(|_| !reason.forgets()).and_then(|row| Some((row.profile, profile_of_key(&row.key?))));
        if let Some((profile, of_key)) = moved
            && profile != of_key
        {
            self.browser.keep_profile_as(&of_key);
        }
        self.browser.close().await?;
        let _ = self.proxy.record_refusals(&*self.store, &self.session).await;
        self.store.session_ended(&self.session, reason).await?;
        Ok(())
    }
}

/// Waits until the store says that the browser of a session that is being started has to end.
async fn wait_for_end_request(store: &dyn Store, session: &str) -> EndReason {
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        if let Ok(Watch::End(reason)) = store.session_watch(session).await {
            return reason;
        }
    }
}

fn no_longer_wanted(reason: EndReason) -> ErrorReport {
    ErrorReport::new(ErrorCode::BrowserLaunchFailed, format!("the browser is not wanted any more: {reason}"))
}

/// Waits until the host closes its end of the pipe, or dies.
async fn host_closed(host: &mut Option<BufReader<Stdin>>) {
    match host {
        Some(pipe) => {
            let mut rest = [0; 64];
            while let Ok(1..) = pipe.read(&mut rest).await {}
        }
        None => std::future::pending().await,
    }
}

fn as_ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn file_id(path: &Path) -> Option<(u64, u64)> {
    fs::symlink_metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}
