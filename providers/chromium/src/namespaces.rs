//! Detects kernel settings that prevent Chromium's own sandbox, which needs user namespaces.

use std::{fs, path::Path};

/// A kernel setting that prevents the sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelSetting {
    /// The setting's name, as `sysctl` spells it.
    pub name: String,
    /// The current value.
    pub value: &'static str,
    /// The required value.
    pub wanted: &'static str,
}

/// For each setting: its file, the value that forbids user namespaces, and a value that allows them.
const FORBIDDING: [(&str, &str, &str); 3] = [
    ("kernel/unprivileged_userns_clone", "0", "1"),
    ("kernel/apparmor_restrict_unprivileged_userns", "1", "0"),
    ("user/max_user_namespaces", "0", "10000"),
];

/// The setting that prevents a Chromium without a setuid helper from using its own sandbox; `None` if there is none.
#[must_use]
pub fn forbids_own_sandbox() -> Option<KernelSetting> {
    forbidding(Path::new("/proc/sys"))
}

fn forbidding(settings: &Path) -> Option<KernelSetting> {
    let is = |file: &str, value: &str| fs::read_to_string(settings.join(file)).is_ok_and(|text| text.trim() == value);
    let (file, value, wanted) = FORBIDDING.into_iter().find(|(file, value, _)| is(file, value))?;
    Some(KernelSetting { name: file.replace('/', "."), value, wanted })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_forbids_user_namespaces_is_named() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(forbidding(folder.path()), None, "a kernel without these settings forbids nothing");
        for kind in ["kernel", "user"] {
            fs::create_dir(folder.path().join(kind)).unwrap();
        }
        for (file, value, wanted) in FORBIDDING {
            fs::write(folder.path().join(file), format!("{value}\n")).unwrap();
            let found = forbidding(folder.path()).unwrap();
            assert_eq!((found.value, found.wanted), (value, wanted));
            assert_eq!(found.name, file.replace('/', "."), "as sysctl names it");
            fs::write(folder.path().join(file), format!("{wanted}\n")).unwrap();
            assert_eq!(forbidding(folder.path()), None, "{file}");
        }
    }
}
