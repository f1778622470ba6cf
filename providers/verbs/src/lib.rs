//! The verb engine: what a person does with a page, on the browser of an execution.
//!
//! Rust types in and out, and explicit addresses: each verb names its page and, where it needs one, its target. A namespace,
//! an HTTP interface or a command line is a face on it. Every command goes through the shared browser (`codemode_page`),
//! so that the policy, the lease and the audit are those of the execution.
//!
//! In the order of their use: [`Verbs`] has what lasts between verbs (`state`); a [`Tab`] is a page for the time of one verb, and has
//! the verbs as its methods; a [`Target`] (`selector` reads one, `words` says one) is followed through frames by `locate`
//! to the place where the page's `engine`, in a `world` of its own, finds elements; `pointer`, `forms`, `secrets` and `input` act,
//! in `viewports` that a `projection` takes to that of the page; `read`, `evaluate`, `snapshot` (made an `outline`, with
//! refs) and `capture` look, `navigate`, `settle`, `dialogs`, `routes` (with credentials), `files`, `console`, `traffic`
//! (also as a `har`) and `observe` follow what the page and its `frames` do, `selects` are its lists whose popups are kept from
//! opening, `permissions` are what it may do, `clock` halts it, `fetch` asks servers beside the pages, on an errand, and `storage`
//! is what a login leaves, taken out and put in again.
//!
//! This crate knows no namespace, and neither the sandbox nor the host.
#![forbid(unsafe_code)]

mod beside;
mod capture;
mod clock;
mod console;
mod cookies;
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
mod words;
mod world;

pub use capture::{ImageType, Point, Rectangle, Screenshot};
pub use cookies::CookieFilter;
pub use evaluate::{Argument, Code, Handle};
pub use fetch::{FetchAnswer, FetchRequest};
pub use files::Downloaded;
pub use forms::{Choice, Field, FieldValue, Upload};
pub use input::{keyboard::Modifier, mouse::Button};
pub use navigate::{LoadState, PageInfo, Response};
pub use observe::{News, NewsKind, NewsQuery};
pub use pattern::UrlPattern;
pub use permissions::Geolocation;
pub use pointer::{Approach, Click, Position, Scroll, milliseconds};
pub use read::{ElementOp, ElementState, Form, What, WhatOfAll};
pub use routes::RouteAnswer;
pub use secrets::Typed;
pub use settle::Settle;
pub use snapshot::{Outline, Snapshot};
pub use state::{credentials::Credentials, dialogs::DialogPolicy};
pub use storage::StorageState;
pub use tab::Tab;
pub use target::{Mixed, Role, Step, Target, Text, Tristate};
pub use traffic::TrafficFilter;
pub use verbs::{Address, Verbs};
