//! What a script may not do through the protocol: one table, read from top to bottom, and the few rules it names.
//!
//! The table guards three things: the files of this machine, the parts of a browser that are not the script's own, and
//! what the host itself relies on. It fails closed: a domain, a command to the browser as a whole, a type of target, a
//! scheme or a permission that it does not name is refused. Of an external browser a script may use the tabs that are
//! there, but close, reconfigure and command only what it made; tabs that another execution of this host made are not
//! there for it. What a page can do by itself cannot be prevented: a tab of an external browser that a script uses can close
//! itself, and open others.

mod device;
mod permissions;
mod request;
mod scripts;
mod table;
mod urls;

pub use device::DevicePermission;
pub(crate) use request::{PolicyFacts, Request, Standing, Why};
pub(crate) use scripts::guard;
pub use table::{is_of_a_page, is_refused};
pub(crate) use urls::{Shown, shown};

use codemode_spec::{ErrorCode, ErrorReport};
use serde_json::Value as Json;
use std::path::{Component, Path};
use table::{Place, Row, Rule, TABLE, is_browser_wide, is_known};

/// The types of targets that are for scripts, by Chromium's names. Not among them: `browser`, `browser_ui` and `tab` (the
/// browser itself, its own windows, and what is around a page), `webview`, `background_page`, `app`, `other` (parts of
/// extensions and of the browser), `auction_worklet` (other sites' code in a process of the browser's choice).
const KINDS: &[&str] =
    &["page", "iframe", "worker", "shared_worker", "service_worker", "worklet", "shared_storage_worklet"];
/// What a target takes whose URL is not known yet: only what lets it go on, gives it up, or attaches the host to it.
/// Whatever else it took could still be there when it shows a page that is not for scripts: the frame of Chromium's
/// PDF viewer, an extension that may open any URL, cannot be told from a frame of another site before it has loaded.
const BEFORE_IT_IS_KNOWN: &[&str] = &[
    "Page.bringToFront",
    "Page.close",
    "Page.navigate",
    "Runtime.runIfWaitingForDebugger",
    "Target.activateTarget",
    "Target.attachToTarget",
    "Target.closeTarget",
    "Target.detachFromTarget",
    "Target.getTargetInfo",
];

/// Whether the table stands. It always does in a program; in a build for the tests of the walls behind it, it can be
/// taken away by `CODEMODE_TEST_WITHOUT_TABLE=1`.
#[cfg(feature = "test-walls")]
pub(crate) fn stands() -> bool {
    static STANDS: std::sync::LazyLock<bool> =
        std::sync::LazyLock::new(|| std::env::var_os("CODEMODE_TEST_WITHOUT_TABLE").is_none_or(|value| value != "1"));
    *STANDS
}

/// Whether the table stands: always.
#[cfg(not(feature = "test-walls"))]
pub(crate) const fn stands() -> bool {
    true
}

/// Whether a type of target is for scripts.
pub(crate) fn is_kind_for_scripts(kind: &str) -> bool {
    KINDS.contains(&kind)
}

/// Whether a command is for a target whose URL is not known yet.
pub(crate) fn is_for_unknown(method: &str) -> bool {
    BEFORE_IT_IS_KNOWN.contains(&method)
}

/// Refuses what the table refuses.
///
/// # Errors
/// `POLICY_REFUSED` with the row's reason and hint.
pub(crate) fn check(request: Request<'_>, facts: &dyn PolicyFacts) -> Result<(), ErrorReport> {
    if !stands() {
        return Ok(());
    }
    let refused = TABLE.iter().find(|row| {
        (row.place == Place::Anywhere || facts.is_external())
            && row.methods.iter().any(|pattern| names(pattern, request))
            && refuses(row.rule, request, facts)
    });
    refused.map_or(Ok(()), |Row { reason, hint, .. }| Err(refusal(request.method, reason, hint)))
}

/// The report of a session whose target is not for scripts any more, or never was.
pub(crate) fn has_left(method: &str, why: &Why) -> ErrorReport {
    const HINT: &str = "Attach to another page, or make one with ⟦send \"Target.createTarget\", {url}⟧.";
    match why {
        Why::Kind => refusal(method, table::OF_THE_BROWSER, HINT),
        Why::Scheme(scheme) => {
            let reason = format!("its page went to {scheme}:, which is not for scripts, and was detached");
            refusal(method, &reason, HINT).with_detail("scheme", scheme.clone())
        }
    }
}

/// The report of a target of which it is not known what it will show.
pub(crate) fn not_known_yet(method: &str) -> ErrorReport {
    refusal(method, table::NOT_KNOWN_YET, table::LET_IT_GO_ON)
}

/// The report of a navigation to what network rules refuse.
pub(crate) fn refused_by_the_network(host: &str, port: u16, rule: &str) -> ErrorReport {
    let reason = format!("a network rule of codemode refuses {host}:{port} ({rule})");
    let hint = "Go elsewhere. The operator's rules are [network] in config.toml, the call's those of its session.";
    refusal("Page.navigate", &reason, hint)
        .with_detail("host", host)
        .with_detail("port", port)
        .with_detail("rule", rule)
}

fn refusal(method: &str, reason: &str, hint: &str) -> ErrorReport {
    ErrorReport::new(ErrorCode::PolicyRefused, format!("{method} is refused: {reason}"))
        .with_hint(hint)
        .with_detail("method", method)
}

fn names(pattern: &str, request: Request<'_>) -> bool {
    match pattern.strip_suffix(".*") {
        Some(domain) => request.method.split('.').next() == Some(domain),
        None if pattern == "**" => true,
        None if pattern == "*" => is_browser_wide(request.method, request.has_session),
        None => pattern == request.method,
    }
}

fn refuses(rule: Rule, request: Request<'_>, facts: &dyn PolicyFacts) -> bool {
    let param = |pointer: &str| request.params.pointer(pointer);
    let text = |pointer: &str| param(pointer).and_then(Json::as_str);
    let any = |refused: &dyn Fn(&str) -> bool| text("/targetId").into_iter().chain(request.target).any(refused);
    match rule {
        Rule::Never => true,
        Rule::WithoutSession => !request.has_session,
        Rule::UnknownDomain => !is_known(request.method),
        Rule::Url(pointer) => text(pointer).is_some_and(|url| !urls::may_be_opened(url)),
        Rule::Paths(pointer) => paths(param(pointer)).any(|path| !is_inside(path, facts)),
        Rule::Value(pointer, refused) => param(pointer).is_some_and(refused),
        Rule::ParamsBut(allowed) => {
            request.params.as_object().is_some_and(|params| params.keys().any(|name| !allowed.contains(&name.as_str())))
        }
        Rule::Unnamed(pointer) => !request.has_session && text(pointer).is_none(),
        Rule::Permission => permissions::is_refused(request, facts.device_permissions()),
        Rule::Device(device) => !facts.device_permissions().contains(&device),
        Rule::OwnTarget(pointer) => !text(pointer).or(request.target).is_some_and(|target| facts.owns_target(target)),
        Rule::OwnContext(pointer) => match (text(pointer), request.target) {
            (Some(context), _) => !facts.owns_context(context),
            (None, Some(target)) => !facts.owns_context_of(target),
            (None, None) => true,
        },
        Rule::Unlisted(listed) => !listed.contains(&request.method),
        Rule::UnlistedButInOwnContext(listed, pointer) => {
            !listed.contains(&request.method) && refuses(Rule::OwnContext(pointer), request, facts)
        }
        Rule::ForeignTarget => any(&|target| facts.is_foreign(target)),
        Rule::TargetNotKnownYet => {
            !is_for_unknown(request.method) && any(&|target| facts.standing(target) == Standing::NotKnownYet)
        }
        Rule::TargetOfTheBrowser(leaving) => any(&|target| match facts.standing(target) {
            Standing::Refused(_) => !(leaving.contains(&request.method) && facts.is_tab(target)),
            Standing::Absent => true,
            Standing::Usable | Standing::NotKnownYet => false,
        }),
    }
}

fn paths(param: Option<&Json>) -> impl Iterator<Item = &str> {
    let one = param.and_then(Json::as_str);
    let many = param.and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str);
    one.into_iter().chain(many)
}

/// Whether a path lies in the session's folder. An external browser has another machine's files: none lies in it.
fn is_inside(path: &str, facts: &dyn PolicyFacts) -> bool {
    let path = Path::new(path);
    !facts.is_external()
        && path.starts_with(facts.folder())
        && path.components().all(|part| !matches!(part, Component::ParentDir))
}

#[cfg(test)]
mod tests;
