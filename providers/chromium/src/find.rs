//! Finds an installed browser on this machine.

use crate::{
    private::PrivateDir,
    versions::{self, version},
};
use codemode_spec::{ErrorCode, ErrorReport};
use std::{
    env,
    ffi::OsStr,
    path::{Path, PathBuf},
};

/// The environment variable that names a browser where no option does.
pub(crate) const BROWSER_VARIABLE: &str = "CODEMODE_BROWSER";
/// Names of browser programs, in order of preference.
const NAMES: &[&str] = &[
    "chromium",
    "chromium-browser",
    "google-chrome-stable",
    "google-chrome",
    "chrome",
    "chrome-headless-shell",
    "headless_shell",
    "google-chrome-beta",
    "google-chrome-unstable",
    "microsoft-edge-stable",
    "microsoft-edge",
    "brave-browser",
];

/// Common installation paths outside the `PATH`.
const USUAL_PLACES: &[&str] = &[
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/lib/chromium/chromium",
    "/usr/bin/google-chrome-stable",
    "/opt/google/chrome/chrome",
    "/opt/chromium.org/chromium/chromium",
    "/snap/bin/chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
];

/// A browser program on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executable {
    /// Its absolute path.
    pub path: PathBuf,
    /// The version that it reports, such as `Chromium 156.0.8078.79`.
    pub version: String,
}

/// Finds a browser: the explicit one, else the one that `CODEMODE_BROWSER` names, else the first in the `PATH`, else
/// the first in the common installation paths. A browser that is named must exist and run; no other one is used
/// instead.
///
/// Blocks for as long as `--version` takes, about 0.1 s, once per browser and process.
///
/// # Errors
/// `BROWSER_NOT_FOUND` with the fault of the named browser, or with the paths that were tried.
pub fn find(explicit: Option<&Path>) -> Result<Executable, ErrorReport> {
    if let Some(path) = explicit {
        return named(path, "--browser");
    }
    match env::var_os(BROWSER_VARIABLE).filter(|path| !path.is_empty()) {
        Some(path) => named(Path::new(&path), BROWSER_VARIABLE),
        None => find_unnamed(),
    }
}

/// As [`find`], with the versions cached in a folder of codemode's: a browser whose version an earlier process has
/// recorded is not run again while its file is unchanged.
///
/// # Errors
/// As [`find`].
pub fn find_noted(explicit: Option<&Path>, folder: &Path) -> Result<Executable, ErrorReport> {
    let folder = PrivateDir::make(folder).ok();
    folder.iter().for_each(versions::recall);
    let found = find(explicit);
    folder.iter().for_each(versions::note);
    found
}

/// The first browser that runs, in the `PATH` or in the common installation paths. For use where neither an option nor
/// the variable names one.
pub(crate) fn find_unnamed() -> Result<Executable, ErrorReport> {
    let path = env::var_os("PATH").unwrap_or_default();
    let places = NAMES
        .iter()
        .filter_map(|name| in_path(name, &path))
        .chain(USUAL_PLACES.iter().map(PathBuf::from))
        .filter(|place| place.is_file());
    first_that_runs(places)
}

fn first_that_runs(places: impl Iterator<Item = PathBuf>) -> Result<Executable, ErrorReport> {
    let mut tried: Vec<(PathBuf, String)> = Vec::new();
    for place in places {
        if tried.iter().any(|(path, _)| *path == place) {
            continue;
        }
        match version(&place) {
            Ok(version) => return Ok(Executable { path: place, version }),
            // For example the snap's placeholder on Ubuntu, which exists and does not run.
            Err(fault) => tried.push((place, fault)),
        }
    }
    let report = |message: String| ErrorReport::new(ErrorCode::BrowserNotFound, message);
    if tried.is_empty() {
        return Err(report("no Chromium was found in the PATH or in the usual places".to_owned()));
    }
    let faults: Vec<_> = tried.iter().map(|(path, fault)| format!("{} {fault}", path.display())).collect();
    Err(report(format!("no Chromium was found that runs: {}", faults.join("; "))).with_detail("tried", faults))
}

/// The browser that the option or variable `by` names, by a path or by a program name in the `PATH`.
fn named(name: &Path, by: &str) -> Result<Executable, ErrorReport> {
    let wrong = |path: &Path, fault: &str| {
        ErrorReport::new(ErrorCode::BrowserNotFound, format!("{by} names {}, which {fault}", path.display()))
            .with_hint(format!("Correct {by} or leave it out; `codemode setup` installs a browser if there is none."))
    };
    let is_bare = name.components().count() == 1 && !name.exists();
    let found = is_bare.then(|| in_path(name, &env::var_os("PATH").unwrap_or_default())).flatten();
    let path = found.map_or_else(|| std::path::absolute(name), Ok);
    let path = path.map_err(|error| wrong(name, &format!("is no path: {error}")))?;
    match version(&path) {
        Ok(version) => Ok(Executable { path, version }),
        Err(fault) => Err(wrong(&path, &fault)),
    }
}

fn in_path(name: impl AsRef<Path>, path: &OsStr) -> Option<PathBuf> {
    let folders = env::split_paths(path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(&name)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::versions::tests::program;
    use std::fs;

    #[test]
    fn a_named_browser_is_taken_or_its_fault_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let good = program(folder.path(), "good", "echo 'Chromium 1.2.3 built on Debian'; echo more; echo noise >&2");
        assert_eq!(find(Some(&good)).unwrap(), Executable { path: good, version: "Chromium 1.2.3".to_owned() });

        let plain = folder.path().join("plain");
        fs::write(&plain, "text").unwrap();
        let failing = program(folder.path(), "failing", "exit 3");
        let silent = program(folder.path(), "silent", "exit 0");
        for (path, fault) in [
            (folder.path().join("missing"), "does not exist"),
            (folder.path().to_owned(), "is not a file"),
            (plain, "Permission denied"),
            (failing, "exit status: 3"),
            (silent, "tells no version"),
        ] {
            let report = find(Some(&path)).unwrap_err();
            assert_eq!(report.code, ErrorCode::BrowserNotFound);
            let message = &report.message;
            assert!(message.contains(fault) && message.contains(path.to_str().unwrap()), "{message}");
            assert!(report.hint.contains("--browser") && report.hint.contains("codemode setup"), "{}", report.hint);
        }
    }

    #[test]
    fn of_unnamed_browsers_the_first_that_runs_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let stub = program(folder.path(), "stub", "echo 'requires the chromium snap' >&2; exit 1");
        let good = program(folder.path(), "good", "echo Chromium 7");
        let found = first_that_runs([stub.clone(), stub.clone(), good.clone()].into_iter()).unwrap();
        assert_eq!(found.path, good);
        let report = first_that_runs([stub.clone(), stub].into_iter()).unwrap_err();
        assert_eq!(report.details["tried"].as_array().unwrap().len(), 1);
        assert_eq!(report.hint, ErrorCode::BrowserNotFound.hint());
        let report = first_that_runs(std::iter::empty()).unwrap_err();
        assert_eq!((report.code, report.hint.contains("codemode setup")), (ErrorCode::BrowserNotFound, true));
    }

    #[test]
    fn a_bare_name_is_looked_up_in_the_path() {
        let folder = tempfile::tempdir().unwrap();
        let good = program(folder.path(), "codemode-find-test", "echo Chromium 7");
        let path = env::join_paths([Path::new("relative"), folder.path()]).unwrap();
        assert_eq!(in_path("codemode-find-test", &path), Some(good));
        assert_eq!(in_path("codemode-find-none", &path), None);
    }
}
