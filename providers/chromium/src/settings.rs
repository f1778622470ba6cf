//! Edits the settings file of a profile. A kept profile was written by a browser, which may run as another user and be
//! hostile, so no link in it is followed and reads are bounded.

use rustix::{
    fs::{AtFlags, CWD, Mode, OFlags, mkdirat, openat, renameat, unlinkat},
    io::Errno,
};
use serde_json::{Value as Json, json};
use std::{
    fs::File,
    io::{self, Read as _, Write as _},
    path::Path,
};

/// The folder of the profile's only user.
const FOLDER: &str = "Default";
const FILE: &str = "Preferences";
/// The temporary name under which the file is written before it is renamed.
const FILE_NEW: &str = "Preferences.codemode";
/// Settings larger than this are discarded and started afresh.
const BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Changes the settings of a profile that no browser is using.
pub(crate) fn change(profile: &Path, change: impl FnOnce(&mut Json)) -> io::Result<()> {
    let folder = profile.join(FOLDER);
    match mkdirat(CWD, &folder, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    let folder = openat(CWD, &folder, OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    let open = |name, flags| openat(&folder, name, flags | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR);
    let kept = open(FILE, OFlags::RDONLY | OFlags::NONBLOCK).ok().and_then(|file| {
        let (file, mut text) = (File::from(file), String::new());
        file.metadata().ok().filter(|metadata| metadata.is_file() && metadata.len() <= BYTES_MAX)?;
        file.take(BYTES_MAX).read_to_string(&mut text).ok()?;
        serde_json::from_str(&text).ok()
    });
    let mut settings: Json = kept.filter(Json::is_object).unwrap_or_else(|| json!({}));
    change(&mut settings);
    let _ = unlinkat(&folder, FILE_NEW, AtFlags::empty());
    let new = open(FILE_NEW, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)?;
    File::from(new).write_all(settings.to_string().as_bytes())?;
    Ok(renameat(&folder, FILE_NEW, &folder, FILE)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::symlink};

    #[test]
    fn what_was_there_stays_and_no_link_is_followed() {
        let folder = tempfile::tempdir().unwrap();
        let profile = folder.path().join("profile");
        fs::create_dir(&profile).unwrap();
        let file = profile.join("Default/Preferences");
        change(&profile, |settings| settings["a"] = json!(1)).unwrap();
        change(&profile, |settings| settings["b"] = json!(2)).unwrap();
        assert_eq!(serde_json::from_str::<Json>(&fs::read_to_string(&file).unwrap()).unwrap(), json!({"a": 1, "b": 2}));

        let others = folder.path().join("others");
        fs::write(&others, "{\"secret\": 1}").unwrap();
        for planted in [&file, &profile.join("Default/Preferences.codemode")] {
            let _ = fs::remove_file(planted);
            symlink(&others, planted).unwrap();
            change(&profile, |settings| assert_eq!(settings.get("secret"), None)).unwrap();
            assert_eq!(fs::read_to_string(&others).unwrap(), "{\"secret\": 1}");
        }
        fs::remove_dir_all(profile.join("Default")).unwrap();
        symlink(folder.path(), profile.join("Default")).unwrap();
        assert!(change(&profile, |_| {}).is_err());
        assert!(!folder.path().join("Preferences").exists());
    }
}
