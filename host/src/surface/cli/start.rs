//! From the start of the process to its exit code. Here and not in the program, which would compile all of it once more.

use super::{Cli, log, render};
use clap::Parser as _;
use std::process::ExitCode;
use tokio::runtime::Builder;

/// What the program `codemode` does.
#[must_use]
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut runtime = if cli.is_small() { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    let runtime = match runtime.enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            render::say(&format!("error: codemode could not start: {error}"));
            return ExitCode::FAILURE;
        }
    };
    let otlp = log::start(cli.log(), runtime.handle());
    let code = runtime.block_on(cli.run());
    if let Some(otlp) = otlp {
        otlp.flush();
    }
    // Not waited for: a read of standard input may never end.
    runtime.shutdown_background();
    code
}
