//! Secrets as an operator administers them. No script and no tool comes here.

use super::{host::Service, parts::Administration, startup::blocking};
use crate::{
    secrets::{SecretListed, SecretRemoved, SecretStored},
    session::store::{
        StoreError,
        audit::{Batch, Event, EventKind},
    },
};
use codemode_provider::SecretValue;
use codemode_spec::{ErrorCode, ErrorReport};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::time::Duration;

/// The secrets of a state folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct SecretsListed {
    /// Names and origins, in the order of the names.
    pub secrets: Vec<SecretListed>,
}

impl Service {
    /// Names and origins of the secrets; no method tells a value.
    ///
    /// # Errors
    /// When their files cannot be read or are not this user's alone.
    pub async fn secrets_list(&self) -> Result<SecretsListed, ErrorReport> {
        let secrets = self.administration().await?.secrets.clone();
        blocking(move || secrets.list()).await.map(|secrets| SecretsListed { secrets })
    }

    /// Keeps a value under a name, for pages of an origin, in the place of another one of that name. Executions that begin
    /// from then on know it, and mask it.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` with all that is wrong with name, origin and value; when it cannot be kept.
    pub async fn secrets_set(&self, name: &str, origin: &str, value: String) -> Result<SecretStored, ErrorReport> {
        let administration = self.administration().await?;
        let value = SecretValue::new(value);
        let (secrets, asked) = (administration.secrets.clone(), (name.to_owned(), origin.to_owned()));
        let stored = blocking(move || secrets.set(&asked.0, &asked.1, &value)).await?;
        let detail = json!({"name": stored.name, "origin": stored.origin, "replaced": stored.replaced});
        note(administration, Event::new(EventKind::SecretSet).detail(detail)).await?;
        Ok(stored)
    }

    /// Forgets a secret. Its value is not masked any more: a page that still shows it should be closed before.
    ///
    /// # Errors
    /// `NOT_FOUND` when there is none of the name; when that cannot be written.
    pub async fn secrets_remove(&self, name: &str) -> Result<SecretRemoved, ErrorReport> {
        let administration = self.administration().await?;
        let (secrets, name) = (administration.secrets.clone(), name.to_owned());
        let removed = blocking(move || secrets.remove(&name)).await?;
        let detail = json!({"name": removed.removed, "origin": removed.origin});
        note(administration, Event::new(EventKind::SecretRemoved).detail(detail)).await?;
        Ok(removed)
    }
}

/// Writes an event of its own into the audit.
pub(super) async fn note(administration: &Administration, event: Event) -> Result<(), ErrorReport> {
    let store = administration.sessions.store();
    store.audit_enqueue(Box::new(One(Some(event))), Duration::ZERO);
    let failed =
        |error| ErrorReport::new(ErrorCode::IoError, format!("it was done, and the audit could not note it: {error}"));
    store.audit_flush().await.map_err(failed)
}

struct One(Option<Event>);

impl Batch for One {
    fn take(&mut self) -> Vec<Event> {
        self.0.take().into_iter().collect()
    }

    fn failed(&mut self, _: Vec<Event>, error: StoreError) {
        tracing::warn!(%error, "the session store could not note what happened");
    }
}
