//! Network access of browsers: rules on hosts, addresses and ports, and the forward proxy that enforces them outside
//! the browser.
//!
//! [`NetworkRules`] are written by an operator or a caller; a [`Policy`] combines the rules of both, and both must
//! allow. A [`ForwardProxy`] stands between one browser and the network: it checks each destination, including every
//! address that its name resolves to, and connects to exactly the address that it checked. The rules of its [`Gate`]
//! can be replaced while the proxy runs.
//!
//! This module does not depend on sessions, namespaces, scripts or browsers: a function passed by the caller decides
//! which connections a proxy accepts.

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
pub use gate::{Gate, GateObserver, Refusal};
pub use net_error::NetError;
pub use pattern::{HostPattern, Pattern, PatternFault};
pub use proxy::{ForwardProxy, Serving};
pub use rules::{Decision, NetworkRules, Owner, Policy, Rule, RuleFault, RuleFaults};
pub use upstream::{Upstream, UpstreamFault};
