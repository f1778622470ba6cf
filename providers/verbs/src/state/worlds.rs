//! The isolated worlds of the in-page engine that are known.

use codemode_spec::limits::PAGE_WORLDS_MAX;
use serde::{Deserialize, Serialize};
use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// A frame of a page.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Frame {
    /// The target through which it is reached: the page, or the frame itself if it has a process of its own.
    pub(crate) target: String,
    /// Its id.
    pub(crate) id: String,
}

/// The worlds that are known, by their frames.
#[derive(Default)]
pub(crate) struct Worlds(Mutex<HashMap<Frame, World>>);

#[derive(Clone)]
pub(crate) struct World {
    /// The engine, as a remote object.
    pub(crate) engine: String,
    /// The world's execution context.
    pub(crate) context: i64,
    /// From where on events tell of documents that take the place of the world's own.
    pub(crate) since: u64,
    /// The closed shadow roots that the engine was given, by their backend ids.
    pub(crate) adopted: HashSet<i64>,
}

impl Worlds {
    pub(crate) fn known(&self) -> MutexGuard<'_, HashMap<Frame, World>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn keep(&self, frame: &Frame, world: &World) {
        let mut known = self.known();
        if known.len() >= PAGE_WORLDS_MAX {
            // Any can be made again.
            known.clear();
        }
        known.insert(frame.clone(), world.clone());
    }
}
