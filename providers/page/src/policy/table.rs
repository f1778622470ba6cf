//! The table of refused commands, and the lists of domains and commands that it uses.

use super::device::DevicePermission;
use serde_json::Value as Json;

/// The browsers that a row applies to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Every browser.
    Anywhere,
    /// External browsers only.
    External,
}

/// When a command is refused.
#[derive(Clone, Copy)]
pub(super) enum Rule {
    /// Always.
    Always,
    /// Without a session.
    WithoutSession,
    /// When its domain is in none of the lists below.
    UnknownDomain,
    /// When this parameter is a URL that scripts may not open.
    Url(&'static str),
    /// When this parameter (a JSON pointer) names a path, or paths, outside of the session's folder.
    Paths(&'static str),
    /// When the predicate holds for this parameter.
    Value(&'static str, fn(&Json) -> bool),
    /// When it has other parameters than these.
    ParamsBut(&'static [&'static str]),
    /// When it has neither this parameter nor a session.
    Unnamed(&'static str),
    /// When it grants a permission that scripts may not grant.
    Permission,
    /// Unless the operator allows this device permission.
    Device(DevicePermission),
    /// When the target that this parameter names, or else that of the session, was not created by this execution.
    OwnTarget(&'static str),
    /// When the browser context that this parameter names, or else that of the session, was not created by this
    /// execution.
    OwnContext(&'static str),
    /// When it is not among these commands.
    Unlisted(&'static [&'static str]),
    /// When it is not among these commands, and [`Rule::OwnContext`] refuses it.
    UnlistedButInOwnContext(&'static [&'static str], &'static str),
    /// When the target that it names, or that of the session, was created by another execution.
    ForeignTarget,
    /// When it is not known yet what the target that it names, or that of the session, shows.
    TargetNotKnownYet,
    /// When the target that it names, or that of the session, is a part of the browser itself, unless it is a tab and
    /// the command is one of these.
    TargetOfTheBrowser(&'static [&'static str]),
}

/// Some commands, and the rule by which they are refused.
pub(super) struct Row {
    /// Full names, `Domain.*`, [`BROWSER_WIDE_ONLY`] or [`ALL`].
    pub(super) methods: &'static [&'static str],
    pub(super) place: Place,
    pub(super) rule: Rule,
    /// The reason, a phrase that follows "is refused: ".
    pub(super) reason: &'static str,
    pub(super) hint: &'static str,
}

/// The pattern of every command.
pub(super) const ALL: &str = "**";
/// The pattern of every command that affects the browser as a whole.
pub(super) const BROWSER_WIDE_ONLY: &str = "*";

pub(super) const OF_THE_BROWSER: &str = "the browser's own pages are not for scripts";
pub(super) const NOT_KNOWN_YET: &str = "it is not known yet what its target will show";
pub(super) const LET_IT_GO_ON: &str =
    "Let it go on first (Runtime.runIfWaitingForDebugger with its sessionId), then send this when its URL is known.";
const THE_MACHINE: &str = "it tells about this machine, or about others who use the browser";
const PAGES_ONLY: &str = "Work with pages: Page, Runtime, DOM, Input and Network.";

/// The commands permitted on a tab that shows a page of the browser's own: those that leave it or close it.
pub(super) const LEAVING: &[&str] = &[
    "Page.bringToFront",
    "Page.close",
    "Page.navigate",
    "Target.activateTarget",
    "Target.closeTarget",
    "Target.getTargetInfo",
];

pub(super) static TABLE: &[Row] = &[
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
        rule: Rule::Always,
        reason: "nothing may be installed into the browser",
        hint: "Run the code in the page with Runtime.evaluate or Page.addScriptToEvaluateOnNewDocument.",
    },
    // Ways to bypass this table, or to escape from the browser.
    Row {
        methods: &[ALL],
        place: Place::Anywhere,
        rule: Rule::UnknownDomain,
        reason: "this version of codemode does not know its domain",
        hint: "⟦describe⟧ lists the domains that can be used.",
    },
    Row {
        methods: &["Target.sendMessageToTarget", "Target.attachToBrowserTarget", "Target.exposeDevToolsProtocol"],
        place: Place::Anywhere,
        rule: Rule::Always,
        reason: "it would reach the protocol around the host",
        hint: "Use ⟦attach targetId⟧ and pass its handle as sessionId; browser commands take no sessionId.",
    },
    Row {
        methods: &["Target.attachToTarget", "Target.setAutoAttach"],
        place: Place::Anywhere,
        rule: Rule::Value("/flatten", |flatten| flatten == &Json::Bool(false)),
        reason: "sessions are flat here",
        hint: "Leave flatten out, or use ⟦attach targetId⟧.",
    },
    Row {
        methods: &["Target.getTargetInfo"],
        place: Place::Anywhere,
        rule: Rule::Unnamed("/targetId"),
        reason: "without a targetId it tells of the browser's own target",
        hint: "Name a page: ⟦send \"Target.getTargetInfo\", {targetId}⟧; ⟦targets⟧ lists them.",
    },
    Row {
        methods: &["Target.createBrowserContext"],
        place: Place::Anywhere,
        rule: Rule::ParamsBut(&["disposeOnDetach"]),
        reason: "a context has no proxy and no network access of its own",
        hint: "Make it without proxyServer, proxyBypassList and originsWithUniversalNetworkAccess.",
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
        rule: Rule::Always,
        reason: "it reaches beyond the pages",
        hint: PAGES_ONLY,
    },
    Row {
        methods: &[
            "SystemInfo.*",
            // A trace contains the browser's command line, with the paths of its folders.
            "Tracing.*",
            "Browser.getBrowserCommandLine",
            "Browser.getHistogram",
            "Browser.getHistograms",
            "Memory.getBrowserSamplingProfile",
        ],
        place: Place::Anywhere,
        rule: Rule::Always,
        reason: THE_MACHINE,
        hint: "Measure a page with Performance.getMetrics, PerformanceTimeline or Profiler.",
    },
    Row {
        methods: &["Browser.grantPermissions", "Browser.setPermission"],
        place: Place::Anywhere,
        rule: Rule::Permission,
        reason: "devices, the screen and the local network are not a script's to give to pages",
        hint: "Grant only what concerns the page, as geolocation, notifications or clipboardReadWrite; an operator allows \
               more in the configuration file: [policy] device_permissions.",
    },
    Row {
        methods: &["DeviceAccess.selectPrompt"],
        place: Place::Anywhere,
        rule: Rule::Device(DevicePermission::Bluetooth),
        reason: "devices are not a script's to give to pages",
        hint: "Cancel the prompt with DeviceAccess.cancelPrompt; an operator allows more in the configuration file: [policy] \
               device_permissions.",
    },
    Row {
        methods: &["Fetch.*", "Security.*"],
        place: Place::Anywhere,
        rule: Rule::WithoutSession,
        reason: "it would concern every page of the browser, and what the browser itself does",
        hint: "Send it to a page of yours: ⟦send method, params, {sessionId}⟧.",
    },
    Row {
        methods: &[
            "BluetoothEmulation.*",
            "Browser.addMockCamera",
            "Browser.addPrivacySandboxEnrollmentOverride",
            "Browser.setDockTile",
            "Memory.getDOMCountersForLeakDetection",
            "Memory.prepareForLeakDetection",
            "Memory.setPressureNotificationsSuppressed",
            "Memory.simulatePressureNotification",
        ],
        place: Place::Anywhere,
        rule: Rule::Always,
        reason: "it changes the browser as a whole",
        hint: PAGES_ONLY,
    },
    Row {
        methods: &[BROWSER_WIDE_ONLY],
        place: Place::Anywhere,
        rule: Rule::Unlisted(BROWSER_WIDE),
        reason: "it concerns the browser as a whole, and is not among the commands that may",
        hint: PAGES_ONLY,
    },
    Row {
        methods: &[ALL],
        place: Place::Anywhere,
        rule: Rule::TargetOfTheBrowser(LEAVING),
        reason: OF_THE_BROWSER,
        hint: "Go elsewhere in this tab with Page.navigate, or make one with ⟦send \"Target.createTarget\", {url}⟧.",
    },
    Row {
        methods: &[ALL],
        place: Place::Anywhere,
        rule: Rule::TargetNotKnownYet,
        reason: NOT_KNOWN_YET,
        hint: LET_IT_GO_ON,
    },
    // What the host relies on.
    Row {
        methods: &["Page.disable"],
        place: Place::Anywhere,
        rule: Rule::Always,
        reason: "the host must see the page's dialogs",
        hint: "Leave Page enabled; read only the events that you need with ⟦events {names}⟧.",
    },
    Row {
        methods: &["Target.setDiscoverTargets"],
        place: Place::Anywhere,
        rule: Rule::Value("/discover", |discover| discover != &Json::Bool(true)),
        reason: "the host must see which targets there are",
        hint: "Leave discovery on; read only the events that you need with ⟦events {names}⟧.",
    },
    Row {
        methods: &["Target.setDiscoverTargets"],
        place: Place::Anywhere,
        rule: Rule::ParamsBut(&["discover"]),
        reason: "the host must see which targets there are",
        hint: "Leave the filter out; read only the events that you need with ⟦events {names}⟧.",
    },
    // Parts of an external browser that are not the script's own.
    Row {
        methods: &["Browser.close", "Browser.crash", "Browser.crashGpuProcess"],
        place: Place::External,
        rule: Rule::Always,
        reason: "this browser was not started by codemode and stays open",
        hint: "Close the tabs that you made with ⟦send \"Target.closeTarget\", {targetId}⟧; at the end they are closed \
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
        methods: &[ALL],
        place: Place::External,
        rule: Rule::ForeignTarget,
        reason: "this tab belongs to another execution",
        hint: "Make a tab of your own with ⟦send \"Target.createTarget\", {url}⟧.",
    },
    Row {
        methods: &["Target.disposeBrowserContext"],
        place: Place::External,
        rule: Rule::OwnContext("/browserContextId"),
        reason: "this browser context was not made by this script",
        hint: "Dispose only of contexts that you made with Target.createBrowserContext.",
    },
    Row {
        methods: &["Target.setAutoAttach", "Target.autoAttachRelated"],
        place: Place::External,
        rule: Rule::Value("/waitForDebuggerOnStart", |wait| wait == &Json::Bool(true)),
        reason: "it would stop tabs that are not the script's own",
        hint: "Pass waitForDebuggerOnStart: false.",
    },
    Row {
        methods: &[BROWSER_WIDE_ONLY],
        place: Place::External,
        rule: Rule::UnlistedButInOwnContext(EXTERNAL_BROWSER_WIDE, "/browserContextId"),
        reason: "it concerns the whole browser, which is not the script's own",
        hint: "Make a browser context with Target.createBrowserContext and pass its browserContextId, or send a page's \
               command to a tab of yours with sessionId.",
    },
];

/// Domains that exist only on a page, frame or worker. Found by sending commands of each to the browser itself
/// (Chromium 156) without a session.
const PAGE_DOMAINS: &[&str] = &[
    "Accessibility",
    "Ads",
    "Animation",
    "Audits",
    "Autofill",
    "BackgroundService",
    "CSS",
    "CacheStorage",
    "Console",
    "CrashReportContext",
    "DOM",
    "DOMDebugger",
    "DOMSnapshot",
    "DOMStorage",
    "Debugger",
    "DeviceAccess",
    "DeviceOrientation",
    "DigitalCredentials",
    "EventBreakpoints",
    "FedCm",
    "FileSystem",
    "FindInPage",
    "HeadlessExperimental",
    "HeapProfiler",
    "IndexedDB",
    "Input",
    "Inspector",
    "LayerTree",
    "Log",
    "Media",
    "Network",
    "Overlay",
    "Page",
    "Performance",
    "PerformanceTimeline",
    "Preload",
    "Profiler",
    "Runtime",
    "Schema",
    "ServiceWorker",
    "SmartCardEmulation",
    "WebAudio",
    "WebAuthn",
    "WebMCP",
];
/// Domains of both pages and the browser as a whole: the effect depends on where the command is sent.
const SHARED_DOMAINS: &[&str] = &["Emulation", "Fetch", "IO", "Security"];
/// Domains that affect the browser or the browser context, even when sent through a page's session.
const BROWSER_DOMAINS: &[&str] = &[
    "BluetoothEmulation",
    "Browser",
    "Cast",
    "Extensions",
    "Memory",
    "PWA",
    "Storage",
    "SystemInfo",
    "Target",
    "Tethering",
    "Tracing",
];
/// Page commands that affect all pages of their browser context, or the screens of all.
const CONTEXT_WIDE: &[&str] = &[
    "Emulation.addScreen",
    "Emulation.getScreenInfos",
    "Emulation.removeScreen",
    "Emulation.setPrimaryScreen",
    "Emulation.updateScreen",
    "Network.clearBrowserCache",
    "Network.clearBrowserCookies",
    "Network.getAllCookies",
    "Page.setDownloadBehavior",
];
/// Permitted commands to the browser as a whole, unless another row refuses them.
const BROWSER_WIDE: &[&str] = &[
    "Browser.cancelDownload",
    "Browser.close",
    "Browser.crash",
    "Browser.crashGpuProcess",
    "Browser.getGlobalPrivacyControl",
    "Browser.getVersion",
    "Browser.getWindowBounds",
    "Browser.getWindowForTarget",
    "Browser.grantPermissions",
    "Browser.resetPermissions",
    "Browser.setContentsSize",
    "Browser.setDownloadBehavior",
    "Browser.setGlobalPrivacyControl",
    "Browser.setPermission",
    "Browser.setWindowBounds",
    "Emulation.addScreen",
    "Emulation.getScreenInfos",
    "Emulation.removeScreen",
    "Emulation.setPrimaryScreen",
    "Emulation.updateScreen",
    "IO.close",
    "IO.read",
    "Memory.forciblyPurgeJavaScriptMemory",
    "Memory.getAllTimeSamplingProfile",
    "Memory.getDOMCounters",
    "Memory.getSamplingProfile",
    "Memory.startSampling",
    "Memory.stopSampling",
    "Network.clearBrowserCache",
    "Network.clearBrowserCookies",
    "Network.getAllCookies",
    "Page.setDownloadBehavior",
    "Storage.clearCookies",
    "Storage.clearDataForOrigin",
    "Storage.clearDataForStorageKey",
    "Storage.clearPrivateVerificationTokens",
    "Storage.clearTrustTokens",
    "Storage.deletePrivateVerificationToken",
    "Storage.deleteStorageBucket",
    "Storage.getCookies",
    "Storage.getPrivateVerificationTokens",
    "Storage.getPrivateVerificationTokensIssuerConfigs",
    "Storage.getStorageKey",
    "Storage.getStorageKeyForFrame",
    "Storage.getTrustTokens",
    "Storage.getUsageAndQuota",
    "Storage.overrideQuotaForOrigin",
    "Storage.runBounceTrackingMitigations",
    "Storage.setCookies",
    "Storage.setPrivateVerificationTokensTracking",
    "Storage.setStorageBucketTracking",
    "Storage.trackCacheStorageForOrigin",
    "Storage.trackCacheStorageForStorageKey",
    "Storage.trackIndexedDBForOrigin",
    "Storage.trackIndexedDBForStorageKey",
    "Storage.untrackCacheStorageForOrigin",
    "Storage.untrackCacheStorageForStorageKey",
    "Storage.untrackIndexedDBForOrigin",
    "Storage.untrackIndexedDBForStorageKey",
    "Target.activateTarget",
    "Target.attachToTarget",
    "Target.autoAttachRelated",
    "Target.closeTarget",
    "Target.createBrowserContext",
    "Target.createTarget",
    "Target.detachFromTarget",
    "Target.disposeBrowserContext",
    "Target.getBrowserContexts",
    "Target.getTargetInfo",
    "Target.getTargets",
    "Target.setAutoAttach",
    "Target.setDiscoverTargets",
];
/// The subset of [`BROWSER_WIDE`] that is permitted on an external browser outside of a browser context of the script's
/// own: they only read, or other rows check them.
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

pub(super) fn domain_of(name: &str) -> &str {
    name.split('.').next().unwrap_or_default()
}

/// Whether a command or an event of this name needs a session.
pub fn is_of_a_page(name: &str) -> bool {
    // Screens belong to the browser; everything else in `Emulation` applies to a page.
    let is_emulated = domain_of(name) == "Emulation" && !BROWSER_WIDE.contains(&name);
    is_emulated || PAGE_DOMAINS.contains(&domain_of(name))
}

/// Whether one of the lists contains the domain of a command or an event.
pub(super) fn is_known(name: &str) -> bool {
    [PAGE_DOMAINS, SHARED_DOMAINS, BROWSER_DOMAINS].iter().any(|domains| domains.contains(&domain_of(name)))
}

/// Whether a command affects the browser, or a browser context, as a whole.
pub(super) fn is_browser_wide(method: &str, has_session: bool) -> bool {
    !has_session || CONTEXT_WIDE.contains(&method) || BROWSER_DOMAINS.contains(&domain_of(method))
}

/// Whether every command of a domain is refused on every browser.
pub fn is_refused(domain: &str) -> bool {
    let all = format!("{domain}.*");
    TABLE.iter().any(|row| {
        row.place == Place::Anywhere && matches!(row.rule, Rule::Always) && row.methods.contains(&all.as_str())
    })
}

/// Whether the table covers a command to the browser as a whole by name: it is listed as permitted, or a row that
/// refuses it names it.
#[cfg(test)]
pub(super) fn is_judged(method: &str) -> bool {
    let all = format!("{}.*", domain_of(method));
    let is_named = |row: &Row| row.methods.iter().any(|pattern| *pattern == method || *pattern == all);
    let refuses = |row: &Row| matches!(row.rule, Rule::Always | Rule::WithoutSession) && row.place == Place::Anywhere;
    // A page command that is sent to the browser is answered that it needs a session.
    is_of_a_page(method) || BROWSER_WIDE.contains(&method) || TABLE.iter().any(|row| refuses(row) && is_named(row))
}
