//! What the policy must know of a browser and the execution that uses it.

use super::BrowserSlot;
use crate::{
    live::Live,
    policy::Holdings,
    targets::{BROWSER_UI, OPENERS_MAX, Target},
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// Schemes of pages that can do what no site can, or show what no script may see.
const BROWSER_SCHEMES: &[&str] =
    &["chrome:", "chrome-extension:", "chrome-untrusted:", "devtools:", "file:", "isolated-app:"];

/// A browser and the execution that uses it.
pub(crate) struct SlotHoldings<'a> {
    pub(super) slot: &'a BrowserSlot,
    pub(super) live: &'a Arc<Live>,
    pub(super) folder: PathBuf,
}

impl Holdings for SlotHoldings<'_> {
    fn is_external(&self) -> bool {
        self.slot.is_external()
    }

    fn folder(&self) -> &Path {
        &self.folder
    }

    fn owns_target(&self, target: &str) -> bool {
        self.slot.made.has_target(target)
            || self.live.targets.target(target).is_some_and(|target| self.slot.owns(&target, Some(self.live)))
    }

    fn owns_context(&self, context: &str) -> bool {
        self.slot.made.has_context(context)
    }

    fn is_of_the_browser(&self, target: &str) -> bool {
        let of_the_browser = |target: Target| {
            let url = target.url.strip_prefix("view-source:").unwrap_or(&target.url);
            target.kind == BROWSER_UI || BROWSER_SCHEMES.iter().any(|scheme| url.starts_with(scheme))
        };
        self.live.targets.target(target).is_some_and(of_the_browser)
    }

    fn is_tab(&self, target: &str) -> bool {
        self.live.targets.target(target).is_some_and(|target| target.kind == "page")
    }

    fn owns_context_of(&self, target: &str) -> bool {
        let context = self.live.targets.target(target).and_then(|target| target.context);
        context.is_some_and(|context| self.slot.made.has_context(&context))
    }

    fn is_foreign(&self, target: &str) -> bool {
        let mut id = target.to_owned();
        for _ in 0..OPENERS_MAX {
            if let Some(owner) = self.slot.registry.owner(&id) {
                return owner != self.slot.context.execution;
            }
            match self.live.targets.target(&id).and_then(|target| target.opener) {
                Some(opener) => id = opener,
                None => return false,
            }
        }
        false
    }
}
