//! Secrets: values stored by an operator, which are inserted into pages and never passed to a script.

use crate::audit::LeaseMark;
use std::fmt;
use zeroize::Zeroizing;

/// The value of a secret. Its `Debug` prints none of it, and its memory is overwritten on drop.
#[derive(Clone)]
pub struct SecretValue(Zeroizing<String>);

impl SecretValue {
    /// Wraps a value.
    #[must_use]
    pub fn new(value: String) -> Self {
        Self(Zeroizing::new(value))
    }

    /// The value in plain text, for the command that inserts it into a page, for sealing and for masking, and for no
    /// other use.
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

/// A secret: a value with the name by which scripts refer to it, restricted to the pages of one origin.
#[derive(Clone, Debug)]
pub struct Secret {
    /// The secret's name.
    pub name: String,
    /// The origin of the pages that may receive the value, such as `https://shop.example`.
    pub origin: String,
    /// The secret's value.
    pub value: SecretValue,
}

/// The secrets of one execution, as they were when the execution started: a service of the host.
pub trait Secrets: Send + Sync {
    /// All secrets, sorted by name.
    fn all(&self) -> &[Secret];

    /// Records that a secret is about to be inserted into a page of its origin. Must return at once.
    fn used(&self, secret: &Secret, lease: Option<&LeaseMark>);

    /// The secret with a name.
    fn find(&self, name: &str) -> Option<&Secret> {
        self.all().iter().find(|secret| secret.name == name)
    }
}

/// No secrets: for hosts that offer none.
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
