//! What a provider of a namespace implements, what the host gives it, and the suite that it must pass.
//!
//! A provider puts one global into the sandbox. For each execution the host creates a runtime of every provider, in
//! the order of their registration, sends it the script's calls, and disposes of it in the reverse order, exactly once,
//! however the execution ends. This crate knows neither the sandbox nor any particular provider.
#![forbid(unsafe_code)]

mod arguments;
mod audit;
mod context;
mod provider;
mod registry;
mod session;
#[cfg(feature = "testkit")]
pub mod testkit;

pub use arguments::{argument, faults_of, options};
pub use audit::{AuditSink, NoAudit, Refusal};
pub use context::{ArgumentsPlace, CallContext, Clock, Ending, ExecutionContext, ExecutionId, SystemClock};
pub use provider::{Account, LeaseMark, Provider, ProviderRuntime};
pub use registry::{Registry, RegistryError, nearest};
pub use session::{BrowserChannel, BrowserOrder, BrowserSession, Promotion, SessionFacts, Sessions};
