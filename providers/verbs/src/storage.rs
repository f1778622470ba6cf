//! Login state: cookies, and the local storage of origins. It is exported and loaded by the script as an object, or by
//! the host under a name; in the latter case the script sees no value of it.
//!
//! Only a document of an origin can write its local storage. Such a document is created without the site: a scratch
//! tab, hidden from scripts, navigates to the origin; the request is intercepted before it is sent, and answered with
//! an empty page.

use crate::{reports, tab::Tab, verbs::Verbs, world::is_lost};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use codemode_page::{Event, cookie_as_set, cookie_batches};
use codemode_provider::{LoginState, check_login_name};
use codemode_spec::{
    ErrorCode, ErrorReport,
    limits::{LOGIN_BYTES_MAX, LOGIN_ORIGINS_MAX},
};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use std::{collections::BTreeSet, time::Duration};
use tokio::time::Instant;
use url::Url;

/// Reads the local storage of an origin. It runs in the engine's world, where scripts of the page can forge neither the
/// items nor the origin.
const READ: &str = "function() {
    try {
        const names = Array.from({ length: localStorage.length }, (_, place) => localStorage.key(place));
        const items = names.map((name) => ({ name, value: localStorage.getItem(name) }));
        return { origin: location.origin, localStorage: items };
    } catch {
        return null;
    }
}";
/// Writes the items, in an empty document of the origin.
const WRITE: &str = "function(origin, items) {
    if (location.origin !== origin) return 'its address leads elsewhere';
    try {
        for (const { name, value } of items) localStorage.setItem(name, value);
        return '';
    } catch (error) {
        return error.name;
    }
}";
/// The empty page. It declares an empty icon, for which the browser would otherwise send a request to the site.
const EMPTY: &str = "<!doctype html><link rel=icon href=data:,>";
const STOPPED: &str = "Fetch.requestPaused";
const ARRIVED: &str = "Page.frameNavigated";
/// The timeout for reading the local storage of another page, which may be busy.
const OTHER_PAGE_MAX: Duration = Duration::from_secs(5);

/// Cookies and local storage. It has no `Debug`, since it contains credentials.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct StorageState {
    #[serde(default)]
    cookies: Vec<Json>,
    #[serde(default)]
    origins: Vec<OriginState>,
}

/// The local storage of an origin.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OriginState {
    origin: String,
    #[serde(default)]
    local_storage: Vec<Item>,
}

#[derive(Clone, Serialize, Deserialize)]
struct Item {
    name: String,
    value: String,
}

impl StorageState {
    fn checked(self) -> Result<Self, ErrorReport> {
        let is_origin = |text: &str| {
            let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
            url.is_some_and(|url| url.origin().ascii_serialization() == text)
        };
        if let Some(wrong) = self.origins.iter().find(|state| !is_origin(&state.origin)) {
            let message = format!("{:?} is no origin", codemode_page::short(&wrong.origin).to_string());
            return Err(reports::invalid(message).with_hint("An origin is as https://shop.example, without a path."));
        }
        if self.origins.len() > LOGIN_ORIGINS_MAX {
            let count = self.origins.len();
            return Err(reports::invalid(format!(
                "the state has {count} origins, and {LOGIN_ORIGINS_MAX} are the most that are loaded"
            )));
        }
        Ok(self)
    }
}

impl Tab<'_> {
    /// The cookies of the page's browser context and the local storage of the page's origin.
    ///
    /// # Errors
    /// When the page is closed.
    pub async fn storage_state(&self) -> Result<Json, ErrorReport> {
        let cookies = self.cookies(&[]).await?;
        let origins: Vec<_> = self.kept_by_origin().await?.into_iter().collect();
        Ok(json!({"cookies": cookies, "origins": origins}))
    }

    /// Saves a login state under a name: all cookies of the page's browser context, and the local storage of the
    /// origins of its pages.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT`, `UNSUPPORTED_OPERATION` if the execution has no session key or the browser is external,
    /// `RESULT_TOO_LARGE`.
    pub async fn save_login(&self, name: &str) -> Result<(), ErrorReport> {
        check_login_name(name)?;
        self.verbs.refuse_external()?;
        let state = LoginState::new(json!(self.whole_state().await?).to_string());
        if state.expose().len() > LOGIN_BYTES_MAX {
            let bytes = state.expose().len();
            let message = format!("the login state has {bytes} bytes, and {LOGIN_BYTES_MAX} are the most");
            return Err(ErrorReport::new(ErrorCode::ResultTooLarge, message)
                .with_hint("Close the pages whose local storage it does not need, and save it again."));
        }
        self.verbs.logins().save(name, state, self.verbs.browser.lease_mark().as_ref()).await
    }

    /// Loads the login state of this name into the page's browser context.
    ///
    /// # Errors
    /// `NOT_FOUND` if there is none of this name, `UNSUPPORTED_OPERATION` as [`Self::save_login`], `NOT_READY` if it
    /// cannot be decrypted.
    pub async fn load_login(&self, name: &str) -> Result<(), ErrorReport> {
        check_login_name(name)?;
        self.verbs.refuse_external()?;
        let state = self.verbs.logins().load(name, self.verbs.browser.lease_mark().as_ref()).await?;
        // Drop serde's message, which may quote the text.
        let read = serde_json::from_str::<StorageState>(state.expose());
        let state = read.map_err(|_| ErrorReport::new(ErrorCode::HostFault, "a login state is not what was saved"))?;
        let cookies = state.cookies.len();
        let refused = self.put_cookies(state.cookies, true).await?;
        if refused > 0 {
            self.warn(format!("The browser took {refused} of the {cookies} cookies of {name:?} no more."));
        }
        self.put_local_storage(&state.origins).await
    }

    /// Loads cookies into the page's browser context, and local storage into its origins.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if the state is invalid, `CDP_PROTOCOL_ERROR` if one of its cookies is.
    pub async fn put_storage_state(&self, state: StorageState) -> Result<(), ErrorReport> {
        let state = state.checked()?;
        self.put_cookies(state.cookies, false).await?;
        self.put_local_storage(&state.origins).await
    }

    /// All cookies of the page's browser context, and the local storage of the origins of its pages.
    async fn whole_state(&self) -> Result<StorageState, ErrorReport> {
        let params = self.own_context().await?.map_or_else(|| json!({}), |own| json!({"browserContextId": own}));
        let mut answer = self.send_to_browser("Storage.getCookies", params).await?;
        let Json::Array(cookies) = answer["cookies"].take() else { return Ok(StorageState::default()) };
        let mut state = StorageState { cookies: cookies.into_iter().map(cookie_as_set).collect(), origins: Vec::new() };
        let mut seen = BTreeSet::new();
        let mut left_out = 0;
        for page in self.pages_beside() {
            let deadline = self.deadline.min(Instant::now() + OTHER_PAGE_MAX);
            let tab = Tab::new(self.verbs, self.browser.clone(), page.clone(), self.timeout, deadline);
            let kept = if page == self.id { self.kept_by_origin().await } else { tab.kept_by_origin().await };
            match kept {
                Ok(Some(kept)) if !seen.insert(kept.origin.clone()) => {}
                Ok(Some(_)) if state.origins.len() >= LOGIN_ORIGINS_MAX => left_out += 1,
                Ok(Some(kept)) => state.origins.push(kept),
                Ok(None) => {}
                Err(error) if page == self.id => return Err(error),
                Err(error) => self.warn(format!("The local storage of another page was not saved: {}", error.message)),
            }
        }
        if left_out > 0 {
            self.warn(format!(
                "The local storage of {left_out} origins was not saved: {LOGIN_ORIGINS_MAX} are the most."
            ));
        }
        Ok(state)
    }

    /// The pages of the page's browser context that may have an origin, the page itself first.
    fn pages_beside(&self) -> Vec<String> {
        self.browser.catch_up();
        let context = self.browser.targets.target(&self.id).and_then(|page| page.context);
        let others = self.browser.targets.visible().into_iter().filter(|target| {
            target.kind == "page"
                && target.id != self.id
                && target.context == context
                && (target.url.starts_with("http:") || target.url.starts_with("https:"))
                && !self.verbs.scratch_tabs.has(&target.id)
        });
        std::iter::once(self.id.clone()).chain(others.map(|target| target.id)).collect()
    }

    /// The local storage of the page's origin; `None` if it is empty or the page has no origin.
    async fn kept_by_origin(&self) -> Result<Option<OriginState>, ErrorReport> {
        let frame = self.main_frame();
        let answer = loop {
            match self.call_engine(&frame, READ, json!([]), true).await {
                // Another document has replaced it.
                Err(error) if is_lost(&error) && !self.left().is_zero() => drop(self.forget_world(&frame)),
                answer => break answer?,
            }
        };
        let kept: Option<OriginState> = serde_json::from_value(answer["value"].clone()).unwrap_or_default();
        Ok(kept.filter(|kept| kept.origin.starts_with("http") && !kept.local_storage.is_empty()))
    }

    /// Sets cookies. With `may_refuse`, returns how many the browser refused; otherwise a refusal is an error.
    async fn put_cookies(&self, cookies: Vec<Json>, may_refuse: bool) -> Result<usize, ErrorReport> {
        let mut refused = 0;
        for batch in cookie_batches(cookies.into_iter().map(as_set).collect()) {
            match self.set_cookies(&json!(batch)).await {
                Err(error) if may_refuse && error.code == ErrorCode::CdpProtocolError => {
                    for cookie in batch {
                        match self.set_cookies(&json!([cookie])).await {
                            Err(error) if error.code == ErrorCode::CdpProtocolError => refused += 1,
                            set => set?,
                        }
                    }
                }
                set => set?,
            }
        }
        Ok(refused)
    }

    async fn put_local_storage(&self, origins: &[OriginState]) -> Result<(), ErrorReport> {
        if origins.iter().all(|origin| origin.local_storage.is_empty()) {
            return Ok(());
        }
        let scratch = self.open_scratch_tab().await?;
        let put = scratch.put_all(origins).await;
        self.verbs.close_scratch_tab(&scratch).await;
        // Keep the page, not the scratch tab, as the page that the script last used.
        self.browser.targets.used(&self.id);
        for warning in put? {
            self.warn(warning);
        }
        Ok(())
    }

    /// On a scratch tab: writes the local storage of each origin. Returns warnings for the origins that failed.
    async fn put_all(&self, origins: &[OriginState]) -> Result<Vec<String>, ErrorReport> {
        self.send("Network.setBypassServiceWorker", json!({"bypass": true})).await?;
        self.send("Network.setCacheDisabled", json!({"cacheDisabled": true})).await?;
        self.subscribe(ARRIVED).await?;
        self.send("Fetch.enable", json!({"patterns": [{"urlPattern": "*", "requestStage": "Request"}]})).await?;
        let mut warnings = Vec::new();
        for OriginState { origin, local_storage } in origins.iter().filter(|origin| !origin.local_storage.is_empty()) {
            self.stand_in(origin).await?;
            let global = self.send("Runtime.evaluate", json!({"expression": "globalThis"})).await?;
            let params = json!({
                "objectId": global["result"]["objectId"], "functionDeclaration": WRITE, "returnByValue": true,
                "arguments": [{"value": origin}, {"value": local_storage}],
            });
            let answer = self.send("Runtime.callFunctionOn", params).await?;
            match answer["result"]["value"].as_str() {
                Some("") => {}
                why => {
                    let why = why.unwrap_or("its document failed");
                    warnings.push(format!("The local storage of {origin} was not put back: {why}."));
                }
            }
        }
        Ok(warnings)
    }

    /// On a scratch tab: creates an empty document of an origin, without a request to its server.
    async fn stand_in(&self, origin: &str) -> Result<(), ErrorReport> {
        let session = self.session().await?;
        let mut from = self.cursor();
        let mut navigation = std::pin::pin!(self.send("Page.navigate", json!({"url": format!("{origin}/")})));
        let mut is_answered = false;
        let is_meant = |event: &Event| {
            event.session.as_deref() == Some(&session) && [STOPPED, ARRIVED].contains(&event.method.as_str())
        };
        let mut left = std::pin::pin!(tokio::time::sleep(self.left()));
        loop {
            let event = tokio::select! {
                biased;
                event = self.browser.events().wait(from, &is_meant) => {
                    event.ok_or_else(|| codemode_page::gone("its connection is closed"))?
                }
                arrived = &mut navigation, if !is_answered => {
                    is_answered = true;
                    match arrived?["errorText"].as_str() {
                        Some(error) => {
                            let message = format!("a document of {origin} could not be made: {error}");
                            return Err(ErrorReport::new(ErrorCode::CallFailed, message));
                        }
                        None => continue,
                    }
                }
                () = &mut left => return Err(self.too_late("a document of an origin of the state")),
            };
            from = event.seq + 1;
            if event.method == ARRIVED {
                // A scratch tab has no child frames, so this is its document.
                return Ok(());
            }
            let headers = json!([
                {"name": "content-type", "value": "text/html"}, {"name": "cache-control", "value": "no-store"},
            ]);
            let empty = json!({
                "requestId": event.params["requestId"], "responseCode": 200, "responseHeaders": headers,
                "body": STANDARD.encode(EMPTY),
            });
            self.send("Fetch.fulfillRequest", empty).await?;
        }
    }
}

impl Verbs {
    /// Removes the login state of this name.
    ///
    /// # Errors
    /// `NOT_FOUND` if there is none of this name, `UNSUPPORTED_OPERATION` as [`Tab::save_login`].
    pub async fn remove_login(&self, name: &str) -> Result<(), ErrorReport> {
        check_login_name(name)?;
        self.refuse_external()?;
        self.logins().remove(name, self.browser.lease_mark().as_ref()).await
    }

    /// The logins of an external browser belong to its user.
    fn refuse_external(&self) -> Result<(), ErrorReport> {
        if !self.browser.is_external() {
            return Ok(());
        }
        let message = "the logins of an external browser are its user's: none is saved or loaded by a name";
        Err(ErrorReport::new(ErrorCode::UnsupportedOperation, message)
            .with_hint("Let the host launch its browsers: without --cdp-url, and with a session key."))
    }
}

/// A cookie in the form in which it is set. Accepts the form that scripts see, in which a session cookie expires at -1.
fn as_set(cookie: Json) -> Json {
    let mut cookie = cookie_as_set(cookie);
    if let Some(fields) = cookie.as_object_mut()
        && fields.get("expires").and_then(Json::as_f64).is_some_and(|expires| expires < 0.0)
    {
        fields.remove("expires");
    }
    cookie
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(origins: &[&str]) -> StorageState {
        let origins = origins.iter().map(|origin| json!({"origin": origin, "localStorage": []})).collect::<Vec<_>>();
        serde_json::from_value(json!({ "origins": origins })).unwrap()
    }

    #[test]
    fn a_state_names_origins_and_not_too_many() {
        assert!(state(&["https://a.example", "http://127.0.0.1:8000"]).checked().is_ok());
        for wrong in ["a.example", "https://a.example/", "https://a.example/x", "HTTPS://a.example", "file://", "null"]
        {
            assert_eq!(state(&[wrong]).checked().err().unwrap().code, ErrorCode::InvalidArgument, "{wrong}");
        }
        let many: Vec<_> = (0..=LOGIN_ORIGINS_MAX).map(|place| format!("https://s{place}.example")).collect();
        let many: Vec<_> = many.iter().map(String::as_str).collect();
        assert!(state(&many[1..]).checked().is_ok() && state(&many).checked().is_err());
    }

    #[test]
    fn a_cookie_of_a_session_is_set_as_one() {
        let told = json!({"name": "a", "value": "1", "domain": "x.test", "path": "/", "expires": -1});
        assert_eq!(as_set(told), json!({"name": "a", "value": "1", "domain": "x.test", "path": "/"}));
        let lasting = json!({"name": "a", "value": "1", "url": "https://x.test", "expires": 9});
        assert_eq!(as_set(lasting.clone()), lasting);
    }
}
