//! What the policy must know of a browser and the execution that uses it.

use super::BrowserSlot;
use crate::{
    live::Live,
    policy::{DevicePermission, Holdings, Standing},
    targets::OPENERS_MAX,
};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

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

    fn standing(&self, target: &str) -> Standing {
        self.live.targets.standing(target)
    }

    fn is_tab(&self, target: &str) -> bool {
        self.live.targets.target(target).is_some_and(|target| target.kind == "page")
    }

    fn device_permissions(&self) -> &[DevicePermission] {
        &self.slot.device_permissions
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
