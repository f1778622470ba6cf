//! Credentials for HTTP authentication.

use crate::reports;
use codemode_spec::{ErrorReport, limits::AUTH_ATTEMPTS_MAX};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use std::{collections::HashSet, fmt};
use url::Url;

// Its `Debug` shows neither name nor password.
/// A name and a password.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Credentials {
    /// The name.
    username: String,
    /// The password.
    password: String,
    /// The only origin that gets them; any that asks if there is none.
    #[serde(default)]
    origin: Option<String>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Credentials").finish_non_exhaustive()
    }
}

impl Credentials {
    /// Normalises the origin to its serialised form.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if the origin is invalid.
    pub(crate) fn checked(mut self) -> Result<Self, ErrorReport> {
        if let Some(origin) = &mut self.origin {
            let parsed = Url::parse(origin).ok().map(|url| url.origin()).filter(url::Origin::is_tuple);
            let Some(parsed) = parsed else {
                return Err(reports::invalid("the origin of httpCredentials must be as https://example.test"));
            };
            *origin = parsed.ascii_serialization();
        }
        Ok(self)
    }

    fn are_for(&self, challenge: &Json) -> bool {
        let asks = Url::parse(challenge["origin"].as_str().unwrap_or_default());
        let asks = asks.map(|url| url.origin().ascii_serialization()).unwrap_or_default();
        // A proxy must not get the credentials of a site.
        challenge["source"] != "Proxy" && self.origin.as_ref().is_none_or(|origin| *origin == asks)
    }
}

/// The requests that were given the credentials: a server that asks again has rejected them.
#[derive(Default)]
pub(crate) struct Attempts(HashSet<(String, String)>);

impl Attempts {
    /// The answer to a server that requests credentials for a request.
    pub(crate) fn answer(&mut self, credentials: Option<&Credentials>, target: &str, params: &Json) -> Json {
        if self.0.len() >= AUTH_ATTEMPTS_MAX {
            self.0.clear();
        }
        let request = params["requestId"].as_str().unwrap_or_default();
        match credentials.filter(|credentials| credentials.are_for(&params["authChallenge"])) {
            Some(Credentials { username, password, .. }) if self.0.insert((target.to_owned(), request.to_owned())) => {
                json!({"response": "ProvideCredentials", "username": username, "password": password})
            }
            _ => json!({"response": "CancelAuth"}),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(origin: Option<&str>) -> Credentials {
        let origin = origin.map(str::to_owned);
        Credentials { username: "ada".to_owned(), password: "lovelace".to_owned(), origin }
    }

    #[test]
    fn only_the_origin_that_is_named_gets_them_and_each_request_once() {
        let asks = |source: &str, origin: &str, request: &str| {
            json!({
                "requestId": request, "authChallenge": {"source": source, "origin": origin, "scheme": "basic", "realm": "r"},
            })
        };
        let named = given(Some("http://A.test:80/path")).checked().unwrap();
        let mut attempts = Attempts::default();
        let mut answers =
            |params: &Json| attempts.answer(Some(&named), "t", params)["response"] == "ProvideCredentials";
        assert!(answers(&asks("Server", "http://a.test", "1")));
        assert!(!answers(&asks("Server", "http://a.test", "1")), "they were not taken");
        assert!(answers(&asks("Server", "http://a.test", "2")));
        assert!(!answers(&asks("Server", "https://a.test", "3")));
        assert!(!answers(&asks("Server", "http://b.test", "4")));
        assert!(!answers(&asks("Proxy", "http://a.test", "5")));
        assert!(!answers(&asks("Server", "what is this", "6")));
        assert_eq!(
            Attempts::default().answer(None, "t", &asks("Server", "http://a.test", "1"))["response"],
            "CancelAuth"
        );
        assert!(given(Some("a.test")).checked().is_err() && given(Some("data:,x")).checked().is_err());
        assert!(!format!("{:?}", given(None)).contains("lovelace"));
    }
}
