//! Commands beside the verbs: what tasks send that answer dialogs, requests and frames while a verb is under way.

use codemode_page::{Command, ConnectedBrowser, Dialogs, ExecutionBrowser, HANDLE};
use codemode_provider::ArgumentsPlace;
use codemode_spec::ErrorReport;
use serde_json::{Map, Value as Json};
use std::{sync::Arc, time::Duration};

/// How long a command beside the verbs may take.
pub(crate) const BESIDE_MAX: Duration = Duration::from_secs(5);

/// Sends a command to a page beside whatever verb is under way there.
///
/// # Errors
/// Those of the shared browser.
pub(crate) async fn send_beside(
    browser: &Arc<ExecutionBrowser>,
    connected: &Arc<ConnectedBrowser>,
    page: &str,
    method: &str,
    params: Json,
) -> Result<(), ErrorReport> {
    let session = format!("{HANDLE}{page}");
    let command = command(Some(&session), method, params, BESIDE_MAX);
    browser.send(connected, command).await.map(drop)
}

/// A command of a verb: it waits through dialogs, which a task beside the verbs answers.
pub(crate) fn command<'a>(session: Option<&'a str>, method: &'a str, params: Json, timeout: Duration) -> Command<'a> {
    let params = match params {
        Json::Object(params) => params,
        _ => Map::new(),
    };
    Command { method, params, session, timeout, dialogs: Dialogs::Wait, place: ArgumentsPlace::default() }
}
