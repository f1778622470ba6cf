//! Filling secrets into fields: only in documents of the secret's origin whose ancestor documents are of that origin
//! too.
//!
//! The field is made ready without the value. Then the in-page engine creates a slot, an object of that one document,
//! and the value is sent to the slot: a document that replaced the first one has no such object. In the same task in
//! which the slot receives the value, it checks the origins once more.

use crate::{
    locate::{Op, is_transient},
    reports,
    tab::Tab,
    target::Target,
    world::is_lost,
};
use codemode_provider::Secret;
use codemode_spec::{ErrorCode, ErrorReport};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

/// Creates the slot of an element that the engine retains.
const SLOT: &str = "function(handle, origin, force) { return this.slot(handle, origin, force); }";
/// Fills in the value.
const PUT: &str = "function(value) { return this.put(value); }";

/// What a field is filled with: a text, or the name of a secret that stands for one.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum TextOrSecret {
    /// The text itself.
    Text(String),
    /// The value of a secret.
    Secret {
        /// Its name.
        secret: String,
    },
}

impl Tab<'_> {
    /// Replaces the content of a field by the value of a secret.
    ///
    /// # Errors
    /// `NOT_FOUND` if there is no such secret, `POLICY_REFUSED` if the document of the field, or one that contains it,
    /// is not of the secret's origin; else as [`Tab::fill`].
    pub async fn fill_secret(&self, target: &Target, name: &str, force: bool) -> Result<(), ErrorReport> {
        let secrets = self.verbs.secrets();
        let secret = secrets.find(name).ok_or_else(|| unknown(name, secrets.all()))?;
        let place = self.locate(target).await?;
        let mut is_noted = false;
        loop {
            let args = json!({"strict": true, "timeout": null, "force": force, "origin": secret.origin});
            let reached = self.run_at(&place, "reach", args, Op::Look).await?;
            let arguments = json!([{"value": reached["handle"]}, {"value": secret.origin}, {"value": force}]);
            let slot = self.call_engine(&place.frame, SLOT, arguments, false).await;
            let answer = match slot.map(|slot| slot["objectId"].as_str().map(str::to_owned)) {
                Ok(Some(slot)) => {
                    if !std::mem::replace(&mut is_noted, true) {
                        secrets.used(secret, self.verbs.browser.lease_mark().as_ref());
                    }
                    self.put(&place.frame.target, &slot, secret).await
                }
                // The document was replaced, and the engine of the new one does not know the element.
                Ok(None) => Err(reports::replaced(&place.description)),
                Err(error) => Err(error),
            };
            match answer {
                Ok(answer) => match self.refusal(&answer, &place.description) {
                    // Such as a page that re-renders a field when it gets the focus.
                    Some(report) if is_transient(&report) && !self.left().is_zero() => {}
                    Some(report) => return Err(report),
                    None => return Ok(()),
                },
                Err(error) if reports::is_replaced(&error) || is_lost(&error) => {
                    if self.left().is_zero() {
                        return Err(error);
                    }
                    self.forget_world(&place.frame);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Sends the value to a slot, and returns the slot's answer.
    async fn put(&self, target: &str, slot: &str, secret: &Secret) -> Result<Json, ErrorReport> {
        let params = json!({
            "objectId": slot, "functionDeclaration": PUT, "returnByValue": true, "userGesture": true,
            "arguments": [{"value": secret.value.expose()}],
        });
        match self.send_to(target, "Runtime.callFunctionOn", params).await {
            Ok(answer) if answer.get("exceptionDetails").is_some() => {
                Err(ErrorReport::new(ErrorCode::HostFault, "the page's engine failed while it filled the field"))
            }
            Ok(answer) => Ok(answer["result"]["value"].clone()),
            // The page navigated in response to the input.
            Err(error) if is_lost(&error) && reports::had_begun(&error) => Ok(json!({"ok": true})),
            Err(error) => Err(error),
        }
    }
}

fn unknown(name: &str, known: &[Secret]) -> ErrorReport {
    let message = format!("there is no secret {name:?}");
    let report = ErrorReport::new(ErrorCode::NotFound, message);
    if known.is_empty() {
        return report.with_hint(
            "There are none. An operator stores one with `codemode secrets set NAME --origin ORIGIN`, before the script begins.",
        );
    }
    let names: Vec<String> = known.iter().map(|secret| format!("{} ({})", secret.name, secret.origin)).collect();
    report.with_hint(format!("Those that there are: {}.", names.join(", ")))
}
