//! What a provider of a namespace implements, what the host gives it, and the suite that it must pass.
//!
//! A provider puts one global into the sandbox. For each execution the host creates a runtime of every provider, in
//! the order of their registration, sends it the script's calls, and disposes of it in the reverse order, exactly once,
//! however the execution ends. What several namespaces share, as the one browser of an execution, is a service: it is made
//! before the runtimes, found by its type, and disposed of after them. This crate knows neither the sandbox nor any particular provider.
#![forbid(unsafe_code)]

mod arguments;
mod audit;
mod closure;
mod context;
mod id;
mod logins;
mod provider;
mod registry;
mod secrets;
mod service;
mod services;
mod session;
mod suspension;
#[cfg(feature = "testkit")]
pub mod testkit;

pub use arguments::{argument, faults_of, options};
pub use audit::{Account, LeaseMark, NoRefusalSink, Refusal, RefusalSink};
pub use closure::{Closures, Function, closure};
pub use context::{ArgumentsPlace, CallContext, Clock, Ending, ExecutionContext, SystemClock};
pub use id::ExecutionId;
pub use logins::{LoginState, LoginStates, NoLoginStates, check_login_name};
pub use provider::{Provider, ProviderRuntime, cannot_be_suspended, not_a_state};
pub use registry::{Registry, RegistryError, nearest};
pub use secrets::{NoSecrets, Secret, SecretValue, Secrets};
pub use service::{ServiceProvider, ServiceRuntime};
pub use services::{AnswerFiles, Folders, KeptFile, Need, ReplyRoom, Services};
pub use session::{BrowserChannel, BrowserOrder, BrowserSession, KeptBrowser, Promotion, SessionFacts, Sessions};
pub use suspension::{restore, suspend};
