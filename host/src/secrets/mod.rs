//! Values of the operator's that pages get and scripts never see: kept sealed in the state folder, handed to the verb engine
//! for pages of their own origin, and masked in everything that goes to a script or leaves the host.
//!
//! The [`SecretStore`] keeps them, each under a `seal`; a [`Masker`] overwrites their values in all `forms` in which a value
//! usually appears. This module knows no execution, no namespace and no browser.

mod forms;
mod mask;
mod seal;
mod store;

pub use mask::Masker;
pub(crate) use seal::Seal;
pub use store::{SecretListed, SecretRemoved, SecretStore, SecretStored, SecretsOpened};
