//! Whether Chromium can use its own sandbox, for which it needs user namespaces.

use std::{fs, path::Path};

/// A setting of the kernel that stands in the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelSetting {
    /// Its name, as `sysctl` has it.
    pub name: String,
    /// How it is.
    pub value: &'static str,
    /// How it would have to be.
    pub wanted: &'static str,
}

/// The file of a setting, the value that forbids user namespaces, and one that does not.
const FORBIDDING: [(&str, &str, &str); 3] = [
    ("kernel/unprivileged_userns_clone", "0", "1"),
    ("kernel/apparmor_restrict_unprivileged_userns", "1", "0"),
    ("user/max_user_namespaces", "0", "10000"),
];

/// What keeps a Chromium without a setuid helper from starting its own sandbox; `None` if nothing does.
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
