//! `codemode types`.

use super::render;
use crate::{config::Config, service, surface::text};
use std::process::ExitCode;

pub(super) fn print(config: &Config) -> ExitCode {
    match service::manifests(config) {
        Ok(manifests) => {
            render::data(&text::declarations(&manifests));
            ExitCode::SUCCESS
        }
        Err(error) => {
            render::say(text::error(&error).trim_end());
            ExitCode::FAILURE
        }
    }
}
