//! `codemode types`.

use super::{asked::Asked, render};
use crate::surface::text;
use std::process::ExitCode;

pub(super) fn print(asked: &Asked) -> ExitCode {
    let declared = asked.config.service().map(|service| text::declarations(service.manifests()));
    match declared {
        Ok(declarations) => {
            render::data(&declarations);
            ExitCode::SUCCESS
        }
        Err(error) => {
            render::say(text::error(&error).trim_end());
            ExitCode::FAILURE
        }
    }
}
