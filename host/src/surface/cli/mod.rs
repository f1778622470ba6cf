//! The command line. Standard output is data, standard error is for people.

mod asked;
mod audit;
mod config;
mod debug;
mod demo;
mod doctor;
mod executions;
mod log;
mod logins;
mod render;
mod run;
mod secrets;
mod serve;
mod sessions;
mod setup;
mod start;
mod types;
mod warm;
mod watched;

pub use start::main;

use super::{
    config::{Config, LogValues, ServeArgs},
    mcp, text,
};
use crate::service;
use asked::{Asked, Output};
use clap::{Parser, Subcommand};
use codemode_spec::ErrorReport;
use render::say;
use std::{
    process::{self, ExitCode},
    sync::Arc,
};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Runs scripts that a model wrote, in a sandbox that drives a real browser.
#[derive(Debug, Parser)]
#[command(name = "codemode", version, max_term_width = 100)]
#[command(after_help = "Exit codes: 0 it succeeded, 1 it failed, 2 the command line was wrong.")]
struct Cli {
    #[command(flatten)]
    config: Config,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Execute a script and print its result
    Run(run::RunArgs),
    /// Serve the tool `browser_execute` over MCP on standard input and output
    Mcp,
    /// Serve the tool over HTTP to many clients, until a signal ends it
    Serve(ServeArgs),
    /// Check everything that an execution needs, and say what to do about what is missing
    Doctor(Output),
    /// Log in to a small site of its own, and show script, answer and timings
    Demo(demo::DemoArgs),
    /// Install a browser, unless there is one
    Setup(Output),
    /// Prepare the sandbox image, so that the first execution need not
    Warm(Output),
    /// Print what scripts can use, as TypeScript declarations
    Types,
    /// See and end browser sessions
    #[command(subcommand)]
    Sessions(sessions::SessionsCommand),
    /// See what was executed
    #[command(subcommand)]
    Executions(executions::ExecutionsCommand),
    /// Keep values that scripts put into pages and never see
    #[command(subcommand)]
    Secrets(secrets::SecretsCommand),
    /// See and remove what scripts have saved of logins
    #[command(subcommand)]
    Logins(logins::LoginsCommand),
    /// Read the audit, and check that it was not changed
    #[command(subcommand)]
    Audit(audit::AuditCommand),
    /// See the settings
    #[command(subcommand)]
    Config(config::ConfigCommand),
    /// Help to report a defect
    #[command(subcommand)]
    Debug(debug::DebugCommand),
    /// Keep one browser: started by codemode itself
    #[command(hide = true)]
    Keep,
}

impl Cli {
    /// Whether one thread is enough.
    const fn is_small(&self) -> bool {
        matches!(self.command, Command::Keep)
    }

    /// What is logged. A keeper has no collector: it logs to nobody but its host.
    fn log(&self) -> LogValues {
        let log = self.config.log();
        if self.is_small() { LogValues { otlp: None, ..log } } else { log }
    }

    /// Carries out the command and prints its answer.
    async fn run(self) -> ExitCode {
        let Self { config, command } = self;
        // A keeper is not stopped: it ends when its browser has.
        let stop = match command {
            Command::Keep => CancellationToken::new(),
            // A hangup tells a host that serves to read its settings again.
            Command::Serve(_) => stop_on_signal(false),
            _ => stop_on_signal(true),
        };
        let asked = Asked { config, progress: Arc::new(say), stop };
        match command {
            Command::Run(args) => run::run(&asked, args).await,
            Command::Doctor(output) => doctor::run(&asked, output).await,
            Command::Demo(args) => demo::run(&asked, args).await,
            Command::Setup(output) => setup::run(&asked, output).await,
            Command::Warm(output) => warm::run(&asked, output).await,
            Command::Types => types::print(&asked),
            Command::Sessions(command) => sessions::run(&asked, command).await,
            Command::Executions(command) => executions::run(&asked, command).await,
            Command::Secrets(command) => secrets::run(&asked, command).await,
            Command::Logins(command) => logins::run(&asked, command).await,
            Command::Audit(command) => audit::run(&asked, command).await,
            Command::Config(command) => config::run(asked, command).await,
            Command::Debug(command) => debug::run(&asked, command).await,
            Command::Serve(args) => ended(serve::run(asked, args).await),
            Command::Keep => match asked.config.state_dir() {
                Ok(state_dir) => ended(service::keep(state_dir).await),
                Err(error) => ended(Err(error)),
            },
            Command::Mcp => match asked.config.service() {
                Ok(service) => ended(mcp::serve(service, asked.stop).await),
                Err(error) => ended(Err(error)),
            },
        }
    }
}

/// How a command ends that prints no answer of its own.
fn ended(outcome: Result<(), ErrorReport>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(text::error(&error).trim_end());
            ExitCode::FAILURE
        }
    }
}

/// Cancelled by the first signal to end; the second ends the process at once.
fn stop_on_signal(hang_up_ends: bool) -> CancellationToken {
    let stop = CancellationToken::new();
    let told = stop.clone();
    tokio::spawn(async move {
        // Fails only without a runtime that listens to signals.
        let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
        else {
            return;
        };
        let mut hang_up = hang_up_ends.then(|| signal(SignalKind::hangup()).ok()).flatten();
        let mut signalled = async || {
            tokio::select! {
                _ = interrupt.recv() => 2,
                _ = terminate.recv() => 15,
                _ = async { hang_up.as_mut()?.recv().await }, if hang_up.is_some() => 1,
            }
        };
        signalled().await;
        told.cancel();
        let number = signalled().await;
        process::exit(128 + number);
    });
    stop
}
