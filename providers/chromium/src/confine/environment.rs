//! The environment variables of a browser: an allow-list of the host's variables, and nothing else.

use std::{
    env,
    ffi::{OsStr, OsString},
    path::Path,
};

/// Variables passed on unchanged. Proxy variables are not among them: the environment must not decide what a browser
/// can reach.
const HANDED_ON: &[&str] = &["PATH", "LANG", "LANGUAGE", "TZ", "FONTCONFIG_FILE", "FONTCONFIG_PATH", "LD_LIBRARY_PATH"];
/// Prefixes of further variables that are passed on.
const HANDED_ON_PREFIXES: &[&str] = &["LC_"];
/// Variables that a browser with a window needs to find its display.
const OF_A_DISPLAY: &[&str] = &["DISPLAY", "XAUTHORITY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "XDG_SESSION_TYPE"];

/// The variables for a browser whose own files are in `home`.
pub(crate) fn environment(home: &Path, headed: bool) -> Vec<(OsString, OsString)> {
    let is_wanted = |name: &OsStr| {
        name.to_str().is_some_and(|name| {
            HANDED_ON.contains(&name)
                || HANDED_ON_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
                || headed && OF_A_DISPLAY.contains(&name)
        })
    };
    let mut variables: Vec<_> = env::vars_os().filter(|(name, _)| is_wanted(name)).collect();
    variables.push(("HOME".into(), home.into()));
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_browser_needs_is_handed_on() {
        let names = |headed| {
            let variables = environment(Path::new("/x"), headed);
            variables.into_iter().map(|(name, _)| name.into_string().unwrap()).collect::<Vec<_>>()
        };
        for name in names(true) {
            let known = HANDED_ON.contains(&&*name) || OF_A_DISPLAY.contains(&&*name) || name.starts_with("LC_");
            assert!(known || name == "HOME", "{name}");
        }
        assert!(names(false).iter().all(|name| !OF_A_DISPLAY.contains(&&**name)));
        assert_eq!(environment(Path::new("/x"), false).last().unwrap(), &("HOME".into(), "/x".into()));
    }
}
