//! From the start of the process to its exit code. Here and not in the program, which would compile all of it once more.

use super::Cli;
use crate::surface::{
    config::{LogFormat, LogValues},
    terminal::Log,
};
use clap::Parser as _;
use std::{env, process::ExitCode};
use tokio::runtime::Builder;
use tracing_subscriber::EnvFilter;

/// What the program `codemode` does.
#[must_use]
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    log_to_stderr(cli.log());
    let mut runtime = if cli.is_small() { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    let runtime = match runtime.enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            tracing::error!(%error, "could not start");
            return ExitCode::FAILURE;
        }
    };
    let code = runtime.block_on(cli.run());
    // Not waited for: a read of standard input may never end.
    runtime.shutdown_background();
    code
}

/// Standard output is data. What others log of their messages is left out: it holds scripts, arguments and cookies.
fn log_to_stderr(LogValues { filter, format }: LogValues) {
    let wanted = filter.or_else(|| env::var("RUST_LOG").ok()).unwrap_or_else(|| "warn".to_owned());
    let quiet = ["rmcp", "tungstenite", "tokio_tungstenite", "hyper", "chromiumoxide"];
    let filter = quiet.into_iter().fold(EnvFilter::new(wanted), |filter, name| match format!("{name}=error").parse() {
        Ok(directive) => filter.add_directive(directive),
        Err(_) => filter,
    });
    // Without colours: what is an escape of ours, and what one of a page, could not be told apart.
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_writer(Log::new);
    match format {
        LogFormat::Text => log.init(),
        LogFormat::Json => log.json().init(),
    }
}
