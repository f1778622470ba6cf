//! The end of a transport.

use crate::error::CdpError;
use std::fmt;

/// Why a transport can no longer send or receive.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) reason: String,
    /// Set if a message exceeded the size bound.
    pub(crate) too_large: Option<CdpError>,
}

impl Broken {
    pub(crate) fn gone() -> Self {
        Self::because(&"the browser went away")
    }

    pub(crate) fn because(reason: &dyn fmt::Display) -> Self {
        Self { reason: reason.to_string(), too_large: None }
    }
}
