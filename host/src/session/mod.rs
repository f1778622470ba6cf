//! Browser sessions: starts and ends browsers, and grants each to at most one execution at a time.
//!
//! A *session* is a browser together with its record; a *lease* is the exclusive right of one execution to use it. The
//! [`SessionManager`] grants leases to executions. The [`store`] persists sessions, leases and an audit of both for all
//! host processes of a state folder. A [`keeper`] process starts each browser, polls the store, and ends the browser
//! when no execution may use it any more, so that the browser neither dies with a host nor outlives its lease.
//!
//! This module knows no wasmtime, no namespace and no script.

mod browsers;
mod cancel_safe;
pub mod clock;
mod info;
pub mod keeper;
mod keeper_proxy;
mod keeper_socket;
mod leased_session;
mod leases;
pub mod liveness;
mod manager;
mod provisioner;
pub mod rules;
pub mod store;

pub use crate::state_dir::profile_of_key;
pub use browsers::{Browsers, KeeperBrowsers, LaunchOrder};
pub use info::{SessionInfo, SessionTotals};
pub use leased_session::LeasedSession;
pub use manager::{SessionManager, SessionSettings};
