//! The known isolated worlds of the in-page engine.

use codemode_spec::limits::PAGE_WORLDS_MAX;
use serde::{Deserialize, Serialize};
use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// A frame of a page.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Frame {
    /// The target through which it is addressed: the page, or the frame itself if it is out-of-process.
    pub(crate) target: String,
    /// The frame's id.
    pub(crate) id: String,
}

/// The known worlds, by their frames.
#[derive(Default)]
pub(crate) struct Worlds(Mutex<HashMap<Frame, World>>);

#[derive(Clone)]
pub(crate) struct World {
    /// The engine, as a remote object id.
    pub(crate) engine: String,
    /// The world's execution context.
    pub(crate) context: i64,
    /// The event cursor from which events report documents that replace the world's own.
    pub(crate) since: u64,
    /// The backend ids of the closed shadow roots that the engine was given.
    pub(crate) adopted: HashSet<i64>,
}

impl Worlds {
    pub(crate) fn known(&self) -> MutexGuard<'_, HashMap<Frame, World>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn keep(&self, frame: &Frame, world: &World) {
        let mut known = self.known();
        if known.len() >= PAGE_WORLDS_MAX {
            // Any of them can be created again.
            known.clear();
        }
        known.insert(frame.clone(), world.clone());
    }
}
