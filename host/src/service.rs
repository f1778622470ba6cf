//! The façade of the host: executes scripts, and administers sessions, audit, files, secrets and logins. Every surface
//! (command line, MCP, HTTP) calls it and nothing below it.
//!
//! It is an object ([`Service`]), configured by a [`ServiceBuilder`]. It has two subsystems, each of which is
//! initialised at its first use: administration (state folder and store), and execution (sandbox image, executor,
//! sweeper). So listing sessions compiles no sandbox, and a server opens its store once. Each command is a method in
//! the file of its name.

mod answer;
mod audit;
mod builder;
mod caller;
mod cleanup;
mod demo;
mod direct;
mod doctor;
mod dump;
mod executions;
mod files;
mod health;
mod host;
mod insight;
mod inspection;
mod logins;
mod metrics;
mod preparation;
mod recorder;
mod request;
mod running;
mod secrets;
mod sessions;
mod settings;
mod startup;
mod subsystems;
mod views;

pub use answer::{answer, refused};
pub use audit::{AuditQuery, AuditShown};
pub use builder::ServiceBuilder;
pub use caller::{Caller, KeyPattern};
pub use demo::{DemoData, SiteServed, Timings, serve_site};
pub use direct::{DirectSession, DirectSessions};
pub use doctor::{Check, Diagnosis, Status};
pub use dump::ExecutionDump;
pub use executions::{ExecutionShown, ExecutionsListed, ExecutionsQuery};
pub use files::{FileSize, FilesListed};
pub use health::Readiness;
pub use host::Service;
pub use inspection::ExecutionTraced;
pub use preparation::{BrowserReady, ImageReady};
pub use request::{ExecuteRequest, TOOL};
pub use running::{ExecutionInfo, ExecutionState};
pub use secrets::SecretsListed;
pub use sessions::{
    LeasesListed, Reaped, SessionClosed, SessionRevoked, SessionShown, SessionsListed, SessionsSwept, keep,
};
pub use settings::Settings;
pub use startup::Progress;
pub use views::PageView;

pub use crate::{
    exec::{ExecutionTrace, NoObserver, Observer, TracedCall, TracedLine},
    logins::{LoginListed, LoginRemoved, LoginsListed},
    network::{BROWSER_VIA, NetworkRules},
    secrets::{SecretListed, SecretRemoved, SecretStored},
    session::{
        SessionInfo,
        store::{
            Retention, SessionState,
            audit::{AuditRow, KnownRow, Verdict},
        },
    },
};
pub use codemode_chromium::{ConfineMode, Confinement};
pub use codemode_page::{BrowserConfig, DevicePermission};
pub use codemode_spec::session::{NetworkLists, SessionMode, SessionRequest, checked_key};
