//! The store of a state folder's login states. Each file has a line with the state's key and name, followed by the
//! encrypted state, which is bound to both: a file that was moved to another key or name does not decrypt. The file's
//! modification time is the time of the last use.

use crate::secrets::{Seal, SealedFiles, lock, not_ready};
use codemode_chromium::{PrivateDir, Untrusted};
use codemode_provider::{LoginState, check_login_name};
use codemode_spec::{
    ErrorCode, ErrorReport,
    limits::{LOGIN_BYTES_MAX, LOGIN_FILE_BYTES_MAX, LOGIN_HEAD_BYTES_MAX, LOGINS_MAX, LOGINS_OF_KEY_MAX},
};
use serde::{Deserialize, Serialize};
use std::{
    ffi::OsStr,
    io::{self, BufRead as _, BufReader, Read as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// The suffix of a state's file name.
const ENDING: &str = ".login";
/// The files, as errors name them.
const FILES: SealedFiles = SealedFiles { content: "login states", folder: "logins" };
/// The version of the file format.
const VERSION: u32 = 1;
/// The first word of each state's associated data.
const PURPOSE: &str = "codemode login state";

/// The login states of a state folder. Cheap to clone; all methods block for the time of reading or writing small
/// files.
#[derive(Clone, Debug)]
pub struct LoginStore {
    folder: PathBuf,
}

/// A login state without its values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct LoginListed {
    /// Its name.
    pub name: String,
    /// The session key that it belongs to.
    pub key: String,
    /// When it was saved or loaded last, in milliseconds since the Unix epoch.
    pub used_ms: i64,
}

/// The login states of a state folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct LoginsListed {
    /// By key and name.
    pub logins: Vec<LoginListed>,
    /// Files that are no states, or those of another key or name.
    pub unreadable: usize,
}

/// A login state that is removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct LoginRemoved {
    /// Its name.
    pub removed: String,
    /// The session key that it belonged to.
    pub key: String,
}

/// The first line of a file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    version: u32,
    key: String,
    name: String,
}

impl LoginStore {
    /// The store in a folder, which need not exist yet.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// Saves a state for a key under a name, replacing any state of that name.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` when the name is invalid or there are too many states, `RESULT_TOO_LARGE`, `NOT_READY` when
    /// there are other states but no encryption key, `IO_ERROR`.
    pub fn save(&self, key: &str, name: &str, state: &LoginState) -> Result<(), ErrorReport> {
        check_login_name(name)?;
        if state.expose().len() > LOGIN_BYTES_MAX {
            let message = format!("a login state may have {LOGIN_BYTES_MAX} bytes");
            return Err(ErrorReport::new(ErrorCode::ResultTooLarge, message));
        }
        let folder = PrivateDir::make(&self.folder).map_err(|error| FILES.unwritable(&error))?;
        let _lock = lock(&folder).map_err(|error| FILES.unwritable(&error))?;
        let listed = list(&folder).map_err(|error| FILES.unreadable(&error))?;
        let of_key: Vec<_> = listed.logins.iter().filter(|login| login.key == key).collect();
        if !of_key.iter().any(|login| login.name == name) {
            if of_key.len() >= LOGINS_OF_KEY_MAX {
                let names: Vec<_> = of_key.iter().map(|login| login.name.as_str()).collect();
                let message =
                    format!("the session key has {LOGINS_OF_KEY_MAX} login states, and one more has no place");
                let hint = format!("Save it under the name of another one, or remove one: {}.", names.join(", "));
                return Err(invalid(message).with_hint(hint));
            }
            if listed.logins.len() + listed.unreadable >= LOGINS_MAX {
                let message = format!("there are {LOGINS_MAX} login states, and one more has no place");
                return Err(invalid(message).with_hint(
                    "An operator removes some: `codemode logins list`, `codemode logins remove NAME --key KEY`.",
                ));
            }
        }
        let seal = match Seal::find(&folder).map_err(|error| FILES.unreadable(&error))? {
            Some(seal) => seal,
            None if listed == LoginsListed::default() => {
                Seal::make(&folder).map_err(|error| FILES.unwritable(&error))?
            }
            None => return Err(no_key()),
        };
        let head = Head { version: VERSION, key: key.to_owned(), name: name.to_owned() };
        let mut text = serde_json::to_string(&head).expect("plain data can be written as JSON");
        text.push('\n');
        text.push_str(&seal.seal(&[PURPOSE, key, name], state.expose()).map_err(|error| FILES.unwritable(&error))?);
        folder.replace(file_of(key, name), text.as_bytes()).map_err(|error| FILES.unwritable(&error))
    }

    /// The state of a key and name; `now` is recorded as its last use.
    ///
    /// # Errors
    /// `NOT_FOUND` with the key's names when there is none, `NOT_READY` when it does not decrypt, `IO_ERROR`.
    pub fn load(&self, key: &str, name: &str, now: SystemTime) -> Result<LoginState, ErrorReport> {
        check_login_name(name)?;
        let Some(folder) = PrivateDir::find(&self.folder).map_err(|error| FILES.unreadable(&error))? else {
            return Err(unknown(name, &[]));
        };
        let Some(file) = folder.append(file_of(key, name)).map_err(|error| FILES.unreadable(&error))? else {
            return Err(unknown(name, &self.names(key)?));
        };
        let mut text = String::new();
        let read = (&file).take(LOGIN_FILE_BYTES_MAX as u64 + 1).read_to_string(&mut text);
        if let Err(error) = read
            && error.kind() != io::ErrorKind::InvalidData
        {
            return Err(FILES.unreadable(&error));
        }
        let seal = Seal::find(&folder).map_err(|error| FILES.unreadable(&error))?.ok_or_else(no_key)?;
        let sealed = text.split_once('\n').filter(|(head, _)| is_head_of(head.as_bytes(), key, name));
        let opened = sealed.and_then(|(_, sealed)| seal.open(&[PURPOSE, key, name], sealed).ok());
        let opened = opened.ok_or_else(|| does_not_open(name))?;
        file.set_modified(now).map_err(|error| FILES.unwritable(&error))?;
        Ok(LoginState::new(opened.to_string()))
    }

    /// The names of a key's states, sorted.
    ///
    /// # Errors
    /// `IO_ERROR`.
    pub fn names(&self, key: &str) -> Result<Vec<String>, ErrorReport> {
        Ok(self.list()?.logins.into_iter().filter(|login| login.key == key).map(|login| login.name).collect())
    }

    /// All states, sorted by key and name.
    ///
    /// # Errors
    /// `IO_ERROR`.
    pub fn list(&self) -> Result<LoginsListed, ErrorReport> {
        match PrivateDir::find(&self.folder).map_err(|error| FILES.unreadable(&error))? {
            Some(folder) => list(&folder).map_err(|error| FILES.unreadable(&error)),
            None => Ok(LoginsListed::default()),
        }
    }

    /// Removes the state of a key and name, also one that does not decrypt.
    ///
    /// # Errors
    /// `NOT_FOUND` with the key's names when there is none, `IO_ERROR`.
    pub fn remove(&self, key: &str, name: &str) -> Result<LoginRemoved, ErrorReport> {
        check_login_name(name)?;
        let Some(folder) = PrivateDir::find(&self.folder).map_err(|error| FILES.unreadable(&error))? else {
            return Err(unknown(name, &[]));
        };
        let _lock = lock(&folder).map_err(|error| FILES.unwritable(&error))?;
        let file = file_of(key, name);
        if folder.metadata(&file).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            return Err(unknown(name, &self.names(key)?));
        }
        folder.remove_file(file).map_err(|error| FILES.unwritable(&error))?;
        Ok(LoginRemoved { removed: name.to_owned(), key: key.to_owned() })
    }

    /// Removes the states and unfinished files that have not been used for `kept`. Returns the removed states, and
    /// whether all were removed: a file that cannot be removed does not keep the others.
    ///
    /// # Errors
    /// `IO_ERROR`.
    pub fn remove_unused(&self, kept: Duration, now: SystemTime) -> (Vec<LoginRemoved>, Result<(), ErrorReport>) {
        let mut removed = Vec::new();
        let all = match PrivateDir::find(&self.folder) {
            Ok(Some(folder)) => {
                remove_unused(&folder, kept, now, &mut removed).map_err(|error| FILES.unwritable(&error))
            }
            Ok(None) => Ok(()),
            Err(error) => Err(FILES.unreadable(&error)),
        };
        (removed, all)
    }
}

fn remove_unused(
    folder: &PrivateDir,
    kept: Duration,
    now: SystemTime,
    removed: &mut Vec<LoginRemoved>,
) -> io::Result<()> {
    let old = || -> io::Result<Vec<_>> {
        let mut old = Vec::new();
        for file in folder.names()?.into_iter().filter(|name| is_of_a_state(name)) {
            let used = match folder.metadata(&file) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                metadata => metadata?.modified()?,
            };
            if now.duration_since(used).is_ok_and(|age| age > kept) {
                old.push(file);
            }
        }
        Ok(old)
    };
    if old()?.is_empty() {
        return Ok(());
    }
    let _lock = lock(folder)?;
    let mut all = Ok(());
    // Check again under the lock: one of them may have been saved meanwhile.
    for file in old()? {
        // The name of a state that cannot be read is unknown; it is removed all the same.
        let head = head_of(folder, &file).ok().flatten();
        match folder.remove_file(&file) {
            Ok(()) => removed.extend(head.map(|Head { key, name, .. }| LoginRemoved { removed: name, key })),
            Err(error) => all = Err(error),
        }
    }
    all
}

/// Whether a file holds a state, or an unfinished one.
fn is_of_a_state(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| name.ends_with(ENDING) || name.ends_with(".new"))
}

fn list(folder: &PrivateDir) -> io::Result<LoginsListed> {
    let mut listed = LoginsListed::default();
    for file in folder.names()?.into_iter().filter(|name| name.to_str().is_some_and(|name| name.ends_with(ENDING))) {
        let used = match folder.metadata(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            metadata => metadata?.modified()?,
        };
        match head_of(folder, &file)? {
            Some(Head { key, name, .. }) => listed.logins.push(LoginListed { name, key, used_ms: milliseconds(used) }),
            None => listed.unreadable += 1,
        }
    }
    listed.logins.sort_unstable_by(|a, b| (&a.key, &a.name).cmp(&(&b.key, &b.name)));
    Ok(listed)
}

/// The key and name in a file's first line, if it is valid and the file has the name that belongs to them.
fn head_of(folder: &PrivateDir, file: &OsStr) -> io::Result<Option<Head>> {
    let opened = match folder.read(file) {
        // A link, or a file of another user, is not a state.
        Err(error) if Untrusted::of(&error).is_some() => None,
        opened => opened?,
    };
    let Some(opened) = opened else { return Ok(None) };
    let mut line = Vec::new();
    BufReader::new(opened.take(LOGIN_HEAD_BYTES_MAX as u64)).read_until(b'\n', &mut line)?;
    let head = serde_json::from_slice(&line).ok();
    Ok(head.filter(|head: &Head| head.version == VERSION && *file == *file_of(&head.key, &head.name)))
}

fn is_head_of(line: &[u8], key: &str, name: &str) -> bool {
    let head = serde_json::from_slice(line).ok();
    head.is_some_and(|head: Head| head.version == VERSION && head.key == key && head.name == name)
}

/// The file name is a hash, since a key may hold characters that a file name cannot; it depends on key and name only.
fn file_of(key: &str, name: &str) -> String {
    let words = serde_json::to_vec(&[key, name]).expect("texts can be written as JSON");
    format!("{}{ENDING}", &blake3::hash(&words).to_hex()[..32])
}

fn milliseconds(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn invalid(message: String) -> ErrorReport {
    ErrorReport::new(ErrorCode::InvalidArgument, message)
}

fn unknown(name: &str, names: &[String]) -> ErrorReport {
    let hint = match names {
        [] => "There are none of this session key: one is saved after a login.".to_owned(),
        names => format!("Those of this session key: {}.", names.join(", ")),
    };
    ErrorReport::new(ErrorCode::NotFound, format!("there is no login state {name:?}")).with_hint(hint)
}

fn does_not_open(name: &str) -> ErrorReport {
    not_ready(format!("the login state {name:?} does not open: its file or the key was changed"))
        .with_hint("Log in, and save it under its name again, which replaces it; or remove it.")
}

fn no_key() -> ErrorReport {
    not_ready("there are login states, and the key that opens them is missing or no key".to_owned()).with_hint(
        "An operator puts the file `logins/key` of the state folder back, or removes the states: `codemode logins list`, \
         `codemode logins remove NAME --key KEY`.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::PermissionsExt as _};
    use tempfile::TempDir;

    const VALUE: &str = r#"{"cookies":[{"value":"hunter2-of-the-shop"}]}"#;

    fn store() -> (TempDir, LoginStore) {
        let folder = tempfile::tempdir().unwrap();
        let store = LoginStore::new(&folder.path().join("logins"));
        (folder, store)
    }

    fn state(text: &str) -> LoginState {
        LoginState::new(text.to_owned())
    }

    impl LoginStore {
        fn loaded(&self, key: &str, name: &str) -> Result<String, ErrorReport> {
            self.load(key, name, SystemTime::now()).map(|state| state.expose().to_owned())
        }

        fn file(&self, key: &str, name: &str) -> PathBuf {
            self.folder.join(file_of(key, name))
        }
    }

    #[test]
    fn a_state_is_there_for_its_key_only_until_it_is_removed() {
        let (_folder, store) = store();
        assert_eq!(store.loaded("a", "shop").unwrap_err().code, ErrorCode::NotFound);
        assert!(store.list().unwrap().logins.is_empty() && !store.folder.exists(), "looking makes nothing");
        store.save("a", "shop", &state("1")).unwrap();
        store.save("a", "shop", &state(VALUE)).unwrap();
        store.save("a", "bank", &state("2")).unwrap();
        store.save("b", "mail", &state("3")).unwrap();
        assert_eq!(store.loaded("a", "shop").unwrap(), VALUE);
        let refused = store.loaded("b", "shop").unwrap_err();
        assert_eq!(refused.hint, "Those of this session key: mail.");
        assert_eq!(store.remove("b", "shop").unwrap_err(), refused);
        assert_eq!(store.names("a").unwrap(), ["bank", "shop"]);
        let gone = LoginRemoved { removed: "shop".to_owned(), key: "a".to_owned() };
        assert_eq!(store.remove("a", "shop").unwrap(), gone);
        assert_eq!(store.remove("a", "shop").unwrap_err().hint, "Those of this session key: bank.");
    }

    #[test]
    fn the_files_are_this_users_alone_and_hold_no_value() {
        let (_folder, store) = store();
        store.save("a", "shop", &state(VALUE)).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&store.folder), 0o700);
        let files: Vec<_> = fs::read_dir(&store.folder).unwrap().flatten().map(|file| file.path()).collect();
        assert_eq!(files.len(), 3, "key, lock, and the state: {files:?}");
        for file in files {
            assert_eq!(mode(&file), 0o600, "{file:?}");
            assert!(!String::from_utf8_lossy(&fs::read(&file).unwrap()).contains("hunter2"), "{file:?}");
        }
    }

    #[test]
    fn a_file_that_was_changed_or_moved_does_not_open() {
        let (_folder, store) = store();
        store.save("a", "shop", &state(VALUE)).unwrap();
        store.save("b", "shop", &state("2")).unwrap();
        store.save("a", "bank", &state("3")).unwrap();
        let file = store.file("a", "shop");
        let whole = fs::read_to_string(&file).unwrap();
        let of_other = fs::read_to_string(store.file("b", "shop")).unwrap();
        let under_our_name = of_other.replace(r#""key":"b""#, r#""key":"a""#);
        assert_ne!(of_other, under_our_name);
        let renamed = fs::read_to_string(store.file("a", "bank")).unwrap().replace("bank", "shop");
        let flipped = whole.replace(&whole[whole.len() - 8..], "AAAAAAA=");
        for edited in [&whole[..whole.len() - 4], "", "{}", "\n", &flipped, &of_other, &under_our_name, &renamed] {
            fs::write(&file, edited).unwrap();
            let refused = store.loaded("a", "shop").unwrap_err();
            assert_eq!((refused.code, refused.retryable), (ErrorCode::NotReady, false), "{edited}");
        }
        fs::write(&file, [0xff, 0xfe]).unwrap();
        assert_eq!(store.loaded("a", "shop").unwrap_err().code, ErrorCode::NotReady);
        let listed = store.list().unwrap();
        assert_eq!((listed.logins.len(), listed.unreadable), (2, 1));
        fs::write(&file, whole).unwrap();
        assert_eq!(store.loaded("a", "shop").unwrap(), VALUE);
        fs::write(&file, "").unwrap();
        store.remove("a", "shop").unwrap();
        fs::hard_link(store.file("b", "shop"), &file).unwrap();
        assert_eq!(store.loaded("a", "shop").unwrap_err().code, ErrorCode::IoError, "no file with two names");
    }

    #[test]
    fn without_the_key_nothing_opens_and_nothing_is_added() {
        let (_folder, store) = store();
        store.save("a", "shop", &state(VALUE)).unwrap();
        let key = store.folder.join("key");
        let right = fs::read(&key).unwrap();
        fs::write(&key, [7; 32]).unwrap();
        assert_eq!(store.loaded("a", "shop").unwrap_err().code, ErrorCode::NotReady);
        fs::remove_file(&key).unwrap();
        assert_eq!(store.loaded("a", "shop").unwrap_err().code, ErrorCode::NotReady);
        assert_eq!(store.save("a", "bank", &state("2")).unwrap_err().code, ErrorCode::NotReady);
        fs::write(&key, right).unwrap();
        assert_eq!(store.loaded("a", "shop").unwrap(), VALUE);
    }

    #[test]
    fn a_key_and_a_folder_have_so_many_and_no_more() {
        let (_folder, store) = store();
        for place in 0..LOGINS_OF_KEY_MAX {
            store.save("a", &format!("s{place}"), &state("1")).unwrap();
        }
        let refused = store.save("a", "more", &state("1")).unwrap_err();
        assert_eq!(refused.code, ErrorCode::InvalidArgument);
        assert!(refused.hint.contains("s0, s1, s10"), "{}", refused.hint);
        store.save("a", "s0", &state("2")).unwrap();
        for place in LOGINS_OF_KEY_MAX..LOGINS_MAX {
            store.save(&format!("k{place}"), "shop", &state("1")).unwrap();
        }
        assert_eq!(store.save("b", "shop", &state("1")).unwrap_err().code, ErrorCode::InvalidArgument);
        let large = state(&"x".repeat(LOGIN_BYTES_MAX + 1));
        assert_eq!(store.save("a", "s0", &large).unwrap_err().code, ErrorCode::ResultTooLarge);
        let largest = state(&"x".repeat(LOGIN_BYTES_MAX));
        store.save("a", "s0", &largest).unwrap();
        assert_eq!(store.loaded("a", "s0").unwrap().len(), LOGIN_BYTES_MAX, "what is saved is read");
        assert_eq!(store.save("a", "a/b", &state("1")).unwrap_err().code, ErrorCode::InvalidArgument);
    }

    #[test]
    fn a_state_goes_when_it_was_not_used_for_long() {
        let (_folder, store) = store();
        let day = Duration::from_secs(24 * 3_600);
        store.save("a", "used", &state("1")).unwrap();
        store.save("a", "unused", &state("2")).unwrap();
        fs::write(store.folder.join("0123.4567.new"), "half").unwrap();
        // Folders, which cannot be removed as files are; their names sort before and after that of the state.
        fs::create_dir(store.folder.join("00.login")).unwrap();
        fs::create_dir(store.folder.join("zz.login")).unwrap();
        let now = SystemTime::now();
        assert_eq!(store.remove_unused(day, now), (Vec::new(), Ok(())));
        store.load("a", "used", now + day).unwrap();
        let gone = LoginRemoved { removed: "unused".to_owned(), key: "a".to_owned() };
        let (removed, all) = store.remove_unused(day, now + day + day / 2);
        assert_eq!((removed, all.unwrap_err().code), (vec![gone], ErrorCode::IoError));
        assert_eq!(store.names("a").unwrap(), ["used"]);
        assert!(!store.folder.join("0123.4567.new").exists() && store.folder.join("key").exists());
    }
}
