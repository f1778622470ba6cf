//! The HTTP contract Agent Browser Protocol (ABP), translated into the verbs of the namespace `browser`.
//!
//! `browser` holds the state of a client's browser, `mode` whether the agent or a person controls it, `envelope`
//! surrounds each action with screenshots, waiting and timing, `events` tracks what happens in a tab during an action,
//! `record` writes the history. `tabs`, `actions`, `files`, `network` and `history` are the route handlers. Routes of
//! the contract that this host does not implement answer 501. The contract's MCP tools are calls of the routes: `tools`
//! lists them, `mcp` serves them.

mod actions;
mod browser;
mod envelope;
mod events;
mod files;
mod history;
mod mcp;
mod mode;
mod network;
mod record;
mod tabs;
mod tools;

pub(super) use browser::{Abp, PREFIX};
pub(super) use mcp::{PATH as MCP_PATH, Tools};

use super::contract::Failure;
use axum::{
    Router,
    http::StatusCode,
    routing::{any, delete, get, post},
};
use std::sync::Arc;

/// The routes of the contract that this host does not implement.
const PLANNED: &[&str] = &[
    "/tabs/{id}/pin",
    "/tabs/{id}/mute",
    "/tabs/{id}/duplicate",
    "/tabs/{id}/drag",
    "/tabs/{id}/hover",
    "/tabs/{id}/mouse/{op}",
    "/tabs/{id}/cookies",
    "/window",
    "/cookies",
];

/// The routes, below `/api/v1`.
pub(super) fn router(abp: &Arc<Abp>) -> Router {
    let implemented = Router::new()
        .route("/browser/status", get(tabs::status))
        .route("/browser/shutdown", post(tabs::shutdown))
        .route("/browser/input-mode", get(tabs::input_mode).post(tabs::set_input_mode))
        .route("/browser/session-data", get(tabs::session_data))
        .route("/tabs", get(tabs::list).post(tabs::open))
        .route("/tabs/{id}", get(tabs::show).delete(tabs::close))
        .route("/tabs/{id}/activate", post(tabs::activate))
        .route("/tabs/{id}/stop", post(actions::stop))
        .route("/tabs/{id}/navigate", post(actions::navigate))
        .route("/tabs/{id}/back", post(actions::back))
        .route("/tabs/{id}/forward", post(actions::forward))
        .route("/tabs/{id}/reload", post(actions::reload))
        .route("/tabs/{id}/click", post(actions::click))
        .route("/tabs/{id}/move", post(actions::mouse_move))
        .route("/tabs/{id}/scroll", post(actions::scroll))
        .route("/tabs/{id}/type", post(actions::type_text))
        .route("/tabs/{id}/keyboard/press", post(actions::press))
        .route("/tabs/{id}/keyboard/down", post(actions::key_down))
        .route("/tabs/{id}/keyboard/up", post(actions::key_up))
        .route("/tabs/{id}/execute", post(actions::execute))
        .route("/tabs/{id}/screenshot", get(actions::screenshot_file).post(actions::screenshot))
        .route("/tabs/{id}/text", post(actions::text))
        .route("/tabs/{id}/wait", post(actions::wait))
        .route("/tabs/{id}/dialog", get(actions::dialog))
        .route("/tabs/{id}/dialog/accept", post(actions::accept))
        .route("/tabs/{id}/dialog/dismiss", post(actions::dismiss))
        .route("/tabs/{id}/curl", post(files::curl))
        .route("/downloads", get(files::downloads))
        .route("/downloads/{id}", get(files::download))
        .route("/downloads/{id}/cancel", post(files::cancel_download))
        .route("/file-chooser/{id}", post(files::file_chooser))
        .route("/select/{id}", post(files::select))
        .route("/tabs/{id}/execution", get(tabs::execution).post(tabs::set_execution))
        .route("/network", get(network::query).delete(network::clear))
        .route("/network/save", post(network::save))
        .route("/history", delete(history::delete))
        .route("/history/sessions", get(history::sessions))
        .route("/history/sessions/current", get(history::current_session))
        .route("/history/sessions/{id}", get(history::session))
        .route("/history/sessions/{id}/export", get(history::export))
        .route("/history/actions", get(history::actions).delete(history::delete_actions))
        .route("/history/actions/{id}", get(history::action))
        .route("/history/actions/{id}/screenshot", get(history::screenshot))
        .route("/history/events", get(history::events).delete(history::delete_events))
        .route("/history/events/{id}", get(history::event));
    let routes = PLANNED.iter().fold(implemented, |routes, path| routes.route(path, any(tabs::planned)));
    routes
        .with_state(Arc::clone(abp))
        .fallback(async || Failure::new(StatusCode::NOT_FOUND, "there is nothing at this path"))
        .method_not_allowed_fallback(async || {
            Failure::new(StatusCode::METHOD_NOT_ALLOWED, "this path is not for this method")
        })
}
