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
    /// The cookies that would be sent to these addresses; without any, to the page's own.
    ///
    /// # Errors
    /// When the page is gone.
    pub async fn cookies(&self, urls: &[String]) -> Result<Json, ErrorReport> {
        let params = if urls.is_empty() { json!({}) } else { json!({ "urls": urls }) };
        let answer = self.send("Network.getCookies", params).await?;
        let cookies = answer["cookies"].as_array().into_iter().flatten().map(shown).collect();
        Ok(Json::Array(cookies))
    }

    /// Sets cookies. Each names a `url`, or a `domain` and a `path`.
    ///
    /// # Errors
    /// `CDP_PROTOCOL_ERROR` if one is no cookie.
    pub async fn set_cookies(&self, cookies: &Json) -> Result<(), ErrorReport> {
        self.send("Network.setCookies", json!({ "cookies": cookies })).await.map(drop)
    }

    /// Deletes cookies of the page's own addresses.
    ///
    /// # Errors
    /// When the page is gone.
    pub async fn clear_cookies(&self, filter: &CookieFilter) -> Result<(), ErrorReport> {
        let answer = self.send("Network.getCookies", json!({})).await?;
        for cookie in answer["cookies"].as_array().into_iter().flatten().filter(|cookie| filter.matches(cookie)) {
            let params = json!({"name": cookie["name"], "domain": cookie["domain"], "path": cookie["path"]});
            self.send("Network.deleteCookies", params).await?;
        }
        Ok(())
    }
}

/// A cookie as a script has it.
fn shown(cookie: &Json) -> Json {
    const FIELDS: [&str; 7] = ["name", "value", "domain", "path", "expires", "httpOnly", "secure"];
    let mut shown: Map<String, Json> =
        FIELDS.iter().map(|field| ((*field).to_owned(), cookie[*field].clone())).collect();
    shown.insert("sameSite".to_owned(), cookie.get("sameSite").cloned().unwrap_or_else(|| "Lax".into()));
    Json::Object(shown)
}
