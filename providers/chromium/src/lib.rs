//! The Chromium driver: finds, installs and launches browsers and guarantees that they end, connects to their protocol,
//! records their events, and reads the protocol description of the exact browser version.
//!
//! It is not a provider: it knows neither the namespace `cdp` nor executions, sessions or leases, and it applies no
//! policy to the commands that it sends. Nothing here outlives its owner: a browser ends with its [`Browser`], with the
//! process that launched it, or at the latest when [`reap`] finds what a dead process left behind.
#![forbid(unsafe_code)]
#![expect(clippy::result_large_err, reason = "an ErrorReport is made for a reader, once, where something has failed")]

mod broken;
mod check;
mod confine;
mod connection;
mod descriptor;
mod destinations;
mod endpoint;
mod error;
mod events;
mod find;
mod flags;
mod frames;
mod http;
mod install;
mod launch;
mod ledger;
mod message;
mod namespaces;
mod nearest;
mod options;
mod owned;
mod peers;
mod private;
mod process;
mod protocol;
mod reach;
mod reading;
mod relay;
mod reply_budget;
mod schema;
mod settings;
mod stream;
mod transport;
mod versions;
mod web_socket;

/// The protocol's commands as types, in the protocol version for which chromiumoxide was generated. A browser may be
/// newer: answers that do not match these types are read as JSON.
pub use chromiumoxide_cdp::cdp;
pub use confine::{ConfineMode, Confinement, can_confine};
pub use connection::{Command, Connection};
pub use destinations::{FailedDestination, NoConnection};
pub use endpoint::Endpoint;
pub use error::CdpError;
pub use events::{Batch, Event, EventLog};
pub use find::{Executable, find, find_noted};
pub use install::install;
pub use launch::Browser;
pub use ledger::{Reaped, reap, remove_kept_profile};
pub use namespaces::{KernelSetting, forbids_own_sandbox};
pub use options::LaunchOptions;
pub use peers::Peers;
pub use private::{PrivateDir, Untrusted};
pub use process::{ProcessId, memory_kib};
pub use protocol::Protocol;
pub use reach::REFUSED;
pub use relay::{Attached, Relay};
pub use schema::{CommandSpec, Domain, EventSpec, Property, Shape, TypeSpec};
pub use stream::tls_config;
