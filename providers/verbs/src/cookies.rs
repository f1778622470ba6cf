//! Cookies.

use crate::tab::Tab;
use codemode_spec::ErrorReport;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

/// Cookies that are meant, by some of their properties; all of them if there is none.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CookieFilter {
    /// Their name.
    pub name: Option<String>,
    /// Their domain.
    pub domain: Option<String>,
    /// Their path.
    pub path: Option<String>,
}

impl CookieFilter {
    fn matches(&self, cookie: &Json) -> bool {
        let is = |field: &str, wanted: &Option<String>| {
            wanted.as_ref().is_none_or(|wanted| cookie[field] == wanted.as_str())
        };
        is("name", &self.name) && is("domain", &self.domain) && is("path", &self.path)
    }
}

impl Tab<'_> {
    /// The cookies that would be sent to these URLs. Without URLs: all cookies of the page's browser context, or, in
    /// the user's own context of an external browser, those that would be sent to the page's own URLs.
    ///
    /// # Errors
    /// When the page is closed.
    pub async fn cookies(&self, urls: &[String]) -> Result<Json, ErrorReport> {
        let cookies = match urls {
            [] => self.own_cookies().await?,
            urls => self.send("Network.getCookies", json!({ "urls": urls })).await?["cookies"].take(),
        };
        Ok(cookies.as_array().into_iter().flatten().map(shown).collect())
    }

    /// All cookies of the context that the script may see, in the protocol's form.
    async fn own_cookies(&self) -> Result<Json, ErrorReport> {
        let own = self.own_context().await?;
        if own.is_none() && self.verbs.browser.is_external() {
            // A script gets the cookies of the pages that it uses, not all of the user's logins.
            return Ok(self.send("Network.getCookies", json!({})).await?["cookies"].take());
        }
        let params = own.map_or_else(|| json!({}), |own| json!({"browserContextId": own}));
        Ok(self.send_to_browser("Storage.getCookies", params).await?["cookies"].take())
    }

    /// Sets cookies. Each names a `url`, or a `domain` and a `path`.
    ///
    /// # Errors
    /// `CDP_PROTOCOL_ERROR` if a cookie is invalid.
    pub async fn set_cookies(&self, cookies: &Json) -> Result<(), ErrorReport> {
        self.send("Network.setCookies", json!({ "cookies": cookies })).await.map(drop)
    }

    /// Deletes the cookies of [`Self::cookies`] (without URLs) that match the filter.
    ///
    /// # Errors
    /// When the page is closed.
    pub async fn clear_cookies(&self, filter: &CookieFilter) -> Result<(), ErrorReport> {
        let cookies = self.own_cookies().await?;
        for cookie in cookies.as_array().into_iter().flatten().filter(|cookie| filter.matches(cookie)) {
            let mut params = json!({"name": cookie["name"], "domain": cookie["domain"], "path": cookie["path"]});
            if let Some(key) = cookie.get("partitionKey") {
                params["partitionKey"] = key.clone();
            }
            self.send("Network.deleteCookies", params).await?;
        }
        Ok(())
    }
}

/// A cookie as scripts see it.
fn shown(cookie: &Json) -> Json {
    const FIELDS: [&str; 7] = ["name", "value", "domain", "path", "expires", "httpOnly", "secure"];
    let mut shown: Map<String, Json> =
        FIELDS.iter().map(|field| ((*field).to_owned(), cookie[*field].clone())).collect();
    shown.insert("sameSite".to_owned(), cookie.get("sameSite").cloned().unwrap_or_else(|| "Lax".into()));
    Json::Object(shown)
}
