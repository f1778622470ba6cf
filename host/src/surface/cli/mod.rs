//! The command line. Standard output is data, standard error is for people.

mod audit;
mod demo;
mod doctor;
mod render;
mod run;
mod sessions;
mod setup;
mod types;
mod warm;

use crate::{
    config::Config,
    service::{self, Progress},
    surface::{mcp, text},
};
use clap::{Args, Parser, Subcommand};
use codemode_spec::{Envelope, ErrorCode, ErrorReport};
use render::{Text, say};
use std::{
    process::{self, ExitCode},
    sync::Arc,
    time::Duration,
};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Runs scripts that a model wrote, in a sandbox that drives a real browser.
#[derive(Debug, Parser)]
#[command(name = "codemode", version, max_term_width = 100)]
#[command(after_help = "Exit codes: 0 it succeeded, 1 it failed, 2 the command line was wrong.")]
pub struct Cli {
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
    /// Read the audit, and check that nobody changed it
    #[command(subcommand)]
    Audit(audit::AuditCommand),
    /// Keep one browser: started by codemode itself
    #[command(hide = true)]
    Keep,
}

/// How an answer is printed.
#[derive(Clone, Copy, Debug, Args)]
struct Output {
    /// Print the answer as JSON, in one line
    #[arg(long)]
    json: bool,
}

/// The words of an answer.
type Words = fn(&Envelope) -> Text;

impl Cli {
    /// Whether one thread is enough.
    #[must_use]
    pub const fn is_small(&self) -> bool {
        matches!(self.command, Command::Keep)
    }

    /// Carries out the command and prints its answer.
    pub async fn run(self) -> ExitCode {
        let Self { config, command } = self;
        // A keeper is not stopped: it ends when its browser has.
        let stop = if matches!(command, Command::Keep) { CancellationToken::new() } else { stop_on_signal() };
        let progress: Progress = Arc::new(say);
        let (output, envelope, words): (Output, Envelope, Words) = match command {
            Command::Run(args) => (args.output, run::run(&config, args, &progress, stop).await, run::words),
            Command::Doctor(output) => (output, doctor::run(&config, &progress, stop).await, doctor::words),
            Command::Demo(demo::DemoArgs { serve: true, output }) => {
                (output, service::serve_site(&progress, stop).await, demo::words)
            }
            Command::Demo(args) => (args.output, demo::run(&config, &progress, stop).await, demo::words),
            Command::Setup(output) => (output, setup::run(&config, &progress, stop).await, setup::words),
            Command::Warm(output) => (output, warm::run(&config, &progress, stop).await, warm::words),
            Command::Sessions(command) => {
                let (output, words) = (command.output(), command.words());
                (output, sessions::run(&config, command, stop).await, words)
            }
            Command::Audit(command) => {
                let (output, words) = (command.output(), command.words());
                (output, audit::run(&config, command, stop).await, words)
            }
            Command::Types => return types::print(&config),
            Command::Keep => {
                return match service::keep(&config).await {
                    Ok(()) => ExitCode::SUCCESS,
                    Err(error) => {
                        say(text::error(&error).trim_end());
                        ExitCode::FAILURE
                    }
                };
            }
            Command::Mcp => {
                return match mcp::serve(&config, stop).await {
                    Ok(()) => ExitCode::SUCCESS,
                    Err(error) => {
                        say(text::error(&error).trim_end());
                        ExitCode::FAILURE
                    }
                };
            }
        };
        render::print(&envelope, (!output.json).then(|| words(&envelope)))
    }
}

/// What leaves nothing behind when it is dropped, until it is done or is to stop.
async fn stoppable(command: &str, work: impl Future<Output = Envelope>, stop: CancellationToken) -> Envelope {
    tokio::select! {
        envelope = work => envelope,
        () = stop.cancelled() => {
            service::answer(command, Err(ErrorReport::new(ErrorCode::Cancelled, "it was cancelled")), Duration::ZERO)
        }
    }
}

/// Cancelled by the first signal to end; the second ends the process at once.
fn stop_on_signal() -> CancellationToken {
    let stop = CancellationToken::new();
    let told = stop.clone();
    tokio::spawn(async move {
        // Fails only without a runtime that listens to signals.
        let (Ok(mut interrupt), Ok(mut terminate), Ok(mut hang_up)) =
            (signal(SignalKind::interrupt()), signal(SignalKind::terminate()), signal(SignalKind::hangup()))
        else {
            return;
        };
        let mut signalled = async || {
            tokio::select! {
                _ = interrupt.recv() => 2,
                _ = terminate.recv() => 15,
                _ = hang_up.recv() => 1,
            }
        };
        signalled().await;
        told.cancel();
        let number = signalled().await;
        process::exit(128 + number);
    });
    stop
}
