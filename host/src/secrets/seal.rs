//! Sealing: ChaCha20-Poly1305 under a random key in a file of its own. What a sealed text is about is authenticated with it, so
//! that a record which was moved to another name or origin does not open.

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

/// The file of the key.
const KEY: &str = "key";
/// Bytes of a key.
const KEY_BYTES: usize = 32;

/// The key of a folder.
pub(crate) struct Seal {
    key: LessSafeKey,
    /// A name for the key that tells nothing of it.
    mark: blake3::Hash,
}

/// Why a sealed text does not open: it was changed, or is about something else, or another key sealed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Broken;

impl Seal {
    /// The key of a folder. `None` if there is none, or the file holds no key.
    pub(crate) fn find(folder: &PrivateDir) -> io::Result<Option<Self>> {
        let Some(file) = folder.read(KEY)? else { return Ok(None) };
        let mut bytes = Zeroizing::new(Vec::new());
        file.take(KEY_BYTES as u64 + 1).read_to_end(&mut bytes)?;
        Ok(Self::of(&bytes))
    }

    /// Makes a key, in the place of one that opens nothing any more.
    pub(crate) fn make(folder: &PrivateDir) -> io::Result<Self> {
        let mut bytes = Zeroizing::new([0; KEY_BYTES]);
        random(&mut *bytes)?;
        folder.replace(KEY, &*bytes)?;
        Self::of(&*bytes).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    fn of(bytes: &[u8]) -> Option<Self> {
        let key = UnboundKey::new(&CHACHA20_POLY1305, bytes).ok()?;
        Some(Self { key: LessSafeKey::new(key), mark: blake3::hash(bytes) })
    }

    /// Tells two keys apart.
    pub(crate) fn mark(&self) -> blake3::Hash {
        self.mark
    }

    /// Seals a text that is about these words.
    pub(crate) fn seal(&self, about: &[&str], text: &str) -> io::Result<String> {
        let mut nonce = [0; NONCE_LEN];
        random(&mut nonce)?;
        let mut sealed = Vec::with_capacity(NONCE_LEN + text.len() + CHACHA20_POLY1305.tag_len());
        sealed.extend_from_slice(text.as_bytes());
        let nonce_used = Nonce::assume_unique_for_key(nonce);
        self.key
            .seal_in_place_append_tag(nonce_used, Aad::from(words(about)), &mut sealed)
            .map_err(|_| io::Error::other("it could not be sealed"))?;
        sealed.splice(0..0, nonce);
        Ok(BASE64_STANDARD.encode(sealed))
    }

    /// Opens what was sealed about these words.
    pub(crate) fn open(&self, about: &[&str], sealed: &str) -> Result<Zeroizing<String>, Broken> {
        let mut bytes = Zeroizing::new(BASE64_STANDARD.decode(sealed).map_err(|_| Broken)?);
        let (nonce, sealed) = bytes.split_at_mut_checked(NONCE_LEN).ok_or(Broken)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| Broken)?;
        let text = self.key.open_in_place(nonce, Aad::from(words(about)), sealed).map_err(|_| Broken)?;
        std::str::from_utf8(text).map(|text| Zeroizing::new(text.to_owned())).map_err(|_| Broken)
    }
}

impl fmt::Debug for Seal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Seal(…)")
    }
}

/// Words as bytes from which the words can be told again: no two lists have the same.
fn words(about: &[&str]) -> Vec<u8> {
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
        assert!(other.mark() != seal.mark() && other.open(&["SHOP", "https://shop.example"], &sealed).is_err());
        folder.replace(KEY, b"short").unwrap();
        assert!(Seal::find(&folder).unwrap().is_none(), "five bytes are no key");
    }
}
