//! The facts about a browser and its execution that the policy needs.

use super::ExecutionBrowser;
use crate::{
    connected::ConnectedBrowser,
    policy::{DevicePermission, PolicyFacts, TargetAccess},
    targets::OPENERS_MAX,
};
use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};

/// The facts about a connected browser and the execution that uses it.
pub(crate) struct BrowserFacts<'a> {
    browser: &'a ExecutionBrowser,
    connected: &'a Arc<ConnectedBrowser>,
    /// Asked for by few commands.
    folder: OnceLock<PathBuf>,
}

impl ExecutionBrowser {
    /// The facts for the policy.
    pub(crate) fn facts<'a>(&'a self, connected: &'a Arc<ConnectedBrowser>) -> BrowserFacts<'a> {
        BrowserFacts { browser: self, connected, folder: OnceLock::new() }
    }
}

impl PolicyFacts for BrowserFacts<'_> {
    fn is_external(&self) -> bool {
        self.browser.is_external()
    }

    fn folder(&self) -> &Path {
        self.folder.get_or_init(|| self.browser.downloads_dir())
    }

    fn owns_target(&self, target: &str) -> bool {
        self.browser.owned.has_target(target)
            || self
                .connected
                .targets
                .target(target)
                .is_some_and(|target| self.browser.owns(&target, Some(self.connected)))
    }

    fn owns_context(&self, context: &str) -> bool {
        self.browser.owned.has_context(context)
    }

    fn access(&self, target: &str) -> TargetAccess {
        self.connected.targets.access(target)
    }

    fn is_tab(&self, target: &str) -> bool {
        self.connected.targets.target(target).is_some_and(|target| target.kind == "page")
    }

    fn device_permissions(&self) -> &[DevicePermission] {
        &self.browser.device_permissions
    }

    fn owns_context_of(&self, target: &str) -> bool {
        let context = self.connected.targets.target(target).and_then(|target| target.context);
        context.is_some_and(|context| self.browser.owned.has_context(&context))
    }

    fn is_foreign(&self, target: &str) -> bool {
        let mut id = target.to_owned();
        for _ in 0..OPENERS_MAX {
            if let Some(owner) = self.browser.owners.owner(&id) {
                return owner != self.browser.context.execution;
            }
            match self.connected.targets.opener_of(&id) {
                Some(opener) => id = opener,
                None => return false,
            }
        }
        false
    }
}
