//! Secrets: values set by the operator that pages receive and scripts never see. They are stored encrypted in the state
//! folder, handed to the verb engine for pages of their own origin, and masked in everything that goes to a script or
//! leaves the host.
//!
//! The [`SecretStore`] stores them, encrypted by `seal`; a [`Masker`] overwrites their values in all `forms` in which a
//! value usually appears. This module does not depend on executions, namespaces or browsers.

mod forms;
mod mask;
mod seal;
mod sealed_files;
mod store;

pub use mask::Masker;
pub(crate) use seal::Seal;
pub(crate) use sealed_files::{SealedFiles, lock, not_ready};
pub use store::{SecretListed, SecretRemoved, SecretStore, SecretStored, SecretsOpened};
