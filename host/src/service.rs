//! The façade: a service that executes scripts and administers what they leave. Every surface calls it and nothing below it.
//!
//! It is an object ([`Service`]), put together by a [`ServiceBuilder`]. Its parts are made at their first use and then kept:
//! administration (state folder and store), and execution (sandbox image, executor, sweeper). So a list of sessions compiles
//! no sandbox, and a server opens its store once. Each command is a method in the file of its name.

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
mod logins;
mod look;
mod metrics;
mod parts;
mod preparation;
mod record;
mod request;
mod running;
mod secrets;
mod sessions;
mod settings;
mod startup;
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
pub use look::ExecutionTraced;
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
