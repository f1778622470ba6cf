//! The engine's state between verbs, as plain data, and the background tasks that need it. Nothing here knows a verb.

pub(crate) mod clocks;
pub(crate) mod credentials;
pub(crate) mod dialogs;
pub(crate) mod frames;
pub(crate) mod mouse_locks;
pub(crate) mod refs;
pub(crate) mod routes;
pub(crate) mod scratch_tabs;
pub(crate) mod selects;
pub(crate) mod worlds;
