//! The interface between the host and the providers of namespaces: the traits that a provider implements, the services
//! that a host offers to it, and the test suite that every provider must pass.
//!
//! A provider puts one global object, its namespace, into the sandbox. For each execution the host creates one runtime
//! per provider, in registration order, sends the script's calls to these runtimes, and disposes of them in reverse
//! order, exactly once, however the execution ends. State that several namespaces share, such as the execution's one
//! browser, is a service: it is created before the runtimes, looked up by its type, and disposed of after them. This
//! crate knows neither the sandbox nor any particular provider.
#![forbid(unsafe_code)]

mod arguments;
mod audit;
mod closure;
mod context;
mod id;
mod logins;
mod provider;
mod registry;
mod replies;
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
pub use replies::{ReplySource, WakeSignal};
pub use secrets::{NoSecrets, Secret, SecretValue, Secrets};
pub use service::{ServiceProvider, ServiceRuntime};
pub use services::{AnswerFiles, Folders, KeptFile, Need, ReplyRoom, Services};
pub use session::{BrowserChannel, BrowserOrder, BrowserSession, KeptBrowser, Promotion, SessionFacts, Sessions};
pub use suspension::{restore, suspend};
