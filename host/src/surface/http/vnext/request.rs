//! A request of the contract: its caller, session key and fields, and the page that it is about.

use super::browser::{NAME, Session, Vnext, chosen};
use crate::{
    service::Caller,
    surface::http::contract::{Failure, Fields, GRACE_MS, Page, call, call_whole, pages, read_request, value_of},
};
use axum::{
    extract::{FromRequest, Request},
    response::{IntoResponse as _, Response},
};
use codemode_spec::{Value, limits::DIRECT_NAVIGATE_MS};
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// A request.
pub(super) struct ClientRequest {
    pub(super) caller: Arc<Caller>,
    /// The session key.
    pub(super) key: String,
    /// The fields of the body, or of the query if there is no body.
    pub(super) body: Fields,
}

/// The page that a request is about.
pub(super) struct PageHandle {
    pub(super) session: Session,
    pub(super) page: String,
    pub(super) url: String,
}

impl<S: Sync> FromRequest<S> for ClientRequest {
    type Rejection = Response;

    async fn from_request(request: Request, _: &S) -> Result<Self, Response> {
        let (client, body) = read_request(request, NAME).await.map_err(Failure::into_response)?;
        Ok(Self { caller: client.caller, key: client.key, body })
    }
}

impl ClientRequest {
    /// The session of the client, which is started if necessary.
    pub(super) async fn session(&self, vnext: &Vnext) -> Result<Session, Failure> {
        Ok(vnext.sessions.begin(&self.caller, &self.key).await?)
    }

    /// The session of the client, if its browser is running.
    pub(super) async fn running(&self, vnext: &Vnext) -> Result<Option<Session>, Failure> {
        vnext.service.may_use(&self.caller, &self.key)?;
        match vnext.service.has_browser(&self.key).await? {
            true => Ok(Some(self.session(vnext).await?)),
            false => Ok(None),
        }
    }

    /// The page that the request names, else the one that was used last, else the first one; opened if there is none.
    pub(super) async fn page(&self, vnext: &Vnext) -> Result<PageHandle, Failure> {
        let session = self.session(vnext).await?;
        let pages = pages(&session).await?;
        let page = match self.body.text("targetId") {
            Some(target) => chosen(pages, &target)?,
            None => {
                let last = session.state.last_page();
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
        session.state.set_last_page(&page.id);
        Ok(PageHandle { session, page: page.id, url: page.url })
    }
}

impl PageHandle {
    /// Calls a verb on the page and returns the field `value` of its answer.
    pub(super) async fn call(&self, verb: &str, argument: Json, time_ms: u64) -> Result<Json, Failure> {
        Ok(self.call_answered(verb, argument, time_ms).await?["value"].take())
    }

    /// Calls a verb on the page and returns its whole answer, which includes the page's URL.
    pub(super) async fn call_answered(&self, verb: &str, mut argument: Json, time_ms: u64) -> Result<Json, Failure> {
        argument["page"] = json!(self.page);
        argument["timeoutMs"] = json!(time_ms);
        Ok(call(&self.session, verb, argument, time_ms + GRACE_MS).await?)
    }

    /// Calls a verb that returns bytes.
    pub(super) async fn bytes(&self, verb: &str, mut argument: Json, time_ms: u64) -> Result<Vec<u8>, Failure> {
        argument["page"] = json!(self.page);
        argument["timeoutMs"] = json!(time_ms);
        let answer = call_whole(&self.session, verb, argument, time_ms + GRACE_MS).await?;
        Ok(if let Value::Bytes(_, bytes) = value_of(answer) { bytes } else { Vec::new() })
    }
}
