//! Helpers shared by the tests.

pub mod browsing;
pub mod case;
pub mod failures;
pub mod foreign;
pub mod holder;
pub mod http;
pub mod lab;
pub mod leases;
pub mod memory;
pub mod pages;
pub mod program;
pub mod range;
pub mod resident;
pub mod server;
pub mod tools;
pub mod web;

use std::path::{Path, PathBuf};

/// The root folder of the project.
pub fn root() -> PathBuf {
    let host = Path::new(env!("CARGO_MANIFEST_DIR"));
    host.parent().expect("the host's crate lies in the project's folder").to_owned()
}

/// The folder of the sandbox image that all tests of this build share; the first test compiles it.
pub fn image_dir() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("images")
}
