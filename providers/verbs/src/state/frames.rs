//! What the pages were asked for, asked of its frames in processes of their own as well: of those that there are, and of those
//! that come.
//!
//! A frame is asked as soon as it is known what it shows. What it does before that, in its first moments, may not be told.

use crate::beside::send_beside;
use codemode_page::{ConnectedBrowser, ExecutionBrowser};
use codemode_spec::limits::PAGE_STATES_MAX;
use serde_json::Value as Json;
use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

/// Frames in frames, followed at most so far.
const DEPTH_MAX: usize = 32;

/// What the pages were asked for.
#[derive(Default)]
pub(crate) struct Asked {
    pages: Arc<Mutex<HashMap<String, Asks>>>,
    following: Mutex<Option<(Weak<ConnectedBrowser>, AbortOnDropHandle<()>)>>,
}

/// The command of each domain that a page was sent last.
type Asks = BTreeMap<&'static str, Ask>;

#[derive(Clone)]
struct Ask {
    params: Json,
    /// Counts the commands of the page, so that one that was sent is not sent again.
    number: u64,
}

/// The page that a target is or belongs to, if it is there.
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

/// The frames of a page that have processes of their own.
pub(crate) fn frames_of(browser: &ConnectedBrowser, page: &str) -> Vec<String> {
    let frames = browser.targets.visible().into_iter().filter(|target| target.kind == "iframe").map(|frame| frame.id);
    frames.filter(|frame| page_of_target(browser, frame).as_deref() == Some(page)).collect()
}

impl Asked {
    pub(crate) fn has(&self, page: &str, method: &str) -> bool {
        lock(&self.pages).get(page).is_some_and(|asks| asks.contains_key(method))
    }

    /// Notes what a page was sent, or with no parameters that it is taken back.
    pub(crate) fn note(
        &self,
        browser: &Arc<ExecutionBrowser>,
        connected: &Arc<ConnectedBrowser>,
        page: &str,
        method: &'static str,
        params: Option<Json>,
    ) {
        {
            let mut pages = lock(&self.pages);
            if pages.len() >= PAGE_STATES_MAX {
                pages.retain(|page, _| connected.targets.target(page).is_some());
            }
            let asks = pages.entry(page.to_owned()).or_default();
            let number = asks.values().map(|ask| ask.number).max().unwrap_or_default() + 1;
            match params {
                Some(params) => drop(asks.insert(method, Ask { params, number })),
                None => drop(asks.remove(method)),
            }
        }
        let mut following = lock(&self.following);
        let current = Arc::downgrade(connected);
        if following.as_ref().is_none_or(|(of, _)| !of.ptr_eq(&current)) {
            let follow = follow(Arc::clone(browser), current.clone(), Arc::clone(&self.pages));
            *following = Some((current, AbortOnDropHandle::new(tokio::spawn(follow))));
        }
    }
}

/// Asks each frame that comes for what its page was asked for, until the connection is gone.
async fn follow(
    browser: Arc<ExecutionBrowser>,
    connected: Weak<ConnectedBrowser>,
    pages: Arc<Mutex<HashMap<String, Asks>>>,
) {
    let Some(mut changes) = connected.upgrade().map(|connected| connected.targets.changes()) else { return };
    let mut sent: HashMap<(String, &'static str), u64> = HashMap::new();
    let mut sending = JoinSet::new();
    loop {
        {
            let Some(connected) = connected.upgrade() else { return };
            connected.catch_up();
            let frames = connected.targets.visible().into_iter().filter(|target| target.kind == "iframe");
            // A frame that has no address yet is not known, and takes no command.
            let frames: Vec<String> = frames.filter(|frame| !frame.url.is_empty()).map(|frame| frame.id).collect();
            sent.retain(|(frame, _), _| frames.contains(frame));
            for frame in frames {
                let Some(page) = page_of_target(&connected, &frame) else { continue };
                let asks = lock(&pages).get(&page).cloned().unwrap_or_default();
                for (method, Ask { params, number }) in asks {
                    if sent.insert((frame.clone(), method), number) == Some(number) {
                        continue;
                    }
                    let (browser, connected, frame) = (Arc::clone(&browser), Arc::clone(&connected), frame.clone());
                    sending.spawn(async move {
                        let _ = send_beside(&browser, &connected, &frame, method, params).await;
                    });
                }
            }
        }
        while sending.try_join_next().is_some() {}
        if changes.changed().await.is_err() {
            return;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
