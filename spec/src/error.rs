//! The closed table of error codes, and the report in which a code reaches an agent or a person.
//!
//! A row of the table is `Variant = name, HTTP status, whether a retry can help, hint`.

use crate::limits::{ERROR_DETAILS_CHARS_MAX, ERROR_TEXT_CHARS_MAX};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::fmt;

macro_rules! error_codes {
    ($( $(#[doc = $doc:literal])+ $variant:ident = $name:literal, $status:literal, $retryable:literal, $hint:literal; )+) => {
        /// A stable code. Codes are never reused and never change their meaning.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum ErrorCode {
            $( $(#[doc = $doc])+ #[serde(rename = $name)] $variant, )+
        }

        impl ErrorCode {
            /// Every code, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The code as it is written on every surface.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// Whether a retry can help.
            #[must_use]
            pub const fn retryable(self) -> bool {
                match self { $(Self::$variant => $retryable),+ }
            }

            /// The status code of an HTTP surface's response: 400 to 499 where the request or its script must change,
            /// 500 and above where the host, its browser or its store failed. 422 is a script that ran and failed, 409
            /// and 410 a session or page that is not as the script expects it, 499 a call that its caller cancelled.
            #[must_use]
            pub const fn http_status(self) -> u16 {
                match self { $(Self::$variant => $status),+ }
            }

            /// The default hint: the next step, unless the place that raises the error has a better one.
            #[must_use]
            pub const fn hint(self) -> &'static str {
                match self { $(Self::$variant => $hint),+ }
            }
        }
    };
}

error_codes! {
    // Requests that were refused before anything ran.
    /// The source is not JavaScript or TypeScript.
    SyntaxError = "SYNTAX_ERROR", 400, false, "Fix the marked place and send the whole script again; nothing has run.";
    /// A request, an option or an argument is malformed.
    InvalidArgument = "INVALID_ARGUMENT", 400, false, "Correct what the message lists and call again; nothing was done.";
    /// The caller sent no token, or an unknown one.
    Unauthenticated = "UNAUTHENTICATED", 401, false, "Send the header `Authorization: Bearer TOKEN` with a token of this host.";
    /// No route matches the path and the HTTP method.
    UnknownRoute = "UNKNOWN_ROUTE", 404, false, "Use one of the paths of this host's reference.";
    /// Nothing has the given name or id.
    NotFound = "NOT_FOUND", 404, false, "List what there is, and call again with one of these names.";
    /// The request did not arrive in time.
    RequestTimeout = "REQUEST_TIMEOUT", 408, true, "Send the whole request at once.";
    /// The request is longer than the bound.
    RequestTooLarge = "REQUEST_TOO_LARGE", 413, false, "Send less in one request.";
    /// The source is longer than the bound.
    SourceTooLarge = "SOURCE_TOO_LARGE", 413, false, "Send less source: compute large data in the script or read it from the page.";
    /// The source nests deeper than the bound.
    SourceTooNested = "SOURCE_TOO_NESTED", 413, false, "Flatten the expression: build nested data in a loop or parse it from a JSON string.";
    /// All execution permits are held and the queue is full.
    CapacityExceeded = "CAPACITY_EXCEEDED", 503, true, "Wait for a running execution to end, then call again.";
    /// The sandbox or something it needs could not be prepared.
    NotReady = "NOT_READY", 503, true, "Run `codemode doctor`; it names what is missing and its remedy.";

    // The script.
    /// The script threw.
    ScriptError = "SCRIPT_ERROR", 422, false, "Read the message and the stack, correct the script and send it again.";
    /// The processor time was used up.
    CpuExceeded = "CPU_EXCEEDED", 422, false, "Look for an endless loop. Time stands still while a script runs: to wait, await a timer, an event or a call instead of spinning.";
    /// The wall time was used up.
    TimeExceeded = "TIME_EXCEEDED", 422, false, "Do less in one call, or pass a larger timeout_ms.";
    /// The memory was used up.
    MemoryExceeded = "MEMORY_EXCEEDED", 422, false, "Handle the data in smaller parts, and filter it in the page before it is returned.";
    /// The stack was used up.
    StackOverflow = "STACK_OVERFLOW", 422, false, "Look for unbounded recursion; use a loop for deep structures.";
    /// The script awaits a promise that nothing can settle any more.
    Deadlock = "DEADLOCK", 422, false, "A promise is awaited that nothing will settle: there is no call and no timer left. Check that every `new Promise` calls resolve or reject, and that no function calls itself without end.";
    /// The result cannot cross the boundary.
    ResultUnserialisable = "RESULT_UNSERIALISABLE", 422, false, "Return plain data: objects, arrays, strings, numbers, dates, maps, sets or bytes.";
    /// The result is larger than the bound.
    ResultTooLarge = "RESULT_TOO_LARGE", 422, false, "Return less: filter, count or slice before returning.";

    // Provider calls.
    /// A provider could not be set up for the execution.
    ProviderCreateFailed = "PROVIDER_CREATE_FAILED", 503, true, "Nothing has run. Run `codemode doctor` if it happens again.";
    /// A provider could not clean up after the execution.
    ProviderDisposeFailed = "PROVIDER_DISPOSE_FAILED", 500, false, "The script had succeeded; what could not be cleaned up is named in the message.";
    /// A provider call failed for a reason that no other code describes.
    CallFailed = "CALL_FAILED", 422, false, "Read the message; catch the error in the script if it may happen.";
    /// There is no such method in the namespace.
    UnknownMethod = "UNKNOWN_METHOD", 422, false, "Use one of the methods of the namespace.";
    /// A call took longer than its timeout.
    CallTimeout = "CALL_TIMEOUT", 504, true, "Pass a larger timeoutMs, or wait for the event that shows that the work is done.";
    /// A call was cancelled, or was made too late to be sent.
    CallCancelled = "CALL_CANCELLED", 422, false, "Await every call before the script ends.";
    /// The script made more calls than the bound.
    CallsExceeded = "CALLS_EXCEEDED", 422, false, "Do more in each call: evaluate one function in the page instead of many small ones.";
    /// A rule of the host forbids this.
    PolicyRefused = "POLICY_REFUSED", 403, false, "This is not allowed here; do what the message suggests instead.";
    /// A method may be called only with a person's approval, and there is none.
    ApprovalRequired = "APPROVAL_REQUIRED", 403, false, "This host cannot ask a person for approval: nothing was done. Do without this call, and say in the result what a person should do.";

    // The browser.
    /// No Chromium could be found.
    BrowserNotFound = "BROWSER_NOT_FOUND", 500, false, "Run `codemode setup`, or name a browser with --browser or CODEMODE_BROWSER.";
    /// Chromium did not start.
    BrowserLaunchFailed = "BROWSER_LAUNCH_FAILED", 503, true, "Run `codemode doctor`; the browser's own last words are in the details.";
    /// The browser exited while it was in use.
    BrowserGone = "BROWSER_GONE", 502, true, "The browser died or was killed and its state is lost; run the script again.";
    /// An endpoint could not be reached.
    CdpConnectionFailed = "CDP_CONNECTION_FAILED", 502, true, "Check that the endpoint is right and that the browser still runs.";
    /// The browser refused a command.
    CdpProtocolError = "CDP_PROTOCOL_ERROR", 422, false, "Look the command up in the protocol: its domain says what it takes.";
    /// The page or target is gone.
    CdpTargetClosed = "CDP_TARGET_CLOSED", 410, false, "The page was closed; open or attach to another one.";
    /// The page crashed.
    CdpTargetCrashed = "CDP_TARGET_CRASHED", 502, true, "The page's process crashed; reload it or open another page.";
    /// An open dialog blocks the page.
    DialogOpen = "DIALOG_OPEN", 409, false, "Answer it with the command Page.handleJavaScriptDialog and {accept: true}, then go on.";

    // Page verbs.
    /// No element matched a target before the timeout.
    ElementNotFound = "ELEMENT_NOT_FOUND", 422, false, "Look at what the page shows now: page.snapshot() lists its elements with refs.";
    /// An action needs one element, and the target matched several.
    MultipleMatches = "MULTIPLE_MATCHES", 422, false, "Narrow the target: use one of the suggested locators, filter(), first() or nth().";
    /// The element exists but cannot be acted upon.
    NotInteractable = "NOT_INTERACTABLE", 422, false, "The message says what kept the element from being used: close what covers it, enable it, or wait for it.";
    /// A selector, pattern or role is invalid.
    InvalidSelector = "INVALID_SELECTOR", 422, false, "Correct the selector; nothing was done.";
    /// A function that was evaluated in the page threw.
    JsException = "JS_EXCEPTION", 422, false, "Read the message and correct the function; it runs in the page and sees nothing of the script but its argument.";
    /// A page could not be navigated to its address.
    NavigationFailed = "NAVIGATION_FAILED", 502, true, "Check the address and that its server runs.";

    // Sessions and leases.
    /// Another execution holds the session.
    SessionBusy = "SESSION_BUSY", 409, true, "Wait for the holder to finish, or use another key.";
    /// The lease was lost to another owner.
    SessionLost = "SESSION_LOST", 409, false, "Another execution took the session over; start again in a new call.";
    /// The session expired or was swept.
    SessionExpired = "SESSION_EXPIRED", 410, false, "The session is gone; start a new one and log in again.";

    /// The stored audit differs from what was written.
    AuditBroken = "AUDIT_BROKEN", 500, false, "The store was changed: compare it with a backup. Rows before the broken one are as they were written.";

    // Other failures.
    /// The caller disconnected or cancelled the call.
    Cancelled = "CANCELLED", 499, false, "The call was cancelled; nothing that it started goes on.";
    /// The requested feature does not exist here.
    UnsupportedOperation = "UNSUPPORTED_OPERATION", 422, false, "Use what the message names instead.";
    /// An operation on a file, a folder or a stream failed.
    IoError = "IO_ERROR", 500, true, "Check the path, its permissions and the free space.";
    /// The sandbox failed in a way that the script did not cause.
    SandboxFault = "SANDBOX_FAULT", 500, true, "This sandbox is gone and others are not affected; if the same script does it again, report it with the script.";
    /// The host itself failed.
    HostFault = "HOST_FAULT", 500, true, "This is a defect of codemode; the log has the details.";
}

/// The schema of a code: a string from the table. Written by hand, because a derive inside the macro does not see the
/// renamed variants.
#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for ErrorCode {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        use utoipa::openapi::{ObjectBuilder, Type};
        let codes = Self::ALL.iter().map(|code| code.as_str());
        ObjectBuilder::new().schema_type(Type::String).enum_values(Some(codes)).into()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for ErrorCode {}

impl fmt::Display for ErrorCode {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// The failure as an agent or a person sees it: a stable code, a sentence and the next step. Internals stay in the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ErrorReport {
    /// A code from the closed table.
    pub code: ErrorCode,
    /// What failed, in a sentence for the reader.
    pub message: String,
    /// The next step.
    pub hint: String,
    /// Whether a retry can help.
    pub retryable: bool,
    /// Machine-readable facts: paths, positions, names.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub details: serde_json::Value,
}

impl ErrorReport {
    /// A report with the default hint of its code.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: code.hint().to_owned(),
            retryable: code.retryable(),
            details: serde_json::Value::Null,
        }
    }

    /// Replaces the default hint by a more specific one.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }

    /// Adds one machine-readable fact.
    #[must_use]
    pub fn with_detail(mut self, key: &str, value: impl Into<serde_json::Value>) -> Self {
        if !self.details.is_object() {
            self.details = serde_json::Value::Object(serde_json::Map::new());
        }
        self.details[key] = value.into();
        self
    }

    /// Cuts all texts to their bounds. Every report passes through here before it leaves the host or is returned into a
    /// sandbox, so the code that creates a report may quote input of any length.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        clip(&mut self.message, ERROR_TEXT_CHARS_MAX);
        clip(&mut self.hint, ERROR_TEXT_CHARS_MAX);
        clip_json(&mut self.details, &mut ERROR_DETAILS_CHARS_MAX.clone());
        self
    }
}

/// Cuts a text that is longer than `chars_max`, and appends `…` to it.
pub fn clip(text: &mut String, chars_max: usize) {
    if let Some((end, _)) = text.char_indices().nth(chars_max) {
        text.truncate(end);
        text.push('…');
    }
}

/// Cuts the strings of a value, and drops entries once `left` characters are used up.
fn clip_json(json: &mut Json, left: &mut usize) {
    // Values other than strings count as one character.
    *left = left.saturating_sub(1);
    match json {
        Json::String(text) => {
            clip(text, ERROR_TEXT_CHARS_MAX.min(*left));
            *left = left.saturating_sub(text.chars().count());
        }
        Json::Array(items) => items.retain_mut(|item| {
            let fits = *left > 0;
            if fits {
                clip_json(item, left);
            }
            fits
        }),
        Json::Object(entries) => entries.retain(|key, value| {
            let chars = key.chars().count();
            let fits = chars < *left;
            if fits {
                *left -= chars;
                clip_json(value, left);
            }
            fits
        }),
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}

impl fmt::Display for ErrorReport {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for ErrorReport {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_report_has_bounds_whatever_it_shows() {
        let long = "é".repeat(1_000_000);
        let report = ErrorReport::new(ErrorCode::CallFailed, long.clone())
            .with_hint(long.clone())
            .with_detail("one", long.clone())
            .with_detail("many", vec![long.clone(); 20])
            .with_detail(&long, 1)
            .with_detail("numbers", vec![1; 1_000_000]);
        let report = report.bounded();
        assert_eq!(report.message.chars().count(), ERROR_TEXT_CHARS_MAX + 1);
        assert_eq!(report.hint.chars().count(), ERROR_TEXT_CHARS_MAX + 1);
        assert_eq!(report.details["one"].as_str().unwrap().chars().count(), ERROR_TEXT_CHARS_MAX + 1);
        let all = serde_json::to_string(&report).unwrap().chars().count();
        assert!(all < 3 * ERROR_DETAILS_CHARS_MAX, "{all} characters");
        let short = ErrorReport::new(ErrorCode::CallFailed, "m").with_detail("faults", vec!["a", "b"]);
        assert_eq!(short.clone().bounded(), short);
    }

    #[test]
    fn the_http_status_of_a_code_says_who_must_act() {
        use ErrorCode as Code;
        let of_the_host = [
            (Code::CapacityExceeded, 503),
            (Code::NotReady, 503),
            (Code::ProviderCreateFailed, 503),
            (Code::ProviderDisposeFailed, 500),
            (Code::CallTimeout, 504),
            (Code::BrowserNotFound, 500),
            (Code::BrowserLaunchFailed, 503),
            (Code::BrowserGone, 502),
            (Code::CdpConnectionFailed, 502),
            (Code::CdpTargetCrashed, 502),
            (Code::NavigationFailed, 502),
            (Code::AuditBroken, 500),
            (Code::IoError, 500),
            (Code::SandboxFault, 500),
            (Code::HostFault, 500),
        ];
        let known = [400, 401, 403, 404, 408, 409, 410, 413, 422, 499, 500, 502, 503, 504];
        for code in Code::ALL.iter().copied() {
            let status = code.http_status();
            let expected = of_the_host.iter().find(|(other, _)| *other == code);
            assert!(known.contains(&status), "{code}: {status}");
            assert_eq!(status >= 500, expected.is_some(), "{code}: the fault of the host, or of the caller?");
            assert!(expected.is_none_or(|(_, expected)| status == *expected), "{code}: {status}");
            // Clients retry after 502 to 504, and after no other 4xx status than a timeout (408) and a conflict (409).
            assert!(!matches!(status, 502..=504) || code.retryable(), "{code}: {status} invites to try again");
            assert!(!code.retryable() || matches!(status, 408 | 409 | 500..), "{code}: {status} forbids to try again");
        }
        for (code, status) in [
            (Code::SyntaxError, 400),
            (Code::Unauthenticated, 401),
            (Code::UnknownRoute, 404),
            (Code::NotFound, 404),
            (Code::RequestTimeout, 408),
            (Code::RequestTooLarge, 413),
            (Code::InvalidArgument, 400),
            (Code::SourceTooLarge, 413),
            (Code::ScriptError, 422),
            (Code::PolicyRefused, 403),
            (Code::DialogOpen, 409),
            (Code::SessionBusy, 409),
            (Code::SessionExpired, 410),
            (Code::Cancelled, 499),
        ] {
            assert_eq!(code.http_status(), status, "{code}");
        }
    }

    #[test]
    fn every_code_is_unique_and_says_what_to_do() {
        let names: HashSet<_> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(names.len(), ErrorCode::ALL.len());
        for code in ErrorCode::ALL {
            assert!(code.hint().ends_with('.'), "{code} has no hint");
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
        }
    }
}
