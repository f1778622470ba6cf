//! The namespace for one execution.

use crate::{
    browser::BrowserSlot,
    command::{CommandCall, CommandOptions, time_for},
    debug_log::DebugLog,
    live::Live,
    session::HANDLE,
    spec,
    targets::short,
};
use async_trait::async_trait;
use codemode_provider::{Account, CallContext, Ending, Promotion, ProviderRuntime, argument, options};
use codemode_spec::{ErrorCode, ErrorReport, Value, envelope::Context, limits::DEBUG_LOG_MAX, message::Encoded};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::sync::Arc;
use tokio::time::Instant;
use url::Url;

/// Longer than any host with its port: what is longer names none, and a script could hide something in it.
const ORIGIN_BYTES_MAX: usize = 280;
/// Targets listed by `cdp.sessionInfo`.
const TARGETS_LISTED_MAX: usize = 100;

/// One execution's `cdp`.
pub(crate) struct CdpRuntime {
    pub(crate) slot: Arc<BrowserSlot>,
    pub(crate) debug_log: DebugLog,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct AttachOptions {
    target_id: Option<String>,
    timeout_ms: Option<u64>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct StartOptions {
    replace: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct LogOptions {
    limit: Option<usize>,
}

#[derive(Deserialize)]
struct Search {
    search: String,
}

#[async_trait]
impl ProviderRuntime for CdpRuntime {
    async fn call(&self, method: &str, arguments: Vec<Value>, context: CallContext) -> Result<Encoded, ErrorReport> {
        match self.answer(method, arguments, context).await {
            Err(error) if error.code == ErrorCode::BrowserGone => Err(self.slot.why_gone(error).await),
            answer => answer,
        }
    }

    async fn suspend(&self) -> Result<(), ErrorReport> {
        self.slot.park().await;
        Ok(())
    }

    async fn dispose(&self, _: Ending) -> Result<(), ErrorReport> {
        self.slot.close().await
    }

    fn account(&self, method: &str, arguments: &[Value]) -> Account {
        let (call, named) = match method {
            "send" => (command(arguments).ok(), None),
            "attachToTarget" => (None, attach_options(arguments).ok().and_then(|options| options.target_id)),
            _ => (None, None),
        };
        let session = call.as_ref().and_then(|call| call.options.session_id.as_deref());
        let param = |name| call.as_ref().and_then(|call| call.params.get(name)).and_then(Json::as_str);
        let page = self.slot.current().and_then(|live| {
            live.catch_up();
            let target = session.or(named.as_deref()).and_then(|session| live.target_named(session));
            live.targets.target(target.as_deref().or(param("targetId")).or(named.as_deref())?)
        });
        let action = call.as_ref().map(|call| call.method.clone()).filter(|name| is_command(name));
        Account {
            reads: action.as_deref().is_some_and(reads),
            action,
            origin: page.and_then(|page| origin(&page.url)),
            to_origin: param("url").and_then(origin),
            lease: self.slot.session().map(|session| session.facts().mark()),
        }
    }

    fn describe(&self) -> Context {
        self.slot.describe()
    }

    fn warnings(&self) -> Vec<String> {
        self.slot.warnings()
    }
}

/// The origin of a URL, if it has one: never more of it.
fn origin(url: &str) -> Option<String> {
    let origin = Url::parse(url).ok()?.origin();
    origin.is_tuple().then(|| origin.ascii_serialization()).filter(|origin| origin.len() <= ORIGIN_BYTES_MAX)
}

/// Whether a text can be the name of a command: whatever else a script writes there is a value of its own.
fn is_command(name: &str) -> bool {
    let is_word =
        |word: &str| !word.is_empty() && word.len() <= 64 && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    name.split_once('.').is_some_and(|(domain, command)| is_word(domain) && is_word(command))
}

/// Whether a command, by the way in which the protocol names them, changes nothing of a page.
fn reads(command: &str) -> bool {
    const VERBS: [&str; 11] =
        ["get", "query", "describe", "capture", "enable", "disable", "resolve", "request", "search", "take", "print"];
    let word = command.split_once('.').map_or(command, |(_, word)| word);
    VERBS
        .iter()
        .any(|verb| word.strip_prefix(verb).is_some_and(|rest| rest.chars().next().is_none_or(char::is_uppercase)))
}

/// The command of either form of `cdp.send`.
fn command(arguments: &[Value]) -> Result<CommandCall, ErrorReport> {
    if !matches!(arguments.first(), Some(Value::String(_))) {
        let missing = || ErrorReport::new(ErrorCode::InvalidArgument, "command is missing");
        return argument(arguments, 0)?.ok_or_else(missing);
    }
    Ok(CommandCall {
        method: argument(arguments, 0)?.unwrap_or_default(),
        params: options(arguments, 1)?,
        options: options::<CommandOptions>(arguments, 2)?,
    })
}

fn attach_options(arguments: &[Value]) -> Result<AttachOptions, ErrorReport> {
    match arguments.first() {
        Some(Value::String(_)) => Ok(AttachOptions { target_id: argument(arguments, 0)?, timeout_ms: None }),
        _ => options(arguments, 0),
    }
}

impl CdpRuntime {
    pub(crate) fn new(slot: Arc<BrowserSlot>) -> Self {
        Self { slot, debug_log: DebugLog::new() }
    }

    async fn answer(&self, method: &str, arguments: Vec<Value>, context: CallContext) -> Result<Encoded, ErrorReport> {
        let CallContext { deadline, place, .. } = context;
        match method {
            "send" => {
                let call = command(&arguments)?;
                // In memory once, not twice, for as long as the call takes.
                drop(arguments);
                self.send(call, place, deadline).await
            }
            "attachToTarget" => {
                let session = self.attach_to_target(attach_options(&arguments)?, deadline).await?;
                Ok(Value::from(session).into())
            }
            "waitForEvent" => {
                let name: String = argument(&arguments, 0)?.unwrap_or_default();
                let wanted = options(&arguments, 1)?;
                drop(arguments);
                self.wait_for_event(&name, &wanted, deadline).await.map(Encoded::from)
            }
            "events" => self.events(options(&arguments, 0)?, deadline).await.map(Encoded::from),
            "spec" => self.spec(&arguments, deadline).await.map(Encoded::from),
            "sessionInfo" => Ok(self.session_info().await.into()),
            "startSession" => {
                let StartOptions { replace } = options(&arguments, 0)?;
                let promotion = if replace { Promotion::Replace } else { Promotion::IfFree };
                self.slot.promote(promotion, deadline).await?;
                Ok(self.session_info().await.into())
            }
            "closeSession" => {
                self.slot.close_session(deadline).await?;
                Ok(Value::Undefined.into())
            }
            "resetSession" => {
                self.slot.reset_session(deadline).await?;
                Ok(self.session_info().await.into())
            }
            "getDebugLog" => {
                let LogOptions { limit } = options(&arguments, 0)?;
                Ok(json!(self.debug_log.last(limit.unwrap_or(DEBUG_LOG_MAX))).into())
            }
            "clearDebugLog" => {
                self.debug_log.clear();
                Ok(Value::Undefined.into())
            }
            _ => Err(ErrorReport::new(ErrorCode::UnknownMethod, format!("cdp.{method} does not exist"))),
        }
    }

    async fn attach_to_target(&self, options: AttachOptions, deadline: Instant) -> Result<String, ErrorReport> {
        let live = self.slot.live(deadline).await?;
        let timeout = time_for(options.timeout_ms, deadline);
        live.catch_up();
        let target = match options.target_id {
            Some(target) => target.strip_prefix(HANDLE).map_or(target.clone(), str::to_owned),
            None => first_page(&live, &self.slot)?,
        };
        let mut entry = self.debug_log.begin("Target.attachToTarget", None);
        let attached = self.session(&live, &format!("{HANDLE}{target}"), timeout).await;
        entry.outcome = attached.as_ref().map_or_else(|error| error.code.as_str(), |_| "ok");
        attached?;
        live.targets.used(&target);
        Ok(format!("{HANDLE}{target}"))
    }

    async fn spec(&self, arguments: &[Value], deadline: Instant) -> Result<Json, ErrorReport> {
        let live = self.slot.live(deadline).await?;
        let protocol = live.protocol.as_ref().map_err(|error| {
            ErrorReport::new(
                ErrorCode::UnsupportedOperation,
                format!("this endpoint does not describe its protocol: {}", error.message),
            )
            .with_hint("Send commands without looking them up; the browser's answers name what is wrong.")
        })?;
        match arguments.first() {
            None | Some(Value::Undefined) => Ok(spec::index(protocol)),
            Some(Value::String(name)) => spec::describe(protocol, &name.to_string_lossy()),
            Some(_) => {
                let query: Option<Search> = argument(arguments, 0)?;
                Ok(spec::search(protocol, &query.map(|query| query.search).unwrap_or_default()))
            }
        }
    }

    async fn session_info(&self) -> Json {
        let asked = self.slot.asked();
        let mut info = json!({"mode": asked.mode, "external": self.slot.is_external()});
        if let Some(key) = &asked.key {
            info["key"] = json!(key);
        }
        if let Some(facts) = self.slot.session().map(|session| session.facts()) {
            info["session"] = json!(facts.id);
            info["shared"] = json!(facts.shared);
        }
        let mut with = |fields: Json| {
            if let (Some(info), Json::Object(fields)) = (info.as_object_mut(), fields) {
                info.extend(fields);
            }
            info.take()
        };
        let Some(live) = self.slot.current() else {
            return with(json!({"state": "not-started", "targets": []}));
        };
        live.refresh().await;
        live.catch_up();
        let state = if live.connection.is_closed() { "gone" } else { "running" };
        let visible = live.targets.visible();
        let targets: Vec<_> = visible
            .iter()
            .take(TARGETS_LISTED_MAX)
            .map(|target| {
                let mut entry = json!({
                    "targetId": target.id,
                    "sessionId": format!("{HANDLE}{}", target.id),
                    "type": target.kind,
                    "url": short(&target.url),
                    "title": short(&target.title),
                    "attached": live.handles().contains_key(&target.id),
                });
                if let Some(dialog) = &target.dialog {
                    entry["dialog"] = json!({"type": dialog.kind, "message": dialog.message});
                }
                if target.crashed {
                    entry["crashed"] = json!(true);
                }
                entry
            })
            .collect();
        with(json!({
            "state": state,
            "browser": live.product,
            "targets": targets,
            "targetsTotal": visible.len(),
        }))
    }
}

/// The page that a script means that names none: the first that it may use.
fn first_page(live: &Arc<Live>, slot: &BrowserSlot) -> Result<String, ErrorReport> {
    use crate::policy::{Holdings as _, Standing};
    let holdings = slot.holdings(live);
    let mut pages = live.targets.visible().into_iter().filter(|target| target.kind == "page");
    pages
        .find(|page| !holdings.is_foreign(&page.id) && !matches!(holdings.standing(&page.id), Standing::Refused(_)))
        .map(|page| page.id)
        .ok_or_else(|| {
            ErrorReport::new(ErrorCode::CdpTargetClosed, "there is no page to attach to")
                .with_hint("Open one: const {targetId} = await cdp.send(\"Target.createTarget\", {url}).")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_names_commands_and_nothing_that_a_script_could_hide_in_one() {
        for name in ["Page.navigate", "DOM.getDocument"] {
            assert!(is_command(name), "{name}");
        }
        for name in ["", "Page", "Page.", ".x", "Page.navigate secret", "Page.a.b", &format!("Page.{}", "x".repeat(65))]
        {
            assert!(!is_command(name), "{name}");
        }
        for name in ["Network.getCookies", "Page.enable", "Page.captureScreenshot"] {
            assert!(reads(name), "{name}");
        }
        for name in ["Page.navigate", "Runtime.evaluate", "Input.insertText", "Page.gettysburg"] {
            assert!(!reads(name), "{name}");
        }
    }
}
