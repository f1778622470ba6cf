//! Whose turn it is with the mouse of a page: verbs that run at the same time have one between them, which must stay where
//! it is from the last look at an element until the button is let go.

use codemode_spec::limits::PAGE_STATES_MAX;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

/// A turn, which ends when it is dropped.
pub(crate) type Turn = tokio::sync::OwnedMutexGuard<()>;

/// The mouse of each page.
#[derive(Default)]
pub(crate) struct Turns(Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>);

impl Turns {
    /// The mouse of a page, in turn with the other verbs there.
    ///
    /// # Cancellation
    /// May be dropped at any time: then the turn is the next one's.
    pub(crate) async fn take(&self, page: &str) -> Turn {
        let mouse = {
            let mut pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if pages.len() >= PAGE_STATES_MAX {
                // Nobody has the others, or waits for them.
                pages.retain(|_, mouse| Arc::strong_count(mouse) > 1);
            }
            Arc::clone(pages.entry(page.to_owned()).or_default())
        };
        mouse.lock_owned().await
    }
}
