//! The verb engine: user actions on a page (clicking, typing, reading, navigating), performed in the browser of an
//! execution.
//!
//! Arguments and results are Rust types, and addresses are explicit: each verb names its page and, where it needs one,
//! its target element. A namespace, an HTTP interface or a command line is a thin face on it. Every command goes
//! through the shared browser (`codemode_page`), so that the execution's policy, lease and audit apply.
//!
//! The modules, in the order of their use: [`Verbs`] holds the state that lasts between verbs (`state`); a [`Tab`] is a
//! page for the duration of one verb, and has the verbs as its methods. A [`Target`] is parsed by `selector` and
//! described in messages by `describe`; `locate` follows it through frames to the frame where the in-page `engine`, in
//! its own isolated `world`, finds the elements. `pointer`, `forms`, `secrets` and `input` act on elements, in frame
//! `viewports` that a `projection` maps to the page's viewport. `read`, `evaluate`, `snapshot` (formatted as an
//! `outline` with refs) and `capture` read the page. `navigate`, `settle`, `dialogs`, `routes` (with credentials),
//! `files`, `console`, `traffic` (also exported as `har`) and `observe` follow what the page and its `frames` do.
//! `selects` handles `<select>` popups that are kept from opening natively, `permissions` grants permissions, `clock`
//! pauses the page, `fetch` sends requests from a hidden scratch tab, and `storage` exports and restores login state.
//!
//! This crate knows neither namespaces nor the sandbox nor the host.
#![forbid(unsafe_code)]

mod background;
mod capture;
mod clock;
mod console;
mod cookies;
mod describe;
mod dialogs;
mod engine;
mod evaluate;
mod fetch;
mod files;
mod forms;
mod frames;
mod har;
mod input;
mod locate;
mod navigate;
mod observe;
mod outline;
mod page;
mod pattern;
mod permissions;
mod pointer;
mod projection;
mod read;
mod reports;
mod routes;
mod secrets;
mod selector;
mod selects;
mod settle;
mod snapshot;
mod state;
mod storage;
mod tab;
mod target;
mod traffic;
mod values;
mod verbs;
mod viewports;
mod world;

pub use capture::{ImageType, Point, Rectangle, Screenshot};
pub use cookies::CookieFilter;
pub use evaluate::{Argument, Code, Handle};
pub use fetch::{FetchAnswer, FetchRequest};
pub use files::Downloaded;
pub use forms::{Choice, Field, FieldValue, Upload};
pub use input::{keyboard::Modifier, mouse::Button};
pub use navigate::{LoadState, PageInfo, Response};
pub use observe::{PageEventKind, PageEventQuery, PageEvents};
pub use pattern::UrlPattern;
pub use permissions::Geolocation;
pub use pointer::{Approach, Click, Position, Scroll, milliseconds};
pub use read::{ElementOp, ElementState, ExtractFormat, ListProperty, Property};
pub use routes::RouteAnswer;
pub use secrets::TextOrSecret;
pub use settle::Settle;
pub use snapshot::{Outline, Snapshot};
pub use state::{credentials::Credentials, dialogs::DialogPolicy};
pub use storage::StorageState;
pub use tab::Tab;
pub use target::{Mixed, Role, Step, Target, Text, Tristate};
pub use traffic::TrafficFilter;
pub use verbs::{Address, Verbs};
