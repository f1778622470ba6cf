//! What a browser may reach: rules on hosts, addresses and ports, and the forward proxy that enforces them outside of the
//! browser.
//!
//! [`NetworkRules`] are what an operator or a caller writes; a [`Policy`] holds the rules of both, which must both
//! allow. A [`ForwardProxy`] stands between one browser and the network: it judges each destination, every address that
//! the name service gives included, and connects to the very address that it judged. Its [`Gate`] takes other rules
//! while the proxy runs.
//!
//! This module knows no session, no namespace, no script and no browser: whose connections a proxy takes is decided by
//! a function that it is given.

mod address;
mod connect;
mod connection;
mod gate;
mod net_error;
mod page;
mod pattern;
mod proxy;
mod rules;
mod tunnel;
mod upstream;

pub use address::Net;
pub use connect::{Resolve, SystemResolver};
pub use connection::BROWSER_VIA;
pub use gate::{Gate, Hear, Refusal};
pub use net_error::NetError;
pub use pattern::{HostPattern, Pattern, PatternFault};
pub use proxy::{ForwardProxy, Serving};
pub use rules::{Decision, NetworkRules, Owner, Policy, Rule, RuleFault, RuleFaults};
pub use upstream::{Upstream, UpstreamFault};
