//! Arguments about requests, cookies, login states, credentials and routes.

use codemode_spec::{ErrorCode, ErrorReport};
use codemode_verbs::{CookieFilter, StorageState, UrlPattern};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::Value as Json;

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Request {
    /// Names the request, as the news of it do.
    pub(crate) request_id: String,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "op", rename_all = "camelCase")]
pub(crate) enum Cookies {
    /// Reads cookies.
    Get {
        /// Those that would be sent to these addresses; without any, all of the page's browser context.
        #[serde(default)]
        urls: Vec<String>,
    },
    /// Sets cookies.
    Set {
        /// A list, in which each cookie has `name`, `value`, and a `url` or a `domain` and a `path`.
        cookies: Json,
    },
    /// Deletes cookies of the page's browser context.
    Clear {
        /// Which; all of them if there is none.
        #[serde(default)]
        filter: CookieFilter,
    },
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Named {
    /// The name: letters, digits, `-`, `_` and `.`.
    pub(crate) name: String,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct LoadStorage {
    /// The name under which it was saved, or the state itself: `{cookies, origins}`, as `storageState` answers it.
    pub(crate) state: Json,
}

/// Parses a storage state that a script passes.
pub(crate) fn storage_state(state: Json) -> Result<StorageState, ErrorReport> {
    serde_json::from_value(state).map_err(|error| {
        ErrorReport::new(ErrorCode::InvalidArgument, format!("this is no storage state: {error}")).with_hint(
            "It is {cookies: [{name, value, domain, path, …}], origins: [{origin, localStorage: [{name, value}]}]}, or the \
             name of a saved one.",
        )
    })
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Traffic {
    /// Which requests; all if it is not given.
    pub(crate) filter: Option<codemode_verbs::TrafficFilter>,
    /// How many, of the newest; 100 if it is not given.
    pub(crate) limit: Option<usize>,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Har {
    /// Which requests; all if it is not given.
    pub(crate) filter: Option<codemode_verbs::TrafficFilter>,
    /// Whether the bodies of answers are in it.
    #[serde(default)]
    pub(crate) bodies: bool,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Fetch {
    #[serde(flatten)]
    pub(crate) request: codemode_verbs::FetchRequest,
    /// The body of the request.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(schema_with = "super::bytes_or_text"))]
    #[expect(dead_code, reason = "read beside the JSON")]
    body: IgnoredAny,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Authenticate {
    /// The name and the password; without them servers get nothing.
    pub(crate) credentials: Option<codemode_verbs::Credentials>,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Routes {
    /// The addresses of the requests that wait; each list takes the place of the one before.
    pub(crate) patterns: Vec<UrlPattern>,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct RouteReply {
    /// Names the request, as the news of it do.
    pub(crate) route: String,
    #[serde(flatten)]
    pub(crate) answer: codemode_verbs::RouteAnswer,
    /// With `fulfill`: the body of the answer.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(schema_with = "super::bytes_or_text"))]
    #[expect(dead_code, reason = "read beside the JSON")]
    body: IgnoredAny,
    /// With `continue`: another body of the request.
    #[serde(default, rename = "postData")]
    #[cfg_attr(feature = "schema", schemars(schema_with = "super::bytes_or_text"))]
    #[expect(dead_code, reason = "read beside the JSON")]
    post_data: IgnoredAny,
}
