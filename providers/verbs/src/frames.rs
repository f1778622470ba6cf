//! What a page is asked for, asked of its frames in processes of their own as well.

use crate::{state::frames::frames_of, tab::Tab};
use codemode_spec::ErrorReport;
use serde_json::{Value as Json, json};

impl Tab<'_> {
    /// Sends a command that enables something to the page, and to its frames as they come.
    ///
    /// # Errors
    /// Those of the page; a frame that does not take the command is gone, or not for scripts.
    pub(crate) async fn ask_with_frames(&self, method: &'static str, params: Json) -> Result<(), ErrorReport> {
        self.send(method, params.clone()).await?;
        self.note_asked(method, Some(params.clone()));
        for frame in frames_of(&self.browser, &self.id) {
            let _ = self.send_to(&frame, method, params.clone()).await;
        }
        Ok(())
    }

    /// Takes back what was asked by `method`, with a command that disables it.
    ///
    /// # Errors
    /// Those of the page.
    pub(crate) async fn unask_with_frames(&self, method: &'static str, disable: &str) -> Result<(), ErrorReport> {
        self.note_asked(method, None);
        for frame in frames_of(&self.browser, &self.id) {
            let _ = self.send_to(&frame, disable, json!({})).await;
        }
        self.send(disable, json!({})).await.map(drop)
    }

    /// Asks the page and its frames for the events of a domain, once.
    ///
    /// # Errors
    /// When the page is gone.
    pub(crate) async fn subscribe_with_frames(&self, event: &str, enable: &'static str) -> Result<(), ErrorReport> {
        self.subscribe(event).await?;
        if self.verbs.asked.has(&self.id, enable) {
            return Ok(());
        }
        self.note_asked(enable, Some(json!({})));
        for frame in frames_of(&self.browser, &self.id) {
            let _ = self.send_to(&frame, enable, json!({})).await;
        }
        Ok(())
    }

    fn note_asked(&self, method: &'static str, params: Option<Json>) {
        self.verbs.asked.note(&self.verbs.browser, &self.browser, &self.id, method, params);
    }
}
