//! What a script may not do through the protocol: one table, read from top to bottom, and the few rules it names.
//!
//! The table guards three things: the files of this machine, the parts of a browser that are not the script's own, and
//! what the host itself relies on. Of an external browser a script may use the tabs that are there, but close,
//! reconfigure and command only what it made; tabs that another execution of this host made are not there for it. What a
//! page can do by itself cannot be prevented: a tab of somebody else's that a script uses can close itself, and open others.

use codemode_spec::{ErrorCode, ErrorReport};
use serde_json::Value as Json;
use std::path::{Component, Path};
use url::Url;

/// Where a row holds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// On every browser.
    Anywhere,
    /// On a browser that was not launched for this execution.
    External,
}

/// When a command is refused.
#[derive(Clone, Copy)]
enum Rule {
    /// Always.
    Never,
    /// When this parameter is a URL that is not for scripts.
    Url(&'static str),
    /// When this parameter, a JSON pointer, names a path or paths outside of the session's folder.
    Paths(&'static str),
    /// When this parameter has this value.
    Value(&'static str, fn(&Json) -> bool),
    /// When the target that this parameter names, or else that of the session, was not made by this execution.
    OwnTarget(&'static str),
    /// When the browser context that this parameter names, or else that of the session, was not made by this execution.
    OwnContext(&'static str),
    /// When the target that this parameter names, or that of the session, was made by another execution.
    ForeignTarget,
    /// When the target that this parameter names, or that of the session, is a part of the browser itself, unless it is
    /// a tab and the command is one of these.
    TargetOfTheBrowser(&'static [&'static str]),
}

/// Some commands, and when they are refused.
struct Row {
    /// Full names, or `Domain.*`; `*` for every command that concerns the browser as a whole, `**` for every command.
    methods: &'static [&'static str],
    place: Place,
    rule: Rule,
    /// Why, to go after "is refused: ".
    reason: &'static str,
    hint: &'static str,
}

const TABLE: &[Row] = &[
    // Files of this machine.
    Row {
        methods: &["Page.navigate", "Target.createTarget", "Network.loadNetworkResource", "Fetch.continueRequest"],
        place: Place::Anywhere,
        rule: Rule::Url("/url"),
        reason: "only http:, https:, data:, blob: and about:blank may be opened",
        hint: "Open an http or https page; put content of your own into a data: URL.",
    },
    Row {
        methods: &["Browser.setDownloadBehavior", "Page.setDownloadBehavior"],
        place: Place::Anywhere,
        rule: Rule::Paths("/downloadPath"),
        reason: "downloads may only go to the session's folder",
        hint: "Leave downloads as they are: they are kept in the session's folder already.",
    },
    Row {
        methods: &["DOM.setFileInputFiles"],
        place: Place::Anywhere,
        rule: Rule::Paths("/files"),
        reason: "only files in the session's folder may be given to a page",
        hint: "Make the file in the page: new File([text], name) in a DataTransfer, assigned to input.files.",
    },
    Row {
        methods: &["Input.dispatchDragEvent"],
        place: Place::Anywhere,
        rule: Rule::Paths("/data/files"),
        reason: "only files in the session's folder may be given to a page",
        hint: "Dispatch a DragEvent in the page, with a DataTransfer that holds a File made there.",
    },
    Row {
        methods: &["PWA.*", "Extensions.*"],
        place: Place::Anywhere,
        rule: Rule::Never,
        reason: "nothing may be installed into the browser",
        hint: "Run the code in the page with Runtime.evaluate or Page.addScriptToEvaluateOnNewDocument.",
    },
    // Ways around this table, or out of the browser.
    Row {
        methods: &["Target.sendMessageToTarget", "Target.attachToBrowserTarget", "Target.exposeDevToolsProtocol"],
        place: Place::Anywhere,
        rule: Rule::Never,
        reason: "it would reach the protocol around the host",
        hint: "Use cdp.attachToTarget(targetId) and pass its handle as sessionId; browser commands take no sessionId.",
    },
    Row {
        methods: &["Target.attachToTarget", "Target.setAutoAttach"],
        place: Place::Anywhere,
        rule: Rule::Value("/flatten", |flatten| flatten == &Json::Bool(false)),
        reason: "sessions are flat here",
        hint: "Leave flatten out, or use cdp.attachToTarget(targetId).",
    },
    Row {
        methods: &[
            "Target.setRemoteLocations",
            "Target.openDevTools",
            "Target.getDevToolsTarget",
            "Browser.executeBrowserCommand",
            "Tethering.*",
            "Cast.*",
        ],
        place: Place::Anywhere,
        rule: Rule::Never,
        reason: "it reaches beyond the pages",
        hint: "Work with pages: Page, Runtime, DOM, Input and Network.",
    },
    Row {
        methods: &["**"],
        place: Place::Anywhere,
        rule: Rule::TargetOfTheBrowser(&[
            "Page.bringToFront",
            "Page.close",
            "Page.navigate",
            "Target.activateTarget",
            "Target.closeTarget",
            "Target.getTargetInfo",
        ]),
        reason: "the browser's own pages are not for scripts",
        hint: "Go elsewhere in this tab with Page.navigate, or make one with cdp.send(\"Target.createTarget\", {url}).",
    },
    // What the host relies on.
    Row {
        methods: &["Page.disable"],
        place: Place::Anywhere,
        rule: Rule::Never,
        reason: "the host must see the page's dialogs",
        hint: "Leave Page enabled; read only the events that you need with cdp.events({names}).",
    },
    Row {
        methods: &["Target.setDiscoverTargets"],
        place: Place::Anywhere,
        rule: Rule::Value("/discover", |discover| discover != &Json::Bool(true)),
        reason: "the host must see which targets there are",
        hint: "Leave discovery on; read only the events that you need with cdp.events({names}).",
    },
    // Parts of an external browser that are not the script's own.
    Row {
        methods: &["Browser.close", "Browser.crash", "Browser.crashGpuProcess"],
        place: Place::External,
        rule: Rule::Never,
        reason: "this browser was not started by codemode and stays open",
        hint: "Close the tabs that you made with cdp.send(\"Target.closeTarget\", {targetId}); at the end they are closed \
               anyway.",
    },
    Row {
        methods: &["Target.closeTarget", "Page.close", "Page.crash"],
        place: Place::External,
        rule: Rule::OwnTarget("/targetId"),
        reason: "this tab was not opened by this script",
        hint: "Close only tabs that you made with Target.createTarget.",
    },
    Row {
        methods: &["**"],
        place: Place::External,
        rule: Rule::ForeignTarget,
        reason: "this tab belongs to another execution",
        hint: "Make a tab of your own with cdp.send(\"Target.createTarget\", {url}).",
    },
    Row {
        methods: &["Target.disposeBrowserContext"],
        place: Place::External,
        rule: Rule::OwnContext("/browserContextId"),
        reason: "this browser context was not made by this script",
        hint: "Dispose only of contexts that you made with Target.createBrowserContext.",
    },
    Row {
        methods: &["Target.setAutoAttach"],
        place: Place::External,
        rule: Rule::Value("/waitForDebuggerOnStart", |wait| wait == &Json::Bool(true)),
        reason: "it would stop tabs that are not the script's own",
        hint: "Pass waitForDebuggerOnStart: false.",
    },
    Row {
        methods: &["*"],
        place: Place::External,
        rule: Rule::OwnContext("/browserContextId"),
        reason: "it concerns the whole browser, which is not the script's own",
        hint: "Make a browser context with Target.createBrowserContext and pass its browserContextId, or send a page's \
               command to a tab of yours with sessionId.",
    },
];

/// Commands of pages that concern all pages of their browser context.
const CONTEXT_WIDE: &[&str] =
    &["Network.clearBrowserCache", "Network.clearBrowserCookies", "Network.getAllCookies", "Page.setDownloadBehavior"];
/// Domains that are the browser's, or the browser context's, also where a page's session takes their commands.
const BROWSER_WIDE_DOMAINS: &[&str] = &["Browser", "Memory", "Storage", "SystemInfo", "Target", "Tracing"];
/// Commands to the browser as a whole that an external one may be sent all the same: they read, or other rows judge
/// them.
const EXTERNAL_BROWSER_WIDE: &[&str] = &[
    "Browser.getVersion",
    "Browser.getWindowBounds",
    "Browser.getWindowForTarget",
    "IO.close",
    "IO.read",
    "Storage.getStorageKey",
    "Storage.getStorageKeyForFrame",
    "Storage.getUsageAndQuota",
    "Target.activateTarget",
    "Target.attachToTarget",
    "Target.autoAttachRelated",
    "Target.closeTarget",
    "Target.createBrowserContext",
    "Target.createTarget",
    "Target.detachFromTarget",
    "Target.getBrowserContexts",
    "Target.getTargetInfo",
    "Target.getTargets",
    "Target.setAutoAttach",
    "Target.setDiscoverTargets",
];

/// A command about to be sent.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) method: &'a str,
    pub(crate) params: &'a Json,
    /// The target of the session it is sent to; `None` without a session.
    pub(crate) target: Option<&'a str>,
    /// Whether it is sent to a session.
    pub(crate) has_session: bool,
}

/// What the policy must know of the browser.
pub(crate) trait Holdings {
    /// Whether the browser was there before the execution and stays after it.
    fn is_external(&self) -> bool;
    /// The only folder of files that the script may use.
    fn folder(&self) -> &Path;
    /// Whether this execution made the target.
    fn owns_target(&self, target: &str) -> bool;
    /// Whether this execution made the browser context.
    fn owns_context(&self, context: &str) -> bool;
    /// Whether the target is in a browser context that this execution made.
    fn owns_context_of(&self, target: &str) -> bool;
    /// Whether another execution made the target.
    fn is_foreign(&self, target: &str) -> bool;
    /// Whether the target is a part of the browser itself, as its settings, or of an extension.
    fn is_of_the_browser(&self, target: &str) -> bool;
    /// Whether the target is a tab.
    fn is_tab(&self, target: &str) -> bool;
}

/// Refuses what the table refuses.
///
/// # Errors
/// `POLICY_REFUSED` with the row's reason and hint.
pub(crate) fn check(request: Request<'_>, holdings: &dyn Holdings) -> Result<(), ErrorReport> {
    let refused = TABLE.iter().find(|row| {
        (row.place == Place::Anywhere || holdings.is_external())
            && row.methods.iter().any(|pattern| names(pattern, request))
            && refuses(row.rule, request, holdings)
    });
    refused.map_or(Ok(()), |row| Err(refusal(request.method, row.reason, row.hint)))
}

/// Whether everything of a domain is refused on every browser.
pub(crate) fn is_refused(domain: &str) -> bool {
    let all = format!("{domain}.*");
    TABLE.iter().any(|row| {
        row.place == Place::Anywhere && matches!(row.rule, Rule::Never) && row.methods.contains(&all.as_str())
    })
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
        None if pattern == "*" => {
            let domain = request.method.split('.').next().unwrap_or_default();
            let is_wide = !request.has_session
                || CONTEXT_WIDE.contains(&request.method)
                || BROWSER_WIDE_DOMAINS.contains(&domain);
            is_wide && !EXTERNAL_BROWSER_WIDE.contains(&request.method)
        }
        None => pattern == request.method,
    }
}

fn refuses(rule: Rule, request: Request<'_>, holdings: &dyn Holdings) -> bool {
    let param = |pointer: &str| request.params.pointer(pointer);
    let text = |pointer: &str| param(pointer).and_then(Json::as_str);
    match rule {
        Rule::Never => true,
        Rule::Url(pointer) => text(pointer).is_some_and(|url| !is_for_scripts(url)),
        Rule::Paths(pointer) => paths(param(pointer)).any(|path| !is_inside(path, holdings)),
        Rule::Value(pointer, refused) => param(pointer).is_some_and(refused),
        Rule::OwnTarget(pointer) => {
            !text(pointer).or(request.target).is_some_and(|target| holdings.owns_target(target))
        }
        Rule::OwnContext(pointer) => match (text(pointer), request.target) {
            (Some(context), _) => !holdings.owns_context(context),
            (None, Some(target)) => !holdings.owns_context_of(target),
            (None, None) => true,
        },
        Rule::ForeignTarget => both(text("/targetId"), request.target).any(|target| holdings.is_foreign(target)),
        Rule::TargetOfTheBrowser(allowed) => {
            let is_refused = |target| {
                holdings.is_of_the_browser(target) && !(allowed.contains(&request.method) && holdings.is_tab(target))
            };
            both(text("/targetId"), request.target).any(is_refused)
        }
    }
}

fn both<'a>(named: Option<&'a str>, session: Option<&'a str>) -> impl Iterator<Item = &'a str> {
    named.into_iter().chain(session)
}

fn paths(param: Option<&Json>) -> impl Iterator<Item = &str> {
    let one = param.and_then(Json::as_str);
    let many = param.and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str);
    one.into_iter().chain(many)
}

/// Whether a path lies in the session's folder. An external browser has another machine's files: none lies in it.
fn is_inside(path: &str, holdings: &dyn Holdings) -> bool {
    let path = Path::new(path);
    !holdings.is_external()
        && path.starts_with(holdings.folder())
        && path.components().all(|part| !matches!(part, Component::ParentDir))
}

/// Whether a URL may be opened. It is read as browsers read it: without regard to case, leading blanks and control
/// characters, or tabs and line ends within. What is no URL by itself leads nowhere: Chromium does not complete it. But it
/// may make one of what we cannot read, as of a host with a blank.
fn is_for_scripts(url: &str) -> bool {
    let Ok(url) = Url::parse(url) else {
        return scheme(url).is_none_or(|scheme| {
            matches!(scheme.as_str(), "http" | "https" | "ws" | "wss" | "about" | "data" | "blob")
        });
    };
    match url.scheme() {
        "http" | "https" | "data" => true,
        "about" => matches!(url.path(), "blank" | "srcdoc"),
        "blob" | "view-source" => {
            Url::parse(url.path()).is_ok_and(|inner| matches!(inner.scheme(), "http" | "https"))
                || url.path().starts_with("null/")
        }
        _ => false,
    }
}

/// The scheme that a text begins with, as browsers read it.
fn scheme(text: &str) -> Option<String> {
    let text = text.trim_start_matches(|c| c <= ' ').replace(['\t', '\n', '\r'], "");
    let (scheme, _) = text.split_once(':')?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    is_scheme.then(|| scheme.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::path::PathBuf;

    struct Fake {
        external: bool,
        folder: PathBuf,
    }

    impl Holdings for Fake {
        fn is_external(&self) -> bool {
            self.external
        }
        fn folder(&self) -> &Path {
            &self.folder
        }
        fn owns_target(&self, target: &str) -> bool {
            target == "MINE"
        }
        fn owns_context(&self, context: &str) -> bool {
            context == "MINE"
        }
        fn owns_context_of(&self, target: &str) -> bool {
            target == "MINE IN MY CONTEXT"
        }
        fn is_foreign(&self, target: &str) -> bool {
            target == "THEIRS"
        }
        fn is_of_the_browser(&self, target: &str) -> bool {
            matches!(target, "UI" | "SETTINGS")
        }
        fn is_tab(&self, target: &str) -> bool {
            target != "UI"
        }
    }

    fn verdict(external: bool, method: &str, params: Json, target: Option<&str>) -> Option<String> {
        let holdings = Fake { external, folder: PathBuf::from("/state/downloads/x") };
        let request = Request { method, params: &params, target, has_session: target.is_some() };
        let error = check(request, &holdings).err()?;
        assert_eq!(error.code, ErrorCode::PolicyRefused);
        assert!(error.hint.ends_with('.') && !error.hint.is_empty());
        Some(error.message)
    }

    #[test]
    fn urls() {
        for url in [
            "http://a.test/",
            "HTTPS://a.test/",
            " https://a.test",
            "data:text/html,x",
            "about:blank",
            "about:blank#x",
            "about:srcdoc",
            "blob:https://a.test/uuid",
            "blob:null/uuid",
            "view-source:https://a.test/",
            "",
            "a.test",
            "/etc/passwd",
            "http://a b/",
            "1:2",
            "a/file:x",
        ] {
            assert_eq!(verdict(false, "Page.navigate", json!({ "url": url }), Some("A")), None, "{url:?}");
        }
        for url in [
            "file:///etc/passwd",
            "FILE:///etc/passwd",
            "\u{1} \tfile:///etc/passwd",
            "fi\nle:///etc/passwd",
            "file:/etc/passwd",
            "view-source:file:///etc/passwd",
            "VIEW-SOURCE:FILE:///etc/passwd",
            "view-source: file:///etc/passwd",
            "view-source:view-source:file:///etc/passwd",
            "view-source:chrome://version",
            "blob:file:///etc/passwd",
            "filesystem:file:///x",
            "filesystem:https://a.test/temporary/x",
            "chrome://version",
            "Chrome:version",
            "chrome-extension://x/",
            "chrome-untrusted://x/",
            "devtools://devtools/bundled/inspector.html",
            "about:version",
            "about:gpu",
            "javascript:alert(1)",
            "ftp://a.test/",
            "mailto:a@a.test",
            // No URLs to us.
            "file://a b/etc/passwd",
            " FI\tLE://a b/etc/passwd",
            "chrome://a b/",
            "view-source:http://a b/",
        ] {
            for method in ["Page.navigate", "Target.createTarget", "Network.loadNetworkResource"] {
                assert_eq!(
                    verdict(false, method, json!({ "url": url }), None),
                    Some(format!(
                        "{method} is refused: only http:, https:, data:, blob: and about:blank may be opened"
                    )),
                    "{url:?}"
                );
            }
        }
    }

    #[test]
    fn paths_of_files() {
        let cases = [
            ("Browser.setDownloadBehavior", "downloadPath", json!("/state/downloads/x"), None),
            ("Browser.setDownloadBehavior", "downloadPath", json!("/state/downloads/x/sub"), None),
            ("Browser.setDownloadBehavior", "downloadPath", json!("/state/downloads/xy"), Some(())),
            ("Page.setDownloadBehavior", "downloadPath", json!("/state/downloads/x/../y"), Some(())),
            ("Page.setDownloadBehavior", "downloadPath", json!("downloads"), Some(())),
            ("DOM.setFileInputFiles", "files", json!(["/state/downloads/x/a", "/etc/passwd"]), Some(())),
            ("DOM.setFileInputFiles", "files", json!(["/state/downloads/x/a"]), None),
            ("Input.dispatchDragEvent", "data", json!({"files": ["/etc/passwd"]}), Some(())),
        ];
        for (method, param, value, refused) in cases {
            let verdict = |external| verdict(external, method, json!({ param: value }), Some("A"));
            assert_eq!(verdict(false).map(|_| ()), refused, "{method} {value}");
            assert!(verdict(true).is_some(), "an external browser has no folder of the session: {method}");
        }
        let without_path = json!({"behavior": "deny"});
        assert_eq!(verdict(false, "Browser.setDownloadBehavior", without_path, None), None);
    }

    #[test]
    fn what_is_never_sent() {
        for method in [
            "PWA.install",
            "Extensions.loadUnpacked",
            "Target.sendMessageToTarget",
            "Target.attachToBrowserTarget",
            "Target.exposeDevToolsProtocol",
            "Target.setRemoteLocations",
            "Browser.executeBrowserCommand",
            "Tethering.bind",
            "Page.disable",
        ] {
            assert!(verdict(false, method, json!({}), None).is_some(), "{method}");
            assert!(verdict(true, method, json!({}), Some("MINE")).is_some(), "{method}");
        }
        assert!(verdict(false, "Target.attachToTarget", json!({"flatten": false}), None).is_some());
        assert_eq!(verdict(false, "Target.attachToTarget", json!({}), None), None);
        assert!(verdict(false, "Target.setDiscoverTargets", json!({"discover": false}), None).is_some());
        assert_eq!(verdict(false, "Target.setDiscoverTargets", json!({"discover": true}), None), None);
        assert_eq!(verdict(false, "Browser.close", json!({}), None), None);
        assert!(verdict(false, "Target.attachToTarget", json!({"targetId": "UI"}), None).is_some());
        for (target, may_leave) in [("UI", false), ("SETTINGS", true)] {
            assert!(verdict(false, "Runtime.evaluate", json!({}), Some(target)).is_some());
            assert!(verdict(false, "Target.attachToTarget", json!({ "targetId": target }), None).is_some());
            for (method, params) in [("Page.navigate", json!({"url": "https://a.test/"})), ("Page.close", json!({}))] {
                assert_eq!(verdict(false, method, params, Some(target)).is_none(), may_leave, "{method} {target}");
            }
            let close = verdict(false, "Target.closeTarget", json!({ "targetId": target }), None);
            assert_eq!(close.is_none(), may_leave, "{target}");
        }
    }

    #[test]
    fn an_external_browser_is_not_the_scripts_own() {
        let cases: &[(&str, Json, Option<&str>, bool)] = &[
            ("Browser.close", json!({}), None, true),
            ("Browser.close", json!({}), Some("MINE"), true),
            ("Browser.crash", json!({}), None, true),
            ("Browser.getVersion", json!({}), None, false),
            ("Target.getTargets", json!({}), None, false),
            ("Target.closeTarget", json!({"targetId": "MINE"}), None, false),
            ("Target.closeTarget", json!({"targetId": "USERS"}), None, true),
            ("Target.closeTarget", json!({"targetId": "USERS"}), Some("MINE"), true),
            ("Page.close", json!({}), Some("MINE"), false),
            ("Page.close", json!({}), Some("USERS"), true),
            ("Page.navigate", json!({"url": "https://a.test/"}), Some("USERS"), false),
            ("Page.navigate", json!({"url": "https://a.test/"}), Some("THEIRS"), true),
            ("Target.attachToTarget", json!({"targetId": "USERS"}), None, false),
            ("Target.attachToTarget", json!({"targetId": "THEIRS"}), None, true),
            ("Target.disposeBrowserContext", json!({"browserContextId": "MINE"}), None, false),
            ("Target.disposeBrowserContext", json!({"browserContextId": "USERS"}), None, true),
            ("Target.setAutoAttach", json!({"autoAttach": true, "waitForDebuggerOnStart": true}), None, true),
            ("Browser.grantPermissions", json!({"browserContextId": "MINE"}), None, false),
            ("Browser.grantPermissions", json!({}), None, true),
            ("Storage.clearCookies", json!({}), None, true),
            ("Storage.clearCookies", json!({"browserContextId": "MINE"}), None, false),
            ("Fetch.enable", json!({}), None, true),
            ("Fetch.enable", json!({}), Some("MINE"), false),
            ("Security.setIgnoreCertificateErrors", json!({"ignore": true}), None, true),
            ("SystemInfo.getInfo", json!({}), None, true),
            // Through a page's session as well.
            ("Storage.clearCookies", json!({}), Some("MINE"), true),
            ("Storage.clearCookies", json!({}), Some("MINE IN MY CONTEXT"), false),
            ("Storage.getCookies", json!({}), Some("USERS"), true),
            ("Storage.getCookies", json!({}), Some("MINE"), true),
            ("Storage.getCookies", json!({}), Some("MINE IN MY CONTEXT"), false),
            ("Storage.getCookies", json!({"browserContextId": "MINE"}), Some("USERS"), false),
            ("Storage.setSharedStorageEntry", json!({}), Some("USERS"), true),
            ("Storage.getUsageAndQuota", json!({}), Some("USERS"), false),
            ("Network.getAllCookies", json!({}), Some("USERS"), true),
            ("Network.getCookies", json!({}), Some("USERS"), false),
            ("Page.setDownloadBehavior", json!({"behavior": "deny"}), Some("USERS"), true),
            ("Page.setDownloadBehavior", json!({"behavior": "default"}), Some("MINE"), true),
            ("Page.setDownloadBehavior", json!({"behavior": "deny"}), Some("MINE IN MY CONTEXT"), false),
            ("Network.clearBrowserCookies", json!({}), Some("MINE"), true),
            ("Network.clearBrowserCookies", json!({}), Some("MINE IN MY CONTEXT"), false),
            ("Browser.grantPermissions", json!({}), Some("MINE"), true),
            ("Target.disposeBrowserContext", json!({"browserContextId": "USERS"}), Some("MINE"), true),
            ("Target.createTarget", json!({"url": "about:blank"}), Some("MINE"), false),
            ("Tracing.start", json!({}), Some("MINE"), true),
            ("Runtime.evaluate", json!({}), Some("USERS"), false),
        ];
        for (method, params, target, refused) in cases {
            let verdict = verdict(true, method, params.clone(), *target);
            assert_eq!(verdict.is_some(), *refused, "{method} {params} {target:?}: {verdict:?}");
        }
    }
}
