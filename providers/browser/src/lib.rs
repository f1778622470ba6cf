//! The namespace `browser`: page verbs under Playwright's names.
//!
//! A thin face on the verb engine (`codemode_verbs`). The methods of the provider are its verbs, one row each in
//! `methods`. Scripts see the objects that the `layer` builds from them inside the sandbox: `browser.open(url)`, pages,
//! locators.
//!
//! This crate knows neither the sandbox nor the host, and no other namespace.
#![forbid(unsafe_code)]

mod account;
mod calls;
mod execution;
mod hints;
mod layer;
mod methods;
mod provider;

pub use provider::BrowserProvider;

/// The JSON schema of each verb's argument, with the verb's name.
#[cfg(feature = "schema")]
#[must_use]
pub fn schemas() -> Vec<(String, serde_json::Value)> {
    methods::schemas()
}
