//! The browser of an execution, shared by all its namespaces.
//!
//! The host creates one [`ExecutionBrowser`] per execution ([`Browsers`]), and each namespace finds it among the
//! services of its context. The first use by any namespace opens it: a leased browser, a launched one, or an external
//! endpoint. All namespaces reach the browser through this crate, so that one policy checks their commands, one watch
//! covers dialogs and navigations, and one lease applies.
//!
//! In the order of use: `browsers` creates a `browser` as `config` specifies; a `route` connects to it; `connected` is
//! the connection, with its `targets`, its `popups` (prepared by `popup_setup` before they load) and its `attach`ed
//! sessions; `send` checks a command against the `policy`, waits at the `gate` until the target's URL is known, and
//! `call` sends it and waits for the answer; `error_mapping` turns protocol errors into reports. `screencast` takes
//! pictures of a page for an operator, independently of all that.
//!
//! This crate knows no namespace, nor the sandbox, nor the host. Its hints contain placeholders for the methods of a
//! namespace, which each namespace replaces with its own ([`worded`]).
#![forbid(unsafe_code)]

mod attach;
mod browser;
mod browsers;
mod call;
mod config;
mod connected;
mod cookies;
mod dialog;
mod error_mapping;
mod evict;
mod gate;
mod navigation;
mod notes;
mod owned;
mod policy;
mod popup_setup;
mod popups;
mod reports;
mod route;
mod screencast;
mod send;
mod session_file;
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
pub use popups::PopupSetup;
pub use reports::{closed, gone, needs_a_page};
pub use screencast::{PictureSize, Screencast};
pub use send::Command;
pub use subscribe::is_enabled_by_scripts_only;
pub use targets::{Target, Targets};
pub use text::{cut, short};
pub use wording::{Step, worded};

/// Types of the driver that namespaces use.
pub use codemode_chromium::{CommandSpec, Confinement, Domain, Event, EventLog, EventSpec, Property, Protocol, Shape};
