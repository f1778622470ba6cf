//! Popups, before they begin: their dialogs, and what they get of the page that opened them.
//!
//! A page and the pages that it opened may share a process, which stands still as a whole while one of them shows a
//! dialog. Chromium tells of a dialog only those who had asked before it opened, and a popup can open one at once. So a
//! connection of its own, which scripts do not see, has every popup of our browsers wait until it is asked for its
//! dialogs, and until it was greeted. Tabs of an external browser are not made to wait: what a popup does in its first moments
//! may be missed.

use crate::{dialog::Dialog, route::Route, targets::Targets};
use codemode_chromium::{
    CdpError, Command, Connection, Event,
    cdp::{
        browser_protocol::{
            page::EnableParams,
            target::{DetachFromTargetParams, FilterEntry, SetAutoAttachParams, TargetFilter},
        },
        js_protocol::runtime::RunIfWaitingForDebuggerParams,
    },
};
use codemode_spec::{ErrorReport, limits::POPUP_RING_BYTES_MAX};
use serde_json::Value as Json;
use std::{
    collections::HashMap,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};
use tokio_util::task::AbortOnDropHandle;

/// How long a popup may take to say that it will report its dialogs.
const WATCH_MAX: Duration = Duration::from_secs(2);
/// Events looked at under one lock of the log.
const EVENTS_AT_ONCE: usize = 100;

/// Gives a popup what it must have before it begins, by its target.
pub type Greeting = Arc<dyn Fn(String) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// Watches the popups of a browser.
pub(crate) struct Popups {
    watched: Arc<Watched>,
    _follower: AbortOnDropHandle<()>,
}

struct Watched {
    connection: Connection,
    targets: Arc<Targets>,
    known: Mutex<Known>,
    greeting: OnceLock<Greeting>,
}

#[derive(Default)]
struct Known {
    read_to: u64,
    /// The target of each session.
    sessions: HashMap<String, String>,
}

impl Popups {
    /// Watches from now on. `waiting`: new tabs wait until they are watched.
    ///
    /// # Errors
    /// When the browser cannot be connected to, or does not answer.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub(crate) async fn watch(
        route: &Route,
        targets: &Arc<Targets>,
        waiting: bool,
        timeout: Duration,
    ) -> Result<Self, ErrorReport> {
        let connection = route.connect(timeout).await?;
        connection.events().keep(POPUP_RING_BYTES_MAX);
        let targets = Arc::clone(targets);
        let watched = Watched { connection, targets, known: Mutex::default(), greeting: OnceLock::new() };
        let watched = Arc::new(watched);
        let follower = {
            let watched = Arc::clone(&watched);
            AbortOnDropHandle::new(tokio::spawn(async move { watched.follow().await }))
        };
        let pages = TargetFilter::new(vec![FilterEntry::builder().r#type("page").build()]);
        let mut command = SetAutoAttachParams::new(true, waiting);
        (command.flatten, command.filter) = (Some(true), Some(pages));
        watched.connection.execute(&command, None, timeout).await?;
        Ok(Self { watched, _follower: follower })
    }

    /// Takes in what the browser has said so far.
    pub(crate) fn catch_up(&self) {
        self.watched.catch_up();
    }

    /// Has each popup greeted from now on; the first greeting stays.
    pub(crate) fn greet(&self, greeting: Greeting) {
        drop(self.watched.greeting.set(greeting));
    }

    /// Answers the dialog of a popup that was open before its script attached to it; `None` if that is no popup.
    pub(crate) async fn answer(&self, target: &str, params: Json, timeout: Duration) -> Option<Result<Json, CdpError>> {
        let session = {
            let known = self.watched.known();
            known.sessions.iter().find(|(_, of)| *of == target).map(|(session, _)| session.clone())?
        };
        let method = "Page.handleJavaScriptDialog";
        let answer = self.watched.connection.call(Command { method, params, session: Some(&session), timeout }).await;
        self.catch_up();
        Some(answer)
    }
}

impl Watched {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn catch_up(&self) {
        let mut known = self.known();
        let log = self.connection.events();
        while known.read_to < log.cursor() {
            let batch = log.since(known.read_to, EVENTS_AT_ONCE, &is_relevant);
            for event in &batch.events {
                known.apply(event, &self.targets);
            }
            known.read_to = batch.next;
        }
    }

    /// Greets each new tab, until the connection is closed.
    async fn follow(&self) {
        let mut from = 0;
        while let Some(event) = self.connection.events().wait(from, &is_relevant).await {
            from = event.seq + 1;
            if event.method == "Target.attachedToTarget" {
                // A greeting finds the popup among the targets.
                self.catch_up();
                self.receive(&event.params);
            }
            self.catch_up();
        }
    }

    /// Commands of one session are carried out in order; none of these is waited for here, or one tab that does not
    /// answer would keep others waiting.
    fn receive(&self, params: &Json) {
        let session = params["sessionId"].as_str().unwrap_or_default().to_owned();
        let is_popup = params["targetInfo"].get("openerId").is_some();
        let target = params["targetInfo"]["targetId"].as_str().unwrap_or_default().to_owned();
        let greeting = self.greeting.get().filter(|_| is_popup).cloned();
        let connection = self.connection.clone();
        tokio::spawn(async move {
            let (enable, run) = (EnableParams::default(), RunIfWaitingForDebuggerParams::default());
            let ask = async {
                if is_popup {
                    let _ = connection.execute(&enable, Some(&session), WATCH_MAX).await;
                }
            };
            let go_on = async {
                if let Some(greeting) = greeting {
                    let _ = tokio::time::timeout(WATCH_MAX, greeting(target)).await;
                }
                connection.execute(&run, Some(&session), WATCH_MAX).await
            };
            let _ = tokio::join!(biased; ask, go_on);
            if !is_popup {
                let detach = DetachFromTargetParams::builder().session_id(session.clone()).build();
                let _ = connection.execute(&detach, None, WATCH_MAX).await;
            }
        });
    }
}

impl Known {
    fn apply(&mut self, event: &Event, targets: &Targets) {
        let params = &event.params;
        let text = |key: &str| params[key].as_str().unwrap_or_default();
        let target = event.session.as_ref().and_then(|session| self.sessions.get(session));
        match event.method.as_str() {
            "Target.attachedToTarget" => {
                let info = &params["targetInfo"];
                // Its dialog may be told of before the other connection has told of the popup.
                targets.told_by_popups(info);
                let target = info["targetId"].as_str().unwrap_or_default();
                self.sessions.insert(text("sessionId").to_owned(), target.to_owned());
            }
            "Target.detachedFromTarget" => drop(self.sessions.remove(text("sessionId"))),
            "Page.javascriptDialogOpening" => {
                if let Some(target) = target {
                    targets.dialog_of_popup(target, Some(Dialog::from_event(params)));
                }
            }
            "Page.javascriptDialogClosed" => {
                if let Some(target) = target {
                    targets.dialog_of_popup(target, None);
                }
            }
            _ => {}
        }
    }
}

fn is_relevant(event: &Event) -> bool {
    matches!(
        event.method.as_str(),
        "Target.attachedToTarget"
            | "Target.detachedFromTarget"
            | "Page.javascriptDialogOpening"
            | "Page.javascriptDialogClosed"
    )
}
