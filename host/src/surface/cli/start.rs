//! The program's `main`: from the command line to the exit code. It is part of the library because the binary crate
//! would otherwise compile all of it a second time.

use super::{Cli, inherited, log, render};
use clap::Parser as _;
use std::process::ExitCode;
use tokio::runtime::Builder;

/// The entry point of the program `codemode`.
#[must_use]
pub fn main() -> ExitCode {
    inherited::close_on_exec();
    let cli = Cli::parse();
    let mut runtime =
        if cli.is_single_threaded() { Builder::new_current_thread() } else { Builder::new_multi_thread() };
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
    // Without waiting for blocking tasks: a read of standard input may never return.
    runtime.shutdown_background();
    code
}
