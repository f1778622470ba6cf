//! Commands that enable events or interception for a page, forwarded to its out-of-process frames as well.

use crate::{state::frames::frames_of, tab::Tab};
use codemode_spec::ErrorReport;
use serde_json::{Value as Json, json};

impl Tab<'_> {
    /// Sends an enabling command to the page and to its out-of-process frames, including future ones.
    ///
    /// # Errors
    /// Those of the page. A frame's error is ignored: the frame is detached, or not accessible to scripts.
    pub(crate) async fn enable_with_frames(&self, method: &'static str, params: Json) -> Result<(), ErrorReport> {
        self.send(method, params.clone()).await?;
        self.note_command(method, Some(params));
        self.send_to_frames().await;
        Ok(())
    }

    /// Reverts the enabling command `method` with a command that disables it.
    ///
    /// # Errors
    /// Those of the page.
    pub(crate) async fn disable_with_frames(&self, method: &'static str, disable: &str) -> Result<(), ErrorReport> {
        self.note_command(method, None);
        for frame in frames_of(&self.browser, &self.id) {
            let _ = self.send_to(&frame, disable, json!({})).await;
        }
        self.send(disable, json!({})).await.map(drop)
    }

    /// Subscribes to the events of a domain for the page and its frames, once.
    ///
    /// # Errors
    /// When the page is closed.
    pub(crate) async fn subscribe_with_frames(&self, event: &str, enable: &'static str) -> Result<(), ErrorReport> {
        self.subscribe(event).await?;
        if self.verbs.page_commands.has(&self.id, enable) {
            return Ok(());
        }
        self.note_command(enable, Some(json!({})));
        self.send_to_frames().await;
        Ok(())
    }

    /// Sends the page's out-of-process frames its enabling commands.
    async fn send_to_frames(&self) {
        for frame in frames_of(&self.browser, &self.id) {
            self.verbs.page_commands.send_to_frame(&self.verbs.browser, &self.browser, &frame).await;
        }
    }

    fn note_command(&self, method: &'static str, params: Option<Json>) {
        self.verbs.page_commands.note(&self.verbs.browser, &self.browser, &self.id, method, params);
    }
}
