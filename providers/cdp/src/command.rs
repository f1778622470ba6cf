//! Sends the commands of scripts, checked first against the browser's description of its protocol.

use crate::{
    arguments::{AttachOptions, CommandCall, check_length, time_for},
    state::Cdp,
};
use codemode_page::{Command, Dialogs, Protocol, is_of_a_page, needs_a_page, short};
use codemode_provider::ArgumentsPlace;
use codemode_spec::{ErrorCode, ErrorReport, message::Encoded};
use serde_json::{Map, Value as Json, json};
use tokio::time::Instant;

/// Sends a command and returns the browser's answer.
pub(crate) async fn send(
    cdp: &Cdp,
    call: CommandCall,
    place: ArgumentsPlace,
    deadline: Instant,
) -> Result<Encoded, ErrorReport> {
    let CommandCall { method, params, options } = call;
    let session = options.session_id.as_deref();
    let mut entry = cdp.debug_log.begin(&method, session);
    let sending = async {
        check_length(&method)?;
        let connected = cdp.browser.connected(deadline).await?;
        let timeout = time_for(options.timeout_ms, deadline);
        if let Some(protocol) = connected.protocol() {
            check(protocol, &method, &params, session.is_some())?;
        }
        let dialogs = Dialogs::Report;
        cdp.browser.send(&connected, Command { method: &method, params, session, timeout, dialogs, place }).await
    };
    let result = sending.await;
    entry.outcome = result.as_ref().map_or_else(|error| error.code.as_str(), |_| "ok");
    result
}

/// Attaches to a page, and returns the handle by which the script then names the session.
pub(crate) async fn attach(cdp: &Cdp, options: AttachOptions, deadline: Instant) -> Result<Json, ErrorReport> {
    let connected = cdp.browser.connected(deadline).await?;
    let timeout = time_for(options.timeout_ms, deadline);
    let mut entry = cdp.debug_log.begin("Target.attachToTarget", None);
    let attached = cdp.browser.attach(&connected, options.target_id.as_deref(), timeout).await;
    entry.outcome = attached.as_ref().map_or_else(|error| error.code.as_str(), |_| "ok");
    let attached = attached?;
    Ok(json!({"sessionId": attached.handle(), "targetId": attached.target}))
}

fn check(protocol: &Protocol, method: &str, params: &Map<String, Json>, has_session: bool) -> Result<(), ErrorReport> {
    let Some(command) = protocol.command(method) else { return Err(unknown(protocol, method)) };
    if !has_session && is_of_a_page(method) {
        return Err(needs_a_page(method));
    }
    let faults = protocol.check(method, params);
    if faults.is_empty() {
        return Ok(());
    }
    let misplaced = ["sessionId", "timeoutMs"]
        .into_iter()
        .find(|name| params.contains_key(*name) && !command.parameters.iter().any(|parameter| parameter.name == *name));
    let hint = match misplaced {
        Some(name) => format!("{name} is not a parameter of the command: cdp.send(\"{method}\", params, {{{name}}})."),
        None => format!("cdp.spec(\"{method}\") says what it takes."),
    };
    Err(ErrorReport::new(ErrorCode::InvalidArgument, format!("{method}: {}", faults.join("; ")))
        .with_hint(hint)
        .with_detail("faults", faults))
}

fn unknown(protocol: &Protocol, method: &str) -> ErrorReport {
    let shown = short(method);
    if protocol.event(method).is_some() {
        return ErrorReport::new(ErrorCode::UnknownMethod, format!("{shown} is an event, not a command"))
            .with_hint(format!("Wait for it: await cdp.waitForEvent(\"{shown}\", {{sessionId}})."));
    }
    let search = shown.rsplit('.').next().unwrap_or(&shown);
    let hint = match protocol.nearest_command(method) {
        Some(near) => format!("Did you mean {near}? cdp.spec({{search: \"{search}\"}}) finds others."),
        None => "cdp.spec() lists all commands; cdp.spec({search: \"word\"}) finds them by words.".to_owned(),
    };
    ErrorReport::new(ErrorCode::UnknownMethod, format!("the browser has no command {shown}")).with_hint(hint)
}
