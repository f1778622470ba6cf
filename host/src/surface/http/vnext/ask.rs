//! A request of the contract: who asks, for which browser, with what, and on which page.

use super::{
    browser::{GRACE_MS, NAME, Page, Session, Vnext, call, call_whole, chosen, pages},
    failure::Failure,
};
use crate::service::Caller;
use axum::{
    body::to_bytes,
    extract::{FromRequest, Query, Request},
    response::{IntoResponse as _, Response},
};
use codemode_spec::{
    Value,
    limits::{DIRECT_NAVIGATE_MS, HTTP_BODY_BYTES_MAX},
};
use serde_json::{Map, Value as Json, json};
use std::{collections::HashMap, sync::Arc};

/// The header that names another browser than the caller's usual one.
const SESSION: &str = "x-codemode-session";

/// A request.
pub(super) struct Ask {
    pub(super) caller: Arc<Caller>,
    /// The session key.
    pub(super) key: String,
    /// The fields of the body, or of the query where there is no body.
    pub(super) body: Fields,
}

/// A page that a request is about.
pub(super) struct At {
    pub(super) session: Session,
    pub(super) page: String,
    pub(super) url: String,
}

impl<S: Sync> FromRequest<S> for Ask {
    type Rejection = Response;

    async fn from_request(request: Request, _: &S) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let caller = parts.extensions.remove::<Arc<Caller>>().unwrap_or_default();
        let named = parts.headers.get(SESSION).map(|key| String::from_utf8_lossy(key.as_bytes()).into_owned());
        let key = named.unwrap_or_else(|| match caller.name.as_str() {
            "" => NAME.to_owned(),
            name => format!("{}.{name}", NAME),
        });
        let bytes = to_bytes(body, HTTP_BODY_BYTES_MAX).await.unwrap_or_default();
        let body = if bytes.trim_ascii().is_empty() {
            let query = Query::<HashMap<String, String>>::try_from_uri(&parts.uri).unwrap_or_default();
            query.0.into_iter().map(|(name, value)| (name, Json::String(value))).collect()
        } else {
            match serde_json::from_slice(&bytes) {
                Ok(Json::Object(fields)) => fields,
                _ => return Err(Failure::bad("the body must be a JSON object").into_response()),
            }
        };
        Ok(Self { caller, key, body: Fields(body) })
    }
}

impl Ask {
    /// The session of the client, begun if need be.
    pub(super) async fn session(&self, vnext: &Vnext) -> Result<Session, Failure> {
        Ok(vnext.sessions.begin(&self.caller, &self.key).await?)
    }

    /// The session of the client, if its browser runs.
    pub(super) async fn running(&self, vnext: &Vnext) -> Result<Option<Session>, Failure> {
        vnext.service.may_use(&self.caller, &self.key)?;
        match vnext.service.has_browser(&self.key).await? {
            true => Ok(Some(self.session(vnext).await?)),
            false => Ok(None),
        }
    }

    /// The page that is named, or the one that was used last, or any; a new one if there is none.
    pub(super) async fn page(&self, vnext: &Vnext) -> Result<At, Failure> {
        let session = self.session(vnext).await?;
        let pages = pages(&session).await?;
        let page = match self.body.text("targetId") {
            Some(target) => chosen(pages, &target)?,
            None => {
                let last = session.state.meant();
                let known = pages.iter().position(|page| Some(&page.id) == last.as_ref());
                match pages.into_iter().nth(known.unwrap_or(0)) {
                    Some(page) => page,
                    None => {
                        let opened = call(&session, "open", json!({}), DIRECT_NAVIGATE_MS).await?;
                        let text = |field: &str| opened[field].as_str().unwrap_or_default().to_owned();
                        Page { id: text("page"), url: text("url"), title: String::new() }
                    }
                }
            }
        };
        session.state.mean(&page.id);
        Ok(At { session, page: page.id, url: page.url })
    }
}

impl At {
    /// Calls a verb on the page; what it answers, without what all verbs answer.
    pub(super) async fn call(&self, verb: &str, argument: Json, time_ms: u64) -> Result<Json, Failure> {
        Ok(self.call_answered(verb, argument, time_ms).await?["value"].take())
    }

    /// The same, with the page's address.
    pub(super) async fn call_answered(&self, verb: &str, mut argument: Json, time_ms: u64) -> Result<Json, Failure> {
        argument["page"] = json!(self.page);
        argument["timeoutMs"] = json!(time_ms);
        Ok(call(&self.session, verb, argument, time_ms + GRACE_MS).await?)
    }

    /// Calls a verb that answers with bytes.
    pub(super) async fn bytes(&self, verb: &str, mut argument: Json, time_ms: u64) -> Result<Vec<u8>, Failure> {
        argument["page"] = json!(self.page);
        argument["timeoutMs"] = json!(time_ms);
        let answer = call_whole(&self.session, verb, argument, time_ms + GRACE_MS).await?;
        let Value::Object(fields) = answer else { return Ok(Vec::new()) };
        let value = fields.into_iter().find(|(name, _)| name.to_string_lossy() == "value");
        Ok(if let Some((_, Value::Bytes(_, bytes))) = value { bytes } else { Vec::new() })
    }
}

/// The fields of a request. The contract takes numbers and truths also as texts.
pub(super) struct Fields(pub(super) Map<String, Json>);

impl Fields {
    /// A text that is not blank.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        let text = match self.0.get(name)? {
            Json::String(text) => text.trim().to_owned(),
            value @ (Json::Number(_) | Json::Bool(_)) => value.to_string(),
            _ => return None,
        };
        Some(text).filter(|text| !text.is_empty())
    }

    pub(super) fn number(&self, name: &str) -> Option<f64> {
        let number = match self.0.get(name)? {
            Json::String(text) => text.trim().parse().ok(),
            value => value.as_f64(),
        };
        number.filter(|number: &f64| number.is_finite())
    }

    pub(super) fn truth(&self, name: &str) -> Option<bool> {
        match self.0.get(name)? {
            Json::Bool(truth) => Some(*truth),
            Json::String(text) => match text.trim().to_ascii_lowercase().as_str() {
                "true" | "1" | "yes" => Some(true),
                "false" | "0" | "no" => Some(false),
                _ => None,
            },
            _ => None,
        }
    }

    /// Texts; one that stands alone is a list of one.
    pub(super) fn texts(&self, name: &str) -> Vec<String> {
        match self.0.get(name) {
            Some(Json::Array(items)) => items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect(),
            Some(Json::String(text)) => vec![text.clone()],
            _ => Vec::new(),
        }
    }

    /// A time in milliseconds, within these bounds.
    pub(super) fn time_ms(&self, name: &str, default: u64, least: u64, most: u64) -> u64 {
        self.number(name).map_or(default, |ms| (ms.max(0.0) as u64).clamp(least, most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_truths_may_be_texts_and_times_are_clamped() {
        let Json::Object(fields) = json!({
            "a": " x ", "b": " ", "n": "12.5", "t": "YES", "f": 0, "list": ["1", 2, "3"], "one": "1", "low": 1, "high": 1e12,
            "nan": "NaN", "minus": -5,
        }) else {
            unreachable!()
        };
        let fields = Fields(fields);
        assert_eq!(
            (fields.text("a").as_deref(), fields.text("b"), fields.text("n").as_deref()),
            (Some("x"), None, Some("12.5"))
        );
        assert_eq!((fields.number("n"), fields.number("nan"), fields.number("a")), (Some(12.5), None, None));
        assert_eq!((fields.truth("t"), fields.truth("f"), fields.truth("none")), (Some(true), None, None));
        assert_eq!(
            (fields.texts("list"), fields.texts("one")),
            (vec!["1".to_owned(), "3".to_owned()], vec!["1".to_owned()])
        );
        let times = ["low", "high", "minus", "none", "n"].map(|name| fields.time_ms(name, 8_000, 500, 60_000));
        assert_eq!(times, [500, 60_000, 500, 8_000, 500]);
    }
}
