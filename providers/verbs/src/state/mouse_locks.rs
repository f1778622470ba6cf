//! Locks on the mouse of each page: concurrent verbs share one mouse, which must stay where it is from the last check
//! of an element until the button is released.

use codemode_spec::limits::PAGE_STATES_MAX;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

/// Holds the mouse of a page until it is dropped.
pub(crate) type MouseGuard = tokio::sync::OwnedMutexGuard<()>;

/// The mouse lock of each page.
#[derive(Default)]
pub(crate) struct MouseLocks(Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>);

impl MouseLocks {
    /// Acquires the mouse of a page, after the verbs that wait for it already.
    ///
    /// # Cancellation
    /// May be dropped at any time: the next waiter then gets the mouse.
    pub(crate) async fn lock(&self, page: &str) -> MouseGuard {
        let mouse = {
            let mut pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if pages.len() >= PAGE_STATES_MAX {
                // The others are neither held nor waited for.
                pages.retain(|_, mouse| Arc::strong_count(mouse) > 1);
            }
            Arc::clone(pages.entry(page.to_owned()).or_default())
        };
        mouse.lock_owned().await
    }
}
