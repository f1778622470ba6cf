//! Values that an operator has stored, which are put into pages and never into a script.

use crate::audit::LeaseMark;
use std::fmt;
use zeroize::Zeroizing;

/// The value of a secret. Its `Debug` shows nothing of it, and its memory is overwritten when it is dropped.
#[derive(Clone)]
pub struct SecretValue(Zeroizing<String>);

impl SecretValue {
    /// A value.
    #[must_use]
    pub fn new(value: String) -> Self {
        Self(Zeroizing::new(value))
    }

    /// The value itself: for the command that puts it into a page, for sealing and for masking, and for nothing else.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretValue {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("SecretValue(…)")
    }
}

/// A value, under the name that scripts know, for the pages of one origin.
#[derive(Clone, Debug)]
pub struct Secret {
    /// Its name.
    pub name: String,
    /// The origin of the pages that it is for, as `https://shop.example`.
    pub origin: String,
    /// Its value.
    pub value: SecretValue,
}

/// The secrets of one execution: a service of the host, as they were when the execution began.
pub trait Secrets: Send + Sync {
    /// All of them, by their names.
    fn all(&self) -> &[Secret];

    /// Takes down that one is about to be put into a page of its origin. Must return at once.
    fn used(&self, secret: &Secret, lease: Option<&LeaseMark>);

    /// The secret of a name.
    fn find(&self, name: &str) -> Option<&Secret> {
        self.all().iter().find(|secret| secret.name == name)
    }
}

/// No secrets: for hosts that have none.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSecrets;

impl Secrets for NoSecrets {
    fn all(&self) -> &[Secret] {
        &[]
    }

    fn used(&self, _: &Secret, _: Option<&LeaseMark>) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_shown_without_its_value() {
        let value = SecretValue::new("hunter2".to_owned());
        let secret = Secret { name: "SHOP".to_owned(), origin: "https://shop.example".to_owned(), value };
        let shown = format!("{secret:?}");
        assert!(shown.contains("SHOP") && !shown.contains("hunter2"), "{shown}");
    }
}
