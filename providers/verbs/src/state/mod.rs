//! What the engine keeps between verbs, as plain data, and the tasks beside the verbs that need it. Nothing here knows a verb.

pub(crate) mod clocks;
pub(crate) mod credentials;
pub(crate) mod dialogs;
pub(crate) mod errands;
pub(crate) mod frames;
pub(crate) mod refs;
pub(crate) mod routes;
pub(crate) mod selects;
pub(crate) mod turns;
pub(crate) mod worlds;
