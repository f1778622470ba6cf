//! Authenticated encryption of stored texts: ChaCha20-Poly1305 with a random key in a file. The purpose of a text is
//! authenticated as associated data, so that a record moved to another name or origin does not decrypt.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use codemode_chromium::PrivateDir;
use ring::{
    aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    rand::{SecureRandom as _, SystemRandom},
};
use std::{
    fmt,
    io::{self, Read as _},
};
use zeroize::Zeroizing;

/// The name of the key's file.
const KEY: &str = "key";
/// The key's length.
const KEY_BYTES: usize = 32;

/// A folder's encryption key.
pub(crate) struct Seal {
    key: LessSafeKey,
    /// A fingerprint that reveals nothing of the key.
    fingerprint: blake3::Hash,
}

/// A sealed text does not open: it was changed, belongs to another purpose, or was sealed with another key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Broken;

impl Seal {
    /// Reads a folder's key. `None` if there is no file, or its content is not a key.
    pub(crate) fn find(folder: &PrivateDir) -> io::Result<Option<Self>> {
        let Some(file) = folder.read(KEY)? else { return Ok(None) };
        let mut bytes = Zeroizing::new(Vec::new());
        file.take(KEY_BYTES as u64 + 1).read_to_end(&mut bytes)?;
        Ok(Self::of(&bytes))
    }

    /// Creates a key, and replaces an existing one.
    pub(crate) fn make(folder: &PrivateDir) -> io::Result<Self> {
        let mut bytes = Zeroizing::new([0; KEY_BYTES]);
        random(&mut *bytes)?;
        folder.replace(KEY, &*bytes)?;
        Self::of(&*bytes).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    fn of(bytes: &[u8]) -> Option<Self> {
        let key = UnboundKey::new(&CHACHA20_POLY1305, bytes).ok()?;
        Some(Self { key: LessSafeKey::new(key), fingerprint: blake3::hash(bytes) })
    }

    /// The key's fingerprint, to detect a changed key.
    pub(crate) fn fingerprint(&self) -> blake3::Hash {
        self.fingerprint
    }

    /// Encrypts a text, with `about` as associated data.
    pub(crate) fn seal(&self, about: &[&str], text: &str) -> io::Result<String> {
        let mut nonce = [0; NONCE_LEN];
        random(&mut nonce)?;
        let mut sealed = Vec::with_capacity(NONCE_LEN + text.len() + CHACHA20_POLY1305.tag_len());
        sealed.extend_from_slice(text.as_bytes());
        let nonce_used = Nonce::assume_unique_for_key(nonce);
        self.key
            .seal_in_place_append_tag(nonce_used, Aad::from(associated_data(about)), &mut sealed)
            .map_err(|_| io::Error::other("it could not be sealed"))?;
        sealed.splice(0..0, nonce);
        Ok(BASE64_STANDARD.encode(sealed))
    }

    /// Decrypts a text that was sealed with the same `about`.
    pub(crate) fn open(&self, about: &[&str], sealed: &str) -> Result<Zeroizing<String>, Broken> {
        let mut bytes = Zeroizing::new(BASE64_STANDARD.decode(sealed).map_err(|_| Broken)?);
        let (nonce, sealed) = bytes.split_at_mut_checked(NONCE_LEN).ok_or(Broken)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| Broken)?;
        let text = self.key.open_in_place(nonce, Aad::from(associated_data(about)), sealed).map_err(|_| Broken)?;
        std::str::from_utf8(text).map(|text| Zeroizing::new(text.to_owned())).map_err(|_| Broken)
    }
}

impl fmt::Debug for Seal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Seal(…)")
    }
}

/// An unambiguous encoding of a list of words: no two lists have the same bytes.
fn associated_data(about: &[&str]) -> Vec<u8> {
    serde_json::to_vec(about).unwrap_or_default()
}

fn random(bytes: &mut [u8]) -> io::Result<()> {
    SystemRandom::new().fill(bytes).map_err(|_| io::Error::other("the system has no random bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_text_opens_only_under_its_key_and_about_its_words() {
        let folder = tempfile::tempdir().unwrap();
        let folder = PrivateDir::make(&folder.path().join("secrets")).unwrap();
        assert!(Seal::find(&folder).unwrap().is_none());
        let seal = Seal::make(&folder).unwrap();
        let sealed = seal.seal(&["SHOP", "https://shop.example"], "hunter2").unwrap();
        let again = Seal::find(&folder).unwrap().unwrap();
        assert_eq!(again.open(&["SHOP", "https://shop.example"], &sealed).unwrap().as_str(), "hunter2");
        for about in [["OTHER", "https://shop.example"], ["SHOP", "https://evil.example"], ["SHOP\",\"", ""]] {
            assert_eq!(seal.open(&about, &sealed).err(), Some(Broken), "{about:?}");
        }
        assert_ne!(sealed, seal.seal(&["SHOP", "https://shop.example"], "hunter2").unwrap(), "no nonce comes twice");
        for end in 0..sealed.len() {
            assert!(seal.open(&["SHOP", "https://shop.example"], &sealed[..end]).is_err(), "cut at {end}");
        }
        let other = Seal::make(&folder).unwrap();
        assert!(
            other.fingerprint() != seal.fingerprint()
                && other.open(&["SHOP", "https://shop.example"], &sealed).is_err()
        );
        folder.replace(KEY, b"short").unwrap();
        assert!(Seal::find(&folder).unwrap().is_none(), "five bytes are no key");
    }
}
