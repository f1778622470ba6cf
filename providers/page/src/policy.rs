//! The policy on protocol commands of scripts: one table of refusals, read from top to bottom, and the rules that its
//! rows use.
//!
//! The table protects the files of this machine, the parts of a browser that are not the script's own, and what the
//! host itself relies on. It fails closed: a domain, a browser-wide command, a type of target, a scheme or a permission
//! that it does not list is refused. In an external browser a script may use the existing tabs, but close only tabs and
//! reconfigure only browser contexts that it created; tabs that another execution of this host created are hidden from
//! it. What a page can do by itself cannot be prevented: a tab of an external browser that a script uses can close
//! itself, and open others.

mod device;
mod index;
mod permissions;
mod request;
mod scripts;
mod table;
mod urls;

pub use device::DevicePermission;
pub(crate) use request::{PolicyFacts, RefusalReason, Request, TargetAccess};
pub(crate) use scripts::guard;
pub use table::{is_of_a_page, is_refused};
pub(crate) use urls::{UrlAccess, url_access};

use codemode_spec::{ErrorCode, ErrorReport};
use serde_json::Value as Json;
use std::path::{Component, Path};
use table::{ALL, BROWSER_WIDE_ONLY, Place, Row, Rule, domain_of, is_browser_wide, is_known};

/// The types of targets that scripts may use, by Chromium's names. Excluded are `browser`, `browser_ui` and `tab` (the
/// browser itself, its own windows, and the frame around a page), `webview`, `background_page`, `app`, `other` (parts
/// of extensions and of the browser) and `auction_worklet` (other sites' code in a process of the browser's choice).
const KINDS: &[&str] =
    &["page", "iframe", "worker", "shared_worker", "service_worker", "worklet", "shared_storage_worklet"];
/// The commands permitted on a target whose URL is not known yet: only those that resume it, close or leave it, or
/// attach the host to it. The effect of any other command could persist until the target shows a page that is not for
/// scripts: the frame of Chromium's PDF viewer, an extension that may open any URL, cannot be told from a cross-site
/// frame before it has loaded.
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

/// Whether the table is enforced. A program always enforces it; a build for tests of the defences behind the table can
/// disable it with `CODEMODE_TEST_WITHOUT_TABLE=1`.
#[cfg(feature = "test-walls")]
pub(crate) fn is_enforced() -> bool {
    static IS_ENFORCED: std::sync::LazyLock<bool> =
        std::sync::LazyLock::new(|| std::env::var_os("CODEMODE_TEST_WITHOUT_TABLE").is_none_or(|value| value != "1"));
    *IS_ENFORCED
}

/// Whether the table is enforced: always.
#[cfg(not(feature = "test-walls"))]
pub(crate) const fn is_enforced() -> bool {
    true
}

/// Whether scripts may use targets of this type.
pub(crate) fn is_kind_for_scripts(kind: &str) -> bool {
    KINDS.contains(&kind)
}

/// Whether a command is permitted on a target whose URL is not known yet.
pub(crate) fn is_for_unknown(method: &str) -> bool {
    BEFORE_IT_IS_KNOWN.contains(&method)
}

/// Checks a command against the table.
///
/// # Errors
/// `POLICY_REFUSED` with the row's reason and hint.
pub(crate) fn check(request: Request<'_>, facts: &dyn PolicyFacts) -> Result<(), ErrorReport> {
    if !is_enforced() {
        return Ok(());
    }
    let refused = index::rows_for(request.method).iter().find(|row| {
        (row.place == Place::Anywhere || facts.is_external())
            && row.methods.iter().any(|pattern| names(pattern, request))
            && refuses(row.rule, request, facts)
    });
    refused.map_or(Ok(()), |Row { reason, hint, .. }| Err(refusal(request.method, reason, hint)))
}

/// The report of a revoked session: its target is not for scripts any more, or never was.
pub(crate) fn revoked(method: &str, why: &RefusalReason) -> ErrorReport {
    const HINT: &str = "Attach to another page, or make one with ⟦send \"Target.createTarget\", {url}⟧.";
    match why {
        RefusalReason::Kind => refusal(method, table::OF_THE_BROWSER, HINT),
        RefusalReason::Scheme(scheme) => {
            let reason = format!("its page went to {scheme}:, which is not for scripts, and was detached");
            refusal(method, &reason, HINT).with_detail("scheme", scheme.clone())
        }
    }
}

/// The report of a target whose URL is not known yet.
pub(crate) fn not_known_yet(method: &str) -> ErrorReport {
    refusal(method, table::NOT_KNOWN_YET, table::LET_IT_GO_ON)
}

/// The report of a navigation to a destination that network rules refuse.
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
        Some(domain) => domain_of(request.method) == domain,
        None if pattern == ALL => true,
        None if pattern == BROWSER_WIDE_ONLY => is_browser_wide(request.method, request.has_session),
        None => pattern == request.method,
    }
}

fn refuses(rule: Rule, request: Request<'_>, facts: &dyn PolicyFacts) -> bool {
    let param = |pointer: &str| request.params.pointer(pointer);
    let text = |pointer: &str| param(pointer).and_then(Json::as_str);
    let any = |refused: &dyn Fn(&str) -> bool| text("/targetId").into_iter().chain(request.target).any(refused);
    match rule {
        Rule::Always => true,
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
            !is_for_unknown(request.method) && any(&|target| facts.access(target) == TargetAccess::NotKnownYet)
        }
        Rule::TargetOfTheBrowser(leaving) => any(&|target| match facts.access(target) {
            TargetAccess::Refused(_) => !(leaving.contains(&request.method) && facts.is_tab(target)),
            TargetAccess::Absent => true,
            TargetAccess::Usable | TargetAccess::NotKnownYet => false,
        }),
    }
}

fn paths(param: Option<&Json>) -> impl Iterator<Item = &str> {
    let one = param.and_then(Json::as_str);
    let many = param.and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str);
    one.into_iter().chain(many)
}

/// Whether a path is inside the session's folder. The files of an external browser are on another machine: none of them
/// is.
fn is_inside(path: &str, facts: &dyn PolicyFacts) -> bool {
    let path = Path::new(path);
    !facts.is_external()
        && path.starts_with(facts.folder())
        && path.components().all(|part| !matches!(part, Component::ParentDir))
}

#[cfg(test)]
mod tests;
