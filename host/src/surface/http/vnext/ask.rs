//! A request of the contract: who asks, for which browser, with what, and on which page.

use super::browser::{GRACE_MS, NAME, Session, Vnext, chosen};
use crate::{
    service::Caller,
    surface::http::face::{Failure, Fields, Page, ask, call, call_whole, pages, value_of},
};
use axum::{
    extract::{FromRequest, Request},
    response::{IntoResponse as _, Response},
};
use codemode_spec::{Value, limits::DIRECT_NAVIGATE_MS};
use serde_json::{Value as Json, json};
use std::sync::Arc;

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
        let (client, body) = ask(request, NAME).await.map_err(Failure::into_response)?;
        Ok(Self { caller: client.caller, key: client.key, body })
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
        Ok(if let Value::Bytes(_, bytes) = value_of(answer) { bytes } else { Vec::new() })
    }
}
