//! The context of an answer: the session, its lease, and the page that the script worked with.

use super::{ExecutionBrowser, lock};
use crate::{connected::ConnectedBrowser, text::short};
use codemode_spec::envelope::Context;

impl ExecutionBrowser {
    /// The current context, or after the browser is closed, its last one.
    pub(super) fn context_now(&self) -> Context {
        match self.current() {
            Some(connected) => {
                connected.catch_up();
                self.context_of(&connected)
            }
            None => {
                let mut context = lock(&self.last_context).clone();
                if context.session_id.is_none()
                    && let Some((id, lease)) = lock(&self.last_session).clone()
                {
                    (context.session_id, context.lease) = (Some(id), Some(lease));
                }
                context
            }
        }
    }

    /// Stores the context before the browser is closed, including the title of a page that has just loaded.
    pub(super) async fn keep_context(&self, connected: &ConnectedBrowser) {
        connected.catch_up();
        // The answer uses this one if the disposal is cancelled during the refresh.
        *lock(&self.last_context) = self.context_of(connected);
        connected.refresh().await;
        *lock(&self.last_context) = self.context_of(connected);
    }

    fn context_of(&self, connected: &ConnectedBrowser) -> Context {
        let page = connected.targets.current();
        let session = self.session().map(|session| (session.facts().id, session.lease()));
        let (session_id, lease) = session.unzip();
        Context {
            session_id: session_id.or_else(|| Some(self.context.execution.as_str().to_owned())),
            lease,
            target_id: page.as_ref().map(|page| page.id.clone()),
            // A page controls the length of both.
            url: page.as_ref().map(|page| short(&page.display_url)).filter(|url| !url.is_empty()),
            title: page.map(|page| short(&page.title)).filter(|title| !title.is_empty()),
            ..Context::default()
        }
    }
}
