use super::{table::TABLE, *};
use codemode_chromium::{
    Browser, CdpError, Command, Connection, LaunchOptions, Protocol, cdp::browser_protocol::browser::GetVersionParams,
};
use serde_json::json;
use std::{path::PathBuf, time::Duration};

struct Fake {
    external: bool,
    folder: PathBuf,
}

impl PolicyFacts for Fake {
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
    fn access(&self, target: &str) -> TargetAccess {
        match target {
            "UI" => TargetAccess::Refused(RefusalReason::Kind),
            "SETTINGS" => TargetAccess::Refused(RefusalReason::Scheme("chrome".to_owned())),
            "OPENING" => TargetAccess::NotKnownYet,
            "NONE" => TargetAccess::Absent,
            _ => TargetAccess::Usable,
        }
    }
    fn is_tab(&self, target: &str) -> bool {
        target != "UI"
    }
    fn device_permissions(&self) -> &[DevicePermission] {
        &[DevicePermission::Midi]
    }
}

fn verdict(external: bool, method: &str, params: Json, target: Option<&str>) -> Option<String> {
    let facts = Fake { external, folder: PathBuf::from("/state/downloads/x") };
    let request = Request { method, params: &params, target, has_session: target.is_some() };
    let error = check(request, &facts).err()?;
    assert_eq!(error.code, ErrorCode::PolicyRefused);
    assert!(error.hint.ends_with('.') && !error.hint.is_empty());
    Some(error.message)
}

#[test]
fn the_index_omits_no_row_that_names_a_command() {
    let patterns = TABLE.iter().flat_map(|row| row.methods);
    let of_rows = patterns.map(|pattern| pattern.replace('*', "anything"));
    let others = ["Runtime.evaluate", "Emulation.addScreen", "Network.getAllCookies", "Nothing.known", "Nothing", ""];
    let mut methods: Vec<String> = of_rows.chain(others.map(str::to_owned)).collect();
    methods.sort();
    methods.dedup();
    assert!(methods.len() > TABLE.len());
    for method in &methods {
        for has_session in [false, true] {
            let request = Request { method, params: &Json::Null, target: None, has_session };
            let is_named = |row: &&Row| row.methods.iter().any(|pattern| names(pattern, request));
            let positions = |rows: Vec<&Row>| rows.into_iter().map(std::ptr::from_ref).collect::<Vec<_>>();
            let found = index::rows_for(method).iter().copied().filter(|row| is_named(row)).collect();
            assert_eq!(positions(found), positions(TABLE.iter().filter(is_named).collect()), "{method}");
        }
    }
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
        // Not URLs to our parser.
        "file://a b/etc/passwd",
        " FI\tLE://a b/etc/passwd",
        "chrome://a b/",
        "view-source:http://a b/",
    ] {
        for method in ["Page.navigate", "Target.createTarget", "Network.loadNetworkResource"] {
            assert_eq!(
                verdict(false, method, json!({ "url": url }), None),
                Some(format!("{method} is refused: only http:, https:, data:, blob: and about:blank may be opened")),
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
        // Likewise through a page's session.
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

#[test]
fn what_a_target_takes_whose_url_is_not_known_yet() {
    for external in [false, true] {
        for method in ["Runtime.runIfWaitingForDebugger", "Target.detachFromTarget"] {
            assert_eq!(verdict(external, method, json!({}), Some("OPENING")), None, "{method}");
        }
        for (method, params) in [
            ("Page.addScriptToEvaluateOnNewDocument", json!({"source": "1"})),
            ("Runtime.addBinding", json!({"name": "b"})),
            ("Runtime.enable", json!({})),
            ("Runtime.evaluate", json!({"expression": "1"})),
            ("Fetch.enable", json!({})),
            ("Target.setAutoAttach", json!({"autoAttach": true, "waitForDebuggerOnStart": false})),
        ] {
            let refused = format!("{method} is refused: it is not known yet what its target will show");
            assert_eq!(verdict(external, method, params, Some("OPENING")), Some(refused));
        }
        let related = json!({"targetId": "OPENING", "waitForDebuggerOnStart": false});
        assert!(verdict(external, "Target.autoAttachRelated", related, None).is_some());
        assert!(verdict(external, "Runtime.evaluate", json!({}), Some("NONE")).is_some(), "it fails closed");
        assert!(verdict(external, "Target.attachToTarget", json!({"targetId": "NONE"}), None).is_some());
    }
}

#[test]
fn the_browser_as_a_whole_takes_what_is_listed() {
    let own = [
        ("Browser.getVersion", json!({})),
        ("Browser.setWindowBounds", json!({"windowId": 1, "bounds": {}})),
        ("Storage.getCookies", json!({})),
        ("Target.createBrowserContext", json!({"disposeOnDetach": true})),
        ("Target.getTargetInfo", json!({"targetId": "A"})),
        ("Browser.grantPermissions", json!({"permissions": ["geolocation", "midi"]})),
        ("Browser.setPermission", json!({"permission": {"name": "camera"}, "setting": "denied"})),
        ("IO.read", json!({"handle": "1"})),
    ];
    for (method, params) in own {
        assert_eq!(verdict(false, method, params, None), None, "{method}");
    }
    let refused = [
        ("Target.getTargetInfo", json!({})),
        ("Target.createBrowserContext", json!({"proxyServer": "127.0.0.1:1"})),
        ("Target.createBrowserContext", json!({"proxyBypassList": "<-loopback>"})),
        ("Target.createBrowserContext", json!({"originsWithUniversalNetworkAccess": ["https://a.test"]})),
        ("Target.setDiscoverTargets", json!({"discover": true, "filter": []})),
        ("SystemInfo.getInfo", json!({})),
        ("Tracing.start", json!({})),
        ("Browser.getBrowserCommandLine", json!({})),
        ("Browser.grantPermissions", json!({"permissions": ["videoCapture"]})),
        ("Browser.setPermission", json!({"permission": {"name": "microphone"}, "setting": "granted"})),
        ("Fetch.enable", json!({})),
        ("Security.setIgnoreCertificateErrors", json!({"ignore": true})),
        ("Network.enable", json!({})),
        ("Storage.somethingNew", json!({})),
        ("Browser.somethingNew", json!({})),
        ("SomethingNew.enable", json!({})),
    ];
    for (method, params) in refused {
        for external in [false, true] {
            assert!(verdict(external, method, params.clone(), None).is_some(), "{method} {params}");
        }
    }
    // Refused through a page's session as well, where the domain is the browser's.
    for method in ["SystemInfo.getInfo", "Tracing.start", "Storage.somethingNew", "SomethingNew.enable"] {
        assert!(verdict(false, method, json!({}), Some("A")).is_some(), "{method}");
    }
    for method in ["Fetch.enable", "Security.setIgnoreCertificateErrors", "Network.enable", "Target.getTargetInfo"] {
        assert_eq!(verdict(false, method, json!({}), Some("A")), None, "{method}");
    }
    assert!(verdict(false, "DeviceAccess.selectPrompt", json!({}), Some("A")).is_some());
}

/// A new Chromium has new commands. None of them may be sent to the browser as a whole until the table covers it, and
/// no domain may be used that was not reviewed.
#[tokio::test]
async fn every_command_to_the_browser_as_a_whole_is_judged() {
    const PATIENCE: Duration = Duration::from_secs(60);
    let profiles = tempfile::tempdir().unwrap();
    let executable = codemode_chromium::install(&|line| eprintln!("{line}")).await.unwrap();
    let options = LaunchOptions::new(executable.path, profiles.path().to_owned(), "judged");
    let options = LaunchOptions { listens: true, start_timeout: PATIENCE, ..options };
    let browser = Browser::launch(options).await.unwrap();
    let endpoint = browser.endpoint().expect("it listens");
    let connection = Connection::connect(endpoint, PATIENCE).await.unwrap();
    let version = connection.execute(&GetVersionParams::default(), None, PATIENCE).await.unwrap();
    let protocol = Protocol::read(endpoint, &version, PATIENCE).await.unwrap();
    let mut unjudged = Vec::new();
    let mut answered = 0;
    for domain in protocol.domains() {
        if !table::is_known(&domain.name) {
            unjudged.push(domain.name.clone());
        }
        for command in &domain.commands {
            let method = format!("{}.{}", domain.name, command.name);
            if ["Browser.close", "Browser.crash", "Browser.crashGpuProcess"].contains(&method.as_str()) {
                continue;
            }
            // Each parameter has a wrong type: the command is found, or not, but never executed.
            let wrong = |name: &str| (name.to_owned(), json!({"no": "such"}));
            let params: serde_json::Map<_, _> = command.parameters.iter().map(|known| wrong(&known.name)).collect();
            let command = Command { method: &method, params: params.into(), session: None, timeout: PATIENCE };
            if matches!(connection.call(command).await, Err(CdpError::Protocol { code: -32_601, .. })) {
                continue;
            }
            answered += 1;
            if !table::is_judged(&method) {
                unjudged.push(method);
            }
        }
    }
    let permissions = &protocol.type_("Browser.PermissionType").unwrap().shape.values;
    unjudged.extend(permissions.iter().filter(|name| !permissions::is_known(name)).cloned());
    connection.close().await;
    browser.close().await.unwrap();
    assert_eq!(unjudged, Vec::<String>::new(), "say in policy/table.rs what becomes of them");
    assert!(answered > 100 && permissions.len() > 30, "{answered} commands, {} permissions", permissions.len());
}
