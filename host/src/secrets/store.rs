//! The store of a state folder's secrets: one file, always rewritten whole, with names and origins in plain text and
//! values encrypted.

use super::{
    mask::Masker,
    seal::Seal,
    sealed_files::{SealedFiles, lock, not_ready},
};
use codemode_chromium::PrivateDir;
use codemode_provider::{Secret, SecretValue};
use codemode_spec::{
    ErrorCode, ErrorReport,
    limits::{SECRET_BYTES_MAX, SECRET_CHARS_MIN, SECRET_NAME_CHARS_MAX, SECRETS_FILE_BYTES_MAX, SECRETS_MAX},
};
use serde::{Deserialize, Serialize};
use std::{
    io::{self, Read as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};
use url::Url;

/// The name of the records' file.
const SEALED: &str = "sealed.json";
/// The files, as errors name them.
const FILES: SealedFiles = SealedFiles { content: "secrets", folder: "secrets" };
/// The version of the file format.
const VERSION: u32 = 1;
/// The first word of each value's associated data.
const PURPOSE: &str = "codemode secret";

/// The secrets of a state folder. Cheap to clone; all methods block for the time of reading or writing small files.
#[derive(Clone, Debug)]
pub struct SecretStore {
    folder: PathBuf,
    /// The secrets that were decrypted last.
    opened: Arc<Mutex<Option<Opened>>>,
}

/// Decrypted secrets, with a hash of the file and the key from which they were read.
type Opened = (blake3::Hash, Arc<SecretsOpened>);

/// The decrypted secrets at a point in time.
#[derive(Debug, Default)]
pub struct SecretsOpened {
    /// Sorted by name.
    pub secrets: Vec<Secret>,
    /// Masks their values.
    pub masker: Masker,
}

/// A secret without its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct SecretListed {
    /// Its name.
    pub name: String,
    /// The origin of the pages that it is for.
    pub origin: String,
    /// Whether its value can be opened. One that cannot keeps every script from running until it is removed or set anew.
    pub opens: bool,
}

/// A secret that an operator has set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretStored {
    /// Its name.
    pub name: String,
    /// The origin of the pages that it is for.
    pub origin: String,
    /// Whether there was another one of its name.
    pub replaced: bool,
}

/// A secret that an operator has removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct SecretRemoved {
    /// Its name.
    pub removed: String,
    /// The origin of the pages that it was for.
    pub origin: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecordsFile {
    version: u32,
    secrets: Vec<Record>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    name: String,
    origin: String,
    sealed: String,
}

impl Record {
    fn open(&self, seal: Option<&Seal>) -> Option<SecretValue> {
        let text = seal?.open(&[PURPOSE, &self.name, &self.origin], &self.sealed).ok()?;
        Some(SecretValue::new(text.to_string()))
    }
}

impl SecretStore {
    /// The store in a folder, which need not exist yet.
    #[must_use]
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), opened: Arc::default() }
    }

    /// All secrets, for an execution that starts. They are decrypted again only if the file or the key has changed.
    ///
    /// # Errors
    /// `NOT_READY` when one of them does not decrypt, since a value that cannot be read cannot be masked. `IO_ERROR`
    /// when a file cannot be read or is accessible to other users.
    pub fn open(&self) -> Result<Arc<SecretsOpened>, ErrorReport> {
        let Some(folder) = PrivateDir::find(&self.folder).map_err(|error| FILES.unreadable(&error))? else {
            return Ok(Arc::default());
        };
        let bytes = read_records(&folder).map_err(|error| FILES.unreadable(&error))?;
        if bytes.is_empty() {
            return Ok(Arc::default());
        }
        let seal = Seal::find(&folder).map_err(|error| FILES.unreadable(&error))?;
        let key = seal.as_ref().map_or([0; 32], |seal| *seal.fingerprint().as_bytes());
        let state = blake3::keyed_hash(&key, &bytes);
        let mut last = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, opened)) = last.as_ref().filter(|(of, _)| *of == state) {
            return Ok(Arc::clone(opened));
        }
        let opened = Arc::new(open_all(parsed(&bytes)?, seal.as_ref())?);
        *last = Some((state, Arc::clone(&opened)));
        Ok(opened)
    }

    /// The names and origins of all secrets, sorted by name.
    ///
    /// # Errors
    /// `IO_ERROR` when a file cannot be read or is accessible to other users, `NOT_READY` when the records' file is
    /// invalid.
    pub fn list(&self) -> Result<Vec<SecretListed>, ErrorReport> {
        let Some(folder) = PrivateDir::find(&self.folder).map_err(|error| FILES.unreadable(&error))? else {
            return Ok(Vec::new());
        };
        let kept = parsed(&read_records(&folder).map_err(|error| FILES.unreadable(&error))?)?;
        let seal = Seal::find(&folder).map_err(|error| FILES.unreadable(&error))?;
        let listed = kept.secrets.into_iter().map(|record| SecretListed {
            opens: record.open(seal.as_ref()).is_some(),
            name: record.name,
            origin: record.origin,
        });
        Ok(listed.collect())
    }

    /// Stores a value under a name, replacing any secret of that name.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` with everything that is wrong with name, origin and value; `NOT_READY` when there are other
    /// secrets but no key; `IO_ERROR` when it cannot be written.
    pub fn set(&self, name: &str, origin: &str, value: &SecretValue) -> Result<SecretStored, ErrorReport> {
        let origin = checked(name, origin, value)?;
        self.change(|folder, kept| {
            let place = kept.secrets.binary_search_by(|record| record.name.as_str().cmp(name));
            if place.is_err() && kept.secrets.len() >= SECRETS_MAX {
                return Err(invalid(format!("there are {SECRETS_MAX} secrets, and one more has no place")));
            }
            let seal = match Seal::find(folder).map_err(|error| FILES.unreadable(&error))? {
                Some(seal) => seal,
                None if kept.secrets.is_empty() => Seal::make(folder).map_err(|error| FILES.unwritable(&error))?,
                None => return Err(no_key()),
            };
            let sealed =
                seal.seal(&[PURPOSE, name, &origin], value.expose()).map_err(|error| FILES.unwritable(&error))?;
            let record = Record { name: name.to_owned(), origin: origin.clone(), sealed };
            match place {
                Ok(place) => kept.secrets[place] = record,
                Err(place) => kept.secrets.insert(place, record),
            }
            Ok(SecretStored { name: name.to_owned(), origin, replaced: place.is_ok() })
        })
    }

    /// Removes a secret, also one that does not decrypt.
    ///
    /// # Errors
    /// `NOT_FOUND` when there is no secret of that name; `IO_ERROR` when the change cannot be written.
    pub fn remove(&self, name: &str) -> Result<SecretRemoved, ErrorReport> {
        self.change(|_, kept| {
            let Some(place) = kept.secrets.iter().position(|record| record.name == name) else {
                return Err(ErrorReport::new(ErrorCode::NotFound, format!("there is no secret {name:?}"))
                    .with_hint("`codemode secrets list` tells the names that there are."));
            };
            let Record { name, origin, sealed: _ } = kept.secrets.remove(place);
            Ok(SecretRemoved { removed: name, origin })
        })
    }

    /// Changes the records under the writers' lock.
    fn change<T>(
        &self,
        change: impl FnOnce(&PrivateDir, &mut RecordsFile) -> Result<T, ErrorReport>,
    ) -> Result<T, ErrorReport> {
        let folder = PrivateDir::make(&self.folder).map_err(|error| FILES.unwritable(&error))?;
        // The lock is released when the file is closed, so hold the file until the end.
        let _lock = lock(&folder).map_err(|error| FILES.unwritable(&error))?;
        let mut kept = parsed(&read_records(&folder).map_err(|error| FILES.unreadable(&error))?)?;
        let changed = change(&folder, &mut kept)?;
        kept.secrets.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        let text = serde_json::to_vec_pretty(&kept).expect("plain data can be written as JSON");
        folder.replace(SEALED, &text).map_err(|error| FILES.unwritable(&error))?;
        Ok(changed)
    }
}

fn read_records(folder: &PrivateDir) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(file) = folder.read(SEALED)? {
        file.take(SECRETS_FILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

fn parsed(bytes: &[u8]) -> Result<RecordsFile, ErrorReport> {
    if bytes.is_empty() {
        return Ok(RecordsFile { version: VERSION, secrets: Vec::new() });
    }
    let kept = serde_json::from_slice(bytes).ok().filter(|kept: &RecordsFile| {
        kept.version == VERSION && bytes.len() <= SECRETS_FILE_BYTES_MAX && kept.secrets.len() <= SECRETS_MAX
    });
    kept.ok_or_else(|| {
        not_ready(format!("{SEALED} in the folder of the secrets is not what was written there")).with_hint(format!(
            "Put back a copy of it, or remove {SEALED} from the folder `secrets` of the state folder and set the secrets anew."
        ))
    })
}

fn open_all(kept: RecordsFile, seal: Option<&Seal>) -> Result<SecretsOpened, ErrorReport> {
    if seal.is_none() && !kept.secrets.is_empty() {
        return Err(no_key());
    }
    let (mut secrets, mut broken) = (Vec::new(), Vec::new());
    for record in kept.secrets {
        match record.open(seal) {
            Some(value) => secrets.push(Secret { name: record.name, origin: record.origin, value }),
            None => broken.push(record.name),
        }
    }
    if !broken.is_empty() {
        let names = broken.join(", ");
        return Err(not_ready(format!("these secrets do not open, and what cannot be read cannot be masked: {names}"))
            .with_hint(
                "Their record or the key was changed. Set them anew with `codemode secrets set`, or remove them with \
                 `codemode secrets remove`.",
            ));
    }
    let masker = Masker::of(secrets.iter().map(|secret| secret.value.expose()));
    let masker = masker.map_err(|error| not_ready(format!("the secrets cannot be masked: {error}")))?;
    Ok(SecretsOpened { secrets, masker })
}

/// Checks name, origin and value, and returns the origin as browsers serialise it.
fn checked(name: &str, origin: &str, value: &SecretValue) -> Result<String, ErrorReport> {
    let mut faults = Vec::new();
    let of_names = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if name.is_empty() || name.len() > SECRET_NAME_CHARS_MAX || !name.chars().all(of_names) {
        faults.push(format!(
            "a name has 1 to {SECRET_NAME_CHARS_MAX} letters, digits, hyphens, underscores and full stops"
        ));
    }
    let canonical = canonical_origin(origin);
    if canonical.is_none() {
        faults.push("an origin is a scheme and a host, as https://shop.example or http://localhost:8000".to_owned());
    }
    let value = value.expose();
    if value.chars().count() < SECRET_CHARS_MIN || value.len() > SECRET_BYTES_MAX {
        faults.push(format!("a value has at least {SECRET_CHARS_MIN} characters and at most {SECRET_BYTES_MAX} bytes"));
    }
    if value.chars().any(char::is_control) || value.trim() != value {
        faults.push("a value is one line without control characters, and no space stands at its ends".to_owned());
    }
    match canonical.filter(|_| faults.is_empty()) {
        Some(origin) => Ok(origin),
        None => Err(invalid(faults.join("; "))),
    }
}

/// The serialised origin, if the text is an origin and nothing else.
fn canonical_origin(text: &str) -> Option<String> {
    let url = Url::parse(text).ok()?;
    let is_bare = matches!(url.scheme(), "http" | "https")
        && url.username().is_empty()
        && url.password().is_none()
        && url.path() == "/"
        && url.query().is_none()
        && url.fragment().is_none();
    is_bare.then(|| url.origin().ascii_serialization())
}

fn invalid(message: String) -> ErrorReport {
    ErrorReport::new(ErrorCode::InvalidArgument, message)
}

fn no_key() -> ErrorReport {
    not_ready("there are secrets, and the key that opens them is missing or no key".to_owned()).with_hint(
        "Put the file `secrets/key` of the state folder back, or remove the secrets with `codemode secrets remove` and set \
         them anew.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::PermissionsExt as _};
    use tempfile::TempDir;

    fn store() -> (TempDir, SecretStore) {
        let folder = tempfile::tempdir().unwrap();
        let store = SecretStore::new(&folder.path().join("secrets"));
        (folder, store)
    }

    fn value(text: &str) -> SecretValue {
        SecretValue::new(text.to_owned())
    }

    #[test]
    fn what_is_set_is_opened_and_what_is_removed_is_gone() {
        let (_folder, store) = store();
        assert!(store.open().unwrap().secrets.is_empty() && store.list().unwrap().is_empty());
        assert!(!store.folder.exists(), "looking makes nothing");
        let set = store.set("SHOP", "https://Shop.example:443/", &value("hunter2")).unwrap();
        assert_eq!((set.origin.as_str(), set.replaced), ("https://shop.example", false));
        store.set("BANK", "http://127.0.0.1:8000", &value("geheim")).unwrap();
        assert!(store.set("SHOP", "https://shop.example", &value("hunter3")).unwrap().replaced);
        let opened = store.open().unwrap();
        let shown: Vec<_> = opened.secrets.iter().map(|it| (it.name.as_str(), it.value.expose())).collect();
        assert_eq!(shown, [("BANK", "geheim"), ("SHOP", "hunter3")]);
        assert!(Arc::ptr_eq(&opened, &store.open().unwrap()), "opened once");
        assert_eq!(store.remove("BANK").unwrap().origin, "http://127.0.0.1:8000");
        assert_eq!(store.remove("BANK").unwrap_err().code, ErrorCode::NotFound);
        assert_eq!(store.open().unwrap().secrets.len(), 1);
    }

    #[test]
    fn the_files_are_this_users_alone_and_hold_no_value() {
        let (_folder, store) = store();
        store.set("SHOP", "https://shop.example", &value("hunter2")).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&store.folder), 0o700);
        for file in fs::read_dir(&store.folder).unwrap().flatten() {
            assert_eq!(mode(&file.path()), 0o600, "{file:?}");
            let bytes = fs::read(file.path()).unwrap();
            assert!(!Masker::of(["hunter2"]).unwrap().masked(String::from_utf8_lossy(&bytes).into()).contains("***"));
        }
    }

    #[test]
    fn a_record_that_was_changed_opens_nothing_at_all() {
        let (_folder, store) = store();
        store.set("A", "https://a.example", &value("hunter2")).unwrap();
        store.set("B", "https://b.example", &value("geheim")).unwrap();
        let file = store.folder.join(SEALED);
        let whole = fs::read_to_string(&file).unwrap();
        let swapped_names = whole.replace("\"A\"", "\"C\"");
        let moved = whole.replace("a.example", "evil.example");
        let cut = &whole[..whole.len() / 2];
        for edited in [swapped_names.as_str(), &moved, cut, "{}", "[]"] {
            fs::write(&file, edited).unwrap();
            assert_eq!(store.open().unwrap_err().code, ErrorCode::NotReady, "{edited}");
        }
        fs::write(&file, &moved).unwrap();
        let opens: Vec<_> = store.list().unwrap().into_iter().map(|it| (it.name, it.opens)).collect();
        assert_eq!(opens, [("A".to_owned(), false), ("B".to_owned(), true)]);
        store.remove("A").unwrap();
        assert_eq!(store.open().unwrap().secrets.len(), 1);
    }

    #[test]
    fn without_the_key_nothing_opens_and_nothing_is_added() {
        let (_folder, store) = store();
        store.set("A", "https://a.example", &value("hunter2")).unwrap();
        let key = store.folder.join("key");
        let right = fs::read(&key).unwrap();
        for wrong in [&[7; 32][..], b"short"] {
            fs::write(&key, wrong).unwrap();
            assert_eq!(store.open().unwrap_err().code, ErrorCode::NotReady);
        }
        fs::remove_file(&key).unwrap();
        assert_eq!(store.open().unwrap_err().code, ErrorCode::NotReady);
        assert_eq!(store.set("B", "https://b.example", &value("geheim")).unwrap_err().code, ErrorCode::NotReady);
        fs::write(&key, right).unwrap();
        assert_eq!(store.open().unwrap().secrets.len(), 1);
        fs::remove_file(&key).unwrap();
        let elsewhere = tempfile::NamedTempFile::new().unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), &key).unwrap();
        assert_eq!(store.open().unwrap_err().code, ErrorCode::IoError, "no key through a link");
        store.remove("A").unwrap();
    }

    #[test]
    fn names_origins_and_values_are_checked() {
        let (_folder, store) = store();
        let rows = [
            ("", "https://a.example", "hunter2"),
            ("A B", "https://a.example", "hunter2"),
            ("A", "a.example", "hunter2"),
            ("A", "https://a.example/login", "hunter2"),
            ("A", "https://user@a.example", "hunter2"),
            ("A", "file:///", "hunter2"),
            ("A", "https://a.example?x", "hunter2"),
            ("A", "https://a.example", "abc"),
            ("A", "https://a.example", "two\nlines"),
            ("A", "https://a.example", " hunter2"),
        ];
        for (name, origin, text) in rows {
            let refused = store.set(name, origin, &value(text)).unwrap_err();
            assert_eq!(refused.code, ErrorCode::InvalidArgument, "{name} {origin} {text}");
            assert!(!refused.message.contains(text), "{}", refused.message);
        }
        assert!(store.set("A", "https://a.example", &value(&"x".repeat(SECRET_BYTES_MAX + 1))).is_err());
        for place in 0..SECRETS_MAX {
            store.set(&format!("S{place}"), "https://a.example", &value(&format!("value {place}"))).unwrap();
        }
        assert!(store.set("ONE_MORE", "https://a.example", &value("hunter2")).is_err());
        assert_eq!(store.open().unwrap().secrets.len(), SECRETS_MAX);
    }
}
