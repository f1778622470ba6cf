//! `codemode types`.

use super::{context::Context, render};
use crate::surface::text;
use std::process::ExitCode;

pub(super) fn print(context: &Context) -> ExitCode {
    let declared = context.config.service().map(|service| text::declarations(service.manifests()));
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
