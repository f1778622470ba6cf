//! What an answer says that it was about: the session, its lease, the page.

use super::{ExecutionBrowser, lock};
use crate::{connected::ConnectedBrowser, text::short};
use codemode_spec::envelope::Context;

impl ExecutionBrowser {
    /// What the answer is about.
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

    /// Keeps what there is to say of a browser before it goes: the title of a page that has just loaded as well.
    pub(super) async fn keep_context(&self, connected: &ConnectedBrowser) {
        connected.catch_up();
        // If the disposal is cut short, this is what the answer has.
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
            // A page can make both as long as it likes.
            url: page.as_ref().map(|page| short(&page.at)).filter(|url| !url.is_empty()),
            title: page.map(|page| short(&page.title)).filter(|title| !title.is_empty()),
            ..Context::default()
        }
    }
}
