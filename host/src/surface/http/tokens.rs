//! Authentication: named tokens, each with the limits and permissions of its caller.
//!
//! Tokens are stored as hashes, so that the time of a comparison does not depend on how much of a token is right, and
//! no output can contain a token.

use super::super::config::Secret;
use crate::service::{Caller, KeyPattern, NetworkLists};
use codemode_spec::{
    ErrorCode, ErrorReport,
    limits::{TOKEN_CHARS_MAX, TOKEN_CHARS_MIN, TOKENS_FILE_BYTES_MAX, TOKENS_MAX},
    whole,
};
use rustix::fs::{Mode, OFlags};
use serde::Deserialize;
use std::{collections::BTreeMap, fs::File, io::Read as _, os::unix::fs::MetadataExt as _, path::Path, sync::Arc};

/// The name of the caller whose token is set in the environment.
const CALLER_OF_ENVIRONMENT: &str = "default";
/// The maximum length of a caller's name.
const NAME_CHARS_MAX: usize = 64;

/// The tokens of a host.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    callers: Vec<(blake3::Hash, Arc<Caller>)>,
}

/// The token file: one table per caller.
type TokensFile = BTreeMap<String, Entry>;

/// One caller.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    token: String,
    #[serde(default, deserialize_with = "whole::optional")]
    concurrent: Option<u64>,
    #[serde(default, deserialize_with = "whole::optional")]
    queued: Option<u64>,
    #[serde(default)]
    keys: Option<Vec<String>>,
    #[serde(default)]
    network: Option<NetworkLists>,
    #[serde(default)]
    admin: bool,
}

impl Tokens {
    /// Reads the tokens from the environment and the file.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` when a token is too short or not unique, or when the file is readable by other users, cannot
    /// be read or is invalid. No error shows a token.
    pub(super) fn read(of_environment: Option<&Secret>, file: Option<&Path>) -> Result<Self, ErrorReport> {
        let mut tokens = Self::default();
        if let Some(Secret(token)) = of_environment {
            tokens.add(token, Caller { name: CALLER_OF_ENVIRONMENT.to_owned(), ..Caller::default() }).map_err(wrong)?;
        }
        if let Some(path) = file {
            let of_file = |fault: String| wrong(format!("the token file {} is wrong: {fault}", path.display()));
            let text = read_private(path).map_err(of_file)?;
            // The parser's message is not used: it may show the line, and with it the token.
            let entries: TokensFile = toml::from_str(&text).map_err(|error| {
                let line = error.span().map_or(1, |span| text[..span.start].lines().count().max(1));
                of_file(format!("line {line} is not as it must be"))
            })?;
            if entries.is_empty() {
                // Otherwise an empty file would make a host without authentication.
                return Err(of_file("it names no caller".to_owned()));
            }
            for (name, entry) in entries {
                let (token, caller) =
                    entry.caller(name.clone()).map_err(|fault| of_file(format!("[{name}]: {fault}")))?;
                tokens.add(&token, caller).map_err(|fault| of_file(format!("[{name}]: {fault}")))?;
            }
        }
        Ok(tokens)
    }

    /// Whether there are no tokens, so that callers need none.
    pub(super) fn is_empty(&self) -> bool {
        self.callers.is_empty()
    }

    /// The number of callers.
    pub(super) fn len(&self) -> usize {
        self.callers.len()
    }

    /// The caller of a token. The time does not depend on which caller it is, or whether there is one.
    pub(super) fn caller(&self, token: &[u8]) -> Option<Arc<Caller>> {
        let hash = blake3::hash(token);
        let mut found = None;
        for (of, caller) in &self.callers {
            // Hashes are compared in constant time.
            if *of == hash {
                found = Some(caller);
            }
        }
        found.cloned()
    }

    fn add(&mut self, token: &str, caller: Caller) -> Result<(), String> {
        let chars = token.chars().count();
        if !(TOKEN_CHARS_MIN..=TOKEN_CHARS_MAX).contains(&chars) {
            return Err(format!("the token has {chars} characters; {TOKEN_CHARS_MIN} to {TOKEN_CHARS_MAX} are needed"));
        }
        if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("the token has characters that a header cannot carry".to_owned());
        }
        if self.callers.len() >= TOKENS_MAX {
            return Err(format!("there are more than {TOKENS_MAX} tokens"));
        }
        if self.callers.iter().any(|(_, other)| other.name == caller.name) {
            return Err(format!("there are two callers {:?}", caller.name));
        }
        let hash = blake3::hash(token.as_bytes());
        if self.callers.iter().any(|(other, _)| *other == hash) {
            return Err("another caller has the same token".to_owned());
        }
        self.callers.push((hash, Arc::new(caller)));
        Ok(())
    }
}

impl Entry {
    fn caller(self, name: String) -> Result<(String, Caller), String> {
        let Self { token, concurrent, queued, keys, network, admin } = self;
        let is_name = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
        if name.is_empty() || name.len() > NAME_CHARS_MAX || !is_name(&name) {
            return Err(format!("1 to {NAME_CHARS_MAX} letters, digits and . _ - are a caller's name"));
        }
        if concurrent == Some(0) {
            return Err("concurrent is 0: such a caller could execute nothing".to_owned());
        }
        let count = |count: Option<u64>| count.map(|count| usize::try_from(count).unwrap_or(usize::MAX));
        let keys = keys.map(|keys| keys.iter().map(|key| KeyPattern::parse(key)).collect()).transpose()?;
        let caller =
            Caller { name, concurrent_max: count(concurrent), queued_max: count(queued), keys, network, admin };
        Ok((token, caller.checked().map_err(|error| error.message)?))
    }
}

/// Reads a file that only its owner, this user, can access.
fn read_private(path: &Path) -> Result<String, String> {
    let opened = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK, Mode::empty());
    let file = File::from(opened.map_err(|error| error.to_string())?);
    let about = file.metadata().map_err(|error| error.to_string())?;
    if !about.is_file() {
        return Err("it is no file".to_owned());
    }
    if about.uid() != rustix::process::geteuid().as_raw() || about.mode() & 0o077 != 0 {
        return Err("others than its user could read or change it; run `chmod 600` on it".to_owned());
    }
    let mut text = String::new();
    let read = file.take(TOKENS_FILE_BYTES_MAX as u64 + 1).read_to_string(&mut text);
    read.map_err(|error| error.to_string())?;
    if text.len() > TOKENS_FILE_BYTES_MAX {
        return Err(format!("it has more than {TOKENS_FILE_BYTES_MAX} bytes"));
    }
    Ok(text)
}

fn wrong(fault: String) -> ErrorReport {
    ErrorReport::new(ErrorCode::InvalidArgument, fault)
        .with_hint("Write for example: [ci] token = \"…\", concurrent = 4, keys = [\"ci-*\"]; make a token with `openssl rand -hex 32`.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::PermissionsExt as _};

    const ONE: &str = "0123456789abcdef0123456789abcdef";
    const TWO: &str = "fedcba9876543210fedcba9876543210";

    fn read(text: &str, mode: u32) -> Result<Tokens, ErrorReport> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens.toml");
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        Tokens::read(None, Some(&path))
    }

    #[test]
    fn a_token_has_its_caller_with_what_that_may_have() {
        let text = format!(
            "[ci]\ntoken = \"{ONE}\"\nconcurrent = 4.0\nqueued = 0\nkeys = [\"ci-*\"]\nnetwork = {{ allow = [\"*.test\"] }}\n\
             [me]\ntoken = \"{TWO}\"\nadmin = true\n"
        );
        let tokens = read(&text, 0o600).unwrap();
        let ci = tokens.caller(ONE.as_bytes()).unwrap();
        assert_eq!((ci.name.as_str(), ci.concurrent_max, ci.queued_max), ("ci", Some(4), Some(0)));
        assert_eq!(ci.keys, Some(vec![KeyPattern::parse("ci-*").unwrap()]));
        assert_eq!(ci.network.as_ref().unwrap().allow, ["*.test"]);
        let me = tokens.caller(TWO.as_bytes()).unwrap();
        assert_eq!(*me, Caller { name: "me".to_owned(), admin: true, ..Caller::default() });
        assert!(!ci.admin);
        for wrong in ["", &ONE[1..], &format!("{ONE} "), &ONE.to_uppercase()] {
            assert!(tokens.caller(wrong.as_bytes()).is_none(), "{wrong}");
        }
        let of_environment = Tokens::read(Some(&Secret(ONE.to_owned())), None).unwrap();
        assert_eq!(of_environment.caller(ONE.as_bytes()).unwrap().name, "default");
        assert!(Tokens::read(None, None).unwrap().is_empty());
    }

    #[test]
    fn what_is_wrong_is_said_and_no_token_is_shown() {
        for (text, mode, word) in [
            (format!("[ci]\ntoken = \"{ONE}\"\n"), 0o640, "chmod 600"),
            (String::new(), 0o600, "names no caller"),
            (format!("[ci]\ntoken = \"{ONE}\"\n[me]\ntoken = \"{ONE}\"\n"), 0o600, "the same token"),
            (format!("[ci]\ntoken = \"{}\"\n", &ONE[1..]), 0o600, "31 characters"),
            (format!("[ci]\ntoken = \"{}\"\n", ONE.replace('a', "é")), 0o600, "a header cannot carry"),
            (format!("[ci]\ntoken = \"{ONE}\nkeys = []"), 0o600, "line 2"),
            (format!("[ci]\nsecret = \"{ONE}\"\n"), 0o600, "line"),
            (format!("[ci]\ntoken = \"{ONE}\"\nkeys = [\"a b\"]\n"), 0o600, "are a key"),
            (format!("[ci]\ntoken = \"{ONE}\"\nnetwork = {{ allow = [\"*x\"] }}\n"), 0o600, "network.allow"),
            (format!("[ci]\ntoken = \"{ONE}\"\nconcurrent = 0\n"), 0o600, "concurrent"),
            (format!("[\"a b\"]\ntoken = \"{ONE}\"\n"), 0o600, "caller's name"),
        ] {
            let error = read(&text, mode).expect_err(word);
            assert_eq!(error.code, ErrorCode::InvalidArgument);
            assert!(error.message.contains(word), "{word}: {error}");
            assert!(!format!("{error:?}").contains(&ONE[1..30]), "{error:?}");
        }
        assert!(Tokens::read(Some(&Secret("short".to_owned())), None).is_err());
        let missing = Tokens::read(None, Some(Path::new("/nowhere/tokens.toml"))).unwrap_err();
        assert!(missing.message.contains("/nowhere/tokens.toml"), "{missing}");
        let text = format!("[ci]\ntoken = \"{ONE}\"\n");
        assert!(!format!("{:?}", read(&text, 0o600).unwrap()).contains(ONE));
    }
}
