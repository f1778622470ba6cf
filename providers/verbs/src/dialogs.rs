//! Handling of a page's dialogs.

use crate::{state::dialogs::DialogPolicy, tab::Tab};
use codemode_spec::{ErrorCode, ErrorReport};
use serde_json::{Value as Json, json};

impl Tab<'_> {
    /// Attaches to the page, so that its dialogs are reported, and starts the task that answers them.
    pub(crate) async fn watch_dialogs(&self) -> Result<(), ErrorReport> {
        let dialogs = &self.verbs.dialogs;
        let is_new = !dialogs.know(&self.browser, &self.id);
        dialogs.answer_on(&self.verbs.browser, &self.browser);
        if is_new {
            self.session().await?;
            // Makes a background tab take input and draw as the foreground tab does.
            self.send("Emulation.setFocusEmulationEnabled", json!({"enabled": true})).await?;
            dialogs.add(&self.id);
        }
        Ok(())
    }

    /// Sets how the page's dialogs are answered from now on.
    pub fn set_dialog_policy(&self, policy: DialogPolicy) {
        self.verbs.dialogs.set(&self.id, policy);
    }

    /// Answers the dialog that the page shows.
    pub async fn answer_dialog(&self, accept: bool, text: Option<&str>) -> Result<Json, ErrorReport> {
        match self.verbs.dialogs.answer(&self.verbs.browser, &self.browser, &self.id, accept, text).await {
            Ok(Some(dialog)) => Ok(json!({"kind": dialog.kind, "message": dialog.message})),
            Ok(None) => Err(ErrorReport::new(ErrorCode::InvalidArgument, "the page shows no dialog")
                .with_hint("A dialog can be answered once, while it is open.")),
            Err(error) if error.code == ErrorCode::CallTimeout => Err(self.unanswered("the dialog")),
            Err(error) => Err(error),
        }
    }
}
