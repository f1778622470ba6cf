//! The command line: one module per subcommand, each of which calls the service and prints its answer. Standard output
//! is data, standard error is for people.

mod audit;
mod config;
mod context;
mod debug;
mod demo;
mod doctor;
mod executions;
mod file_watch;
mod inherited;
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

pub use start::main;

use super::{
    config::{Config, LogValues, ServeArgs},
    mcp, text,
};
use crate::service;
use clap::{Parser, Subcommand};
use codemode_spec::ErrorReport;
use context::{Context, Output};
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
    /// Serve the tool over HTTP to many clients, until a signal stops it
    Serve(ServeArgs),
    /// Check everything that an execution needs, and say how to fix what is missing
    Doctor(Output),
    /// Run a script that logs in to a built-in demo site, and show script, answer and timings
    Demo(demo::DemoArgs),
    /// Install a browser, unless one is found
    Setup(Output),
    /// Compile the sandbox image ahead of time, so that the first execution need not wait for it
    Warm(Output),
    /// Print the API that scripts can use, as TypeScript declarations
    Types,
    /// List, inspect and end browser sessions
    #[command(subcommand)]
    Sessions(sessions::SessionsCommand),
    /// List and inspect executions
    #[command(subcommand)]
    Executions(executions::ExecutionsCommand),
    /// Store values that scripts put into pages without seeing them
    #[command(subcommand)]
    Secrets(secrets::SecretsCommand),
    /// List and remove the login states that scripts have saved
    #[command(subcommand)]
    Logins(logins::LoginsCommand),
    /// Read the audit log, and verify that it was not altered
    #[command(subcommand)]
    Audit(audit::AuditCommand),
    /// Show the effective settings
    #[command(subcommand)]
    Config(config::ConfigCommand),
    /// Collect what a bug report needs
    #[command(subcommand)]
    Debug(debug::DebugCommand),
    /// Run the keeper of one browser; started by codemode itself
    #[command(hide = true)]
    Keep,
}

impl Cli {
    /// Whether a single-threaded runtime is enough.
    const fn is_single_threaded(&self) -> bool {
        matches!(self.command, Command::Keep)
    }

    /// The log settings. A keeper exports nothing to a collector: its log goes only to the host that started it.
    fn log(&self) -> LogValues {
        let log = self.config.log();
        if self.is_single_threaded() { LogValues { otlp: None, ..log } } else { log }
    }

    /// Executes the command and prints its answer.
    async fn run(self) -> ExitCode {
        let Self { config, command } = self;
        // A keeper handles signals itself: it exits when its browser has.
        let stop = match command {
            Command::Keep => CancellationToken::new(),
            // SIGHUP makes a serving host reload its settings.
            Command::Serve(_) => stop_on_signal(false),
            _ => stop_on_signal(true),
        };
        let context = Context { config, progress: Arc::new(say), stop };
        match command {
            Command::Run(args) => run::run(&context, args).await,
            Command::Doctor(output) => doctor::run(&context, output).await,
            Command::Demo(args) => demo::run(&context, args).await,
            Command::Setup(output) => setup::run(&context, output).await,
            Command::Warm(output) => warm::run(&context, output).await,
            Command::Types => types::print(&context),
            Command::Sessions(command) => sessions::run(&context, command).await,
            Command::Executions(command) => executions::run(&context, command).await,
            Command::Secrets(command) => secrets::run(&context, command).await,
            Command::Logins(command) => logins::run(&context, command).await,
            Command::Audit(command) => audit::run(&context, command).await,
            Command::Config(command) => config::run(context, command).await,
            Command::Debug(command) => debug::run(&context, command).await,
            Command::Serve(args) => exit_code(serve::run(context, args).await),
            Command::Keep => match context.config.state_dir() {
                Ok(state_dir) => exit_code(service::keep(state_dir).await),
                Err(error) => exit_code(Err(error)),
            },
            Command::Mcp => match context.config.service() {
                Ok(service) => exit_code(mcp::serve(service, context.stop).await),
                Err(error) => exit_code(Err(error)),
            },
        }
    }
}

/// The exit code of a command that prints no answer; an error goes to standard error.
fn exit_code(outcome: Result<(), ErrorReport>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(text::error(&error).trim_end());
            ExitCode::FAILURE
        }
    }
}

/// A token that the first SIGINT or SIGTERM cancels; the second one exits the process at once. SIGHUP counts as well if
/// `hang_up_ends`.
fn stop_on_signal(hang_up_ends: bool) -> CancellationToken {
    let stop = CancellationToken::new();
    let cancelled = stop.clone();
    tokio::spawn(async move {
        // Fails only on a runtime without a signal driver.
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
        cancelled.cancel();
        let number = signalled().await;
        process::exit(128 + number);
    });
    stop
}
