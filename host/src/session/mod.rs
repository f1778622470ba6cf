//! Browser sessions: which execution holds which browser, since when, and the proof of it.
//!
//! A *session* is a browser that exists; a *lease* is the exclusive right of one execution to use it. The
//! [`SessionManager`] gives leases to executions; the [`store`] keeps them, with everything that happened to them, for all
//! hosts of a state folder; a [`keeper`] process starts each browser, watches over the store and ends the browser when
//! no execution may use it any more, so that it neither dies with a host nor outlives its lease.
//!
//! This module knows no wasmtime, no namespace and no script.

mod browsers;
mod cancel_safe;
pub mod clock;
mod door;
mod fence;
mod info;
pub mod keeper;
mod leased;
mod leases;
mod lending;
pub mod liveness;
mod manager;
pub mod rules;
pub mod store;

pub use crate::state_dir::profile_of_key;
pub use browsers::{Browsers, BrowsersOfKeepers, LaunchOrder};
pub use info::{SessionInfo, Stock};
pub use leased::LeasedSession;
pub use manager::{SessionManager, SessionSettings};
