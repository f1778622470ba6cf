//! The enabling commands that pages were sent, which are also sent to their out-of-process frames: existing and future
//! ones.
//!
//! A frame is sent the commands as soon as it has a URL, and at the latest before a verb acts in it. Events from its first
//! moments may be missed.

use crate::background::send_in_background;
use codemode_page::{ConnectedBrowser, ExecutionBrowser};
use codemode_spec::limits::PAGE_STATES_MAX;
use serde_json::Value as Json;
use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

/// The nesting depth to which frames are followed.
const DEPTH_MAX: usize = 32;

/// The enabling commands of all pages.
#[derive(Default)]
pub(crate) struct PageCommands {
    sent: Arc<Sent>,
    following: Mutex<Option<(Weak<ConnectedBrowser>, AbortOnDropHandle<()>)>>,
}

/// The commands that pages and their frames were sent.
#[derive(Default)]
struct Sent {
    pages: Mutex<HashMap<String, Commands>>,
    frames: Mutex<HashMap<String, FrameCommands>>,
}

/// The number of the last command of each method that a frame was sent. Locked while the frame is sent commands.
type FrameCommands = Arc<tokio::sync::Mutex<HashMap<&'static str, u64>>>;

/// The last command of each method that a page was sent.
type Commands = BTreeMap<&'static str, SentCommand>;

#[derive(Clone)]
struct SentCommand {
    params: Json,
    /// Numbers the commands of the page, so that none is sent to a frame twice.
    number: u64,
}

/// The page that a target is or belongs to, if it exists.
pub(crate) fn page_of_target(browser: &ConnectedBrowser, target: &str) -> Option<String> {
    let mut target = browser.targets.target(target)?;
    for _ in 0..DEPTH_MAX {
        if target.kind == "page" {
            return Some(target.id);
        }
        let around = target.within.as_ref().or(target.parent.as_ref())?;
        target = browser.targets.target(around)?;
    }
    None
}

/// The out-of-process frames of a page.
pub(crate) fn frames_of(browser: &ConnectedBrowser, page: &str) -> Vec<String> {
    let frames = browser.targets.visible().into_iter().filter(|target| target.kind == "iframe").map(|frame| frame.id);
    frames.filter(|frame| page_of_target(browser, frame).as_deref() == Some(page)).collect()
}

impl PageCommands {
    /// Sends an out-of-process frame those commands of its page that it was not sent yet, and waits until it has
    /// answered.
    ///
    /// # Cancellation
    /// May be dropped at any time: the commands are sent all the same.
    pub(crate) async fn send_to_frame(
        &self,
        browser: &Arc<ExecutionBrowser>,
        connected: &Arc<ConnectedBrowser>,
        frame: &str,
    ) {
        let sending = Arc::clone(&self.sent).send_to(frame.to_owned(), Arc::clone(browser), Arc::clone(connected));
        let _ = tokio::spawn(sending).await;
    }

    pub(crate) fn has(&self, page: &str, method: &str) -> bool {
        lock(&self.sent.pages).get(page).is_some_and(|commands| commands.contains_key(method))
    }

    /// Records a command that a page was sent; without parameters, records that it was reverted.
    pub(crate) fn note(
        &self,
        browser: &Arc<ExecutionBrowser>,
        connected: &Arc<ConnectedBrowser>,
        page: &str,
        method: &'static str,
        params: Option<Json>,
    ) {
        {
            let mut pages = lock(&self.sent.pages);
            if pages.len() >= PAGE_STATES_MAX {
                pages.retain(|page, _| connected.targets.target(page).is_some());
            }
            let commands = pages.entry(page.to_owned()).or_default();
            let number = commands.values().map(|command| command.number).max().unwrap_or_default() + 1;
            match params {
                Some(params) => drop(commands.insert(method, SentCommand { params, number })),
                None => drop(commands.remove(method)),
            }
        }
        let mut following = lock(&self.following);
        let current = Arc::downgrade(connected);
        if following.as_ref().is_none_or(|(of, _)| !of.ptr_eq(&current)) {
            let follow = follow(Arc::clone(browser), current.clone(), Arc::clone(&self.sent));
            *following = Some((current, AbortOnDropHandle::new(tokio::spawn(follow))));
        }
    }
}

/// Sends each new frame the commands of its page, until the connection is closed.
async fn follow(browser: Arc<ExecutionBrowser>, connected: Weak<ConnectedBrowser>, sent: Arc<Sent>) {
    let Some(mut changes) = connected.upgrade().map(|connected| connected.targets.changes()) else { return };
    let mut sending = JoinSet::new();
    loop {
        {
            let Some(connected) = connected.upgrade() else { return };
            connected.catch_up();
            let frames = connected.targets.visible().into_iter().filter(|target| target.kind == "iframe");
            // A frame without a URL is not initialised yet, and takes no command.
            let frames: Vec<String> = frames.filter(|frame| !frame.url.is_empty()).map(|frame| frame.id).collect();
            lock(&sent.frames).retain(|frame, _| frames.contains(frame));
            for frame in frames {
                sending.spawn(Arc::clone(&sent).send_to(frame, Arc::clone(&browser), Arc::clone(&connected)));
            }
        }
        while sending.try_join_next().is_some() {}
        if changes.changed().await.is_err() {
            return;
        }
    }
}

impl Sent {
    /// Sends a frame those commands of its page that it was not sent yet, all at once, the last one first: in the other
    /// order, a new frame does not report the popups of its lists (observed with Chromium 156).
    async fn send_to(self: Arc<Self>, frame: String, browser: Arc<ExecutionBrowser>, connected: Arc<ConnectedBrowser>) {
        connected.catch_up();
        // A frame without a URL is not initialised yet, and takes no command.
        let is_initialised = connected.targets.target(&frame).is_some_and(|target| !target.url.is_empty());
        let Some(page) = page_of_target(&connected, &frame).filter(|_| is_initialised) else { return };
        let sent = Arc::clone(lock(&self.frames).entry(frame.clone()).or_default());
        let mut sent = sent.lock().await;
        let commands = lock(&self.pages).get(&page).cloned().unwrap_or_default();
        let mut unsent: Vec<_> =
            commands.into_iter().filter(|(method, command)| sent.get(method) != Some(&command.number)).collect();
        unsent.sort_unstable_by_key(|(_, command)| Reverse(command.number));
        let sending = unsent.into_iter().map(async |(method, SentCommand { params, number })| {
            let answer = send_in_background(&browser, &connected, &frame, method, params).await;
            answer.is_ok().then_some((method, number))
        });
        // After an error, the frame is gone, or not for scripts, or is sent the command again at the next opportunity.
        sent.extend(futures::future::join_all(sending).await.into_iter().flatten());
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
