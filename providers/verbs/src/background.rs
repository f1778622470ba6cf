//! Background commands: sent by tasks that answer dialogs, requests and new frames while a verb is under way.

use codemode_page::{Command, ConnectedBrowser, Dialogs, ExecutionBrowser, HANDLE};
use codemode_provider::ArgumentsPlace;
use codemode_spec::ErrorReport;
use serde_json::{Map, Value as Json};
use std::{sync::Arc, time::Duration};

/// The timeout of a background command.
pub(crate) const BACKGROUND_TIMEOUT: Duration = Duration::from_secs(5);

/// Sends a command to a page, independently of any verb that is under way there.
///
/// # Errors
/// Those of the shared browser.
pub(crate) async fn send_in_background(
    browser: &Arc<ExecutionBrowser>,
    connected: &Arc<ConnectedBrowser>,
    page: &str,
    method: &str,
    params: Json,
) -> Result<(), ErrorReport> {
    let session = format!("{HANDLE}{page}");
    let command = command(Some(&session), method, params, BACKGROUND_TIMEOUT);
    browser.send(connected, command).await.map(drop)
}

/// Builds a command of a verb. It waits through dialogs, because a background task answers them.
pub(crate) fn command<'a>(session: Option<&'a str>, method: &'a str, params: Json, timeout: Duration) -> Command<'a> {
    let params = match params {
        Json::Object(params) => params,
        _ => Map::new(),
    };
    Command { method, params, session, timeout, dialogs: Dialogs::Wait, place: ArgumentsPlace::default() }
}
