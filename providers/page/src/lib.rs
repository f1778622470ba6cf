//! The one browser of an execution, shared by its namespaces.
//!
//! The host makes one [`ExecutionBrowser`] for each execution ([`Browsers`]), and every namespace finds it in the services
//! of its context. It is opened at the first use by any of them: leased, launched, or an external endpoint. What they do
//! with it goes through here, so that it is judged by one policy, seen by one watch over dialogs and navigations, and
//! stands under one lease.
//!
//! In the order of their use: `browsers` makes a `browser` as `config` says; a `route` leads to it; `connected` is the
//! connection, with its `targets`, `popups` (`greet`ed before they begin) and `attach`ed sessions; `send` judges a command by
//! the `policy`, waits at the `gate` until its target is known, and `deliver`s it. `screencast` has pictures of a page for an operator who
//! looks on, beside all of that.
//!
//! This crate knows no namespace, and neither the sandbox nor the host. Its hints have marks where a namespace is to be
//! named, which each namespace writes in its own words ([`worded`]).
#![forbid(unsafe_code)]

mod attach;
mod browser;
mod browsers;
mod config;
mod connected;
mod cookies;
mod deliver;
mod dialog;
mod evict;
mod explain;
mod gate;
mod greet;
mod kept_file;
mod navigation;
mod notes;
mod owned;
mod policy;
mod popups;
mod reports;
mod route;
mod screencast;
mod send;
mod subscribe;
mod targets;
mod text;
mod wording;

pub use attach::{Attached, HANDLE};
pub use browser::ExecutionBrowser;
pub use browsers::Browsers;
pub use config::{BrowserConfig, OPTIONS};
pub use connected::ConnectedBrowser;
pub use cookies::{cookie_as_set, cookie_batches};
pub use dialog::{Dialog, Dialogs};
pub use policy::{DevicePermission, is_of_a_page, is_refused};
pub use popups::Greeting;
pub use reports::{closed, gone, needs_a_page};
pub use screencast::{PictureSize, Screencast};
pub use send::Command;
pub use subscribe::is_enabled_by_scripts_only;
pub use targets::{Target, Targets};
pub use text::{cut, short};
pub use wording::{Step, worded};

/// The driver's types that a namespace reads.
pub use codemode_chromium::{CommandSpec, Confinement, Domain, Event, EventLog, EventSpec, Property, Protocol, Shape};
