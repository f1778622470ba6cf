//! Administration of secrets by operators. Scripts and tools have no access to it.

use super::{host::Service, startup::blocking, subsystems::Administration};
use crate::{
    secrets::{SecretListed, SecretRemoved, SecretStored},
    session::store::audit::{Event, EventKind},
};
use codemode_provider::SecretValue;
use codemode_spec::{ErrorCode, ErrorReport};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// The secrets of a state folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct SecretsListed {
    /// Their names and origins, sorted by name.
    pub secrets: Vec<SecretListed>,
}

impl Service {
    /// The names and origins of the secrets; no method returns a value.
    ///
    /// # Errors
    /// When their files cannot be read or are accessible to other users.
    pub async fn secrets_list(&self) -> Result<SecretsListed, ErrorReport> {
        let secrets = self.administration().await?.secrets.clone();
        blocking(move || secrets.list()).await.map(|secrets| SecretsListed { secrets })
    }

    /// Stores a value under a name, for pages of an origin; replaces an existing secret of that name. Executions that
    /// start later can use it, and mask it.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` with every fault of name, origin and value; when the secret cannot be stored.
    pub async fn secrets_set(&self, name: &str, origin: &str, value: String) -> Result<SecretStored, ErrorReport> {
        let administration = self.administration().await?;
        let value = SecretValue::new(value);
        let (secrets, requested) = (administration.secrets.clone(), (name.to_owned(), origin.to_owned()));
        let stored = blocking(move || secrets.set(&requested.0, &requested.1, &value)).await?;
        let detail = json!({"name": stored.name, "origin": stored.origin, "replaced": stored.replaced});
        note(administration, Event::new(EventKind::SecretSet).detail(detail)).await?;
        Ok(stored)
    }

    /// Removes a secret. Its value is not masked any more: a page that still shows it should be closed before.
    ///
    /// # Errors
    /// `NOT_FOUND` when there is no secret of that name; when it cannot be removed.
    pub async fn secrets_remove(&self, name: &str) -> Result<SecretRemoved, ErrorReport> {
        let administration = self.administration().await?;
        let (secrets, name) = (administration.secrets.clone(), name.to_owned());
        let removed = blocking(move || secrets.remove(&name)).await?;
        let detail = json!({"name": removed.removed, "origin": removed.origin});
        note(administration, Event::new(EventKind::SecretRemoved).detail(detail)).await?;
        Ok(removed)
    }
}

/// Writes one event to the audit.
pub(super) async fn note(administration: &Administration, event: Event) -> Result<(), ErrorReport> {
    let failed =
        |error| ErrorReport::new(ErrorCode::IoError, format!("it was done, and the audit could not note it: {error}"));
    administration.sessions.store().audit_append(&[event]).await.map_err(failed)
}
