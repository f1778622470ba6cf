//! Putting a secret into a field: only into documents of its origin, with nothing but such documents around them.
//!
//! The field is reached without the value. Then the page's engine makes a slot, an object of that one document, and the value
//! is sent to it: a document that came in its place has no such object. In the turn in which the slot takes the value it
//! looks once more whose document it is in.

use crate::{
    locate::{Op, is_passing},
    reports,
    tab::Tab,
    target::Target,
    world::is_lost,
};
use codemode_provider::Secret;
use codemode_spec::{ErrorCode, ErrorReport};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

/// Makes the slot of an element that the engine keeps.
const SLOT: &str = "function(handle, origin, force) { return this.slot(handle, origin, force); }";
/// Puts the value in.
const PUT: &str = "function(value) { return this.put(value); }";

/// What a field is filled with: a text, or the name of a secret that stands for one.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Typed {
    /// The text itself.
    Text(String),
    /// The value of a secret.
    Secret {
        /// Its name.
        secret: String,
    },
}

impl Tab<'_> {
    /// Replaces what is in a field by the value of a secret.
    ///
    /// # Errors
    /// `NOT_FOUND` when there is no such secret, `POLICY_REFUSED` when the document of the field, or one around it, is
    /// not of the secret's origin; else as [`Tab::fill`].
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
                // Another document came between, and its engine does not keep the element.
                Ok(None) => Err(reports::replaced(&place.words)),
                Err(error) => Err(error),
            };
            match answer {
                Ok(answer) => match self.refusal(&answer, &place.words) {
                    // As a page that draws a field anew when it gets the focus.
                    Some(report) if is_passing(&report) && !self.left().is_zero() => {}
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

    /// Sends the value to a slot; what the slot answers.
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
            // The page's own answer to the input led elsewhere.
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
