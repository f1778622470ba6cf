//! `codemode secrets`. A value is read from standard input and never from an argument, which other users of the machine
//! could see.

use super::{
    context::{Context, Output},
    render::{Answer, Text, answered, say, unless_stopped},
};
use crate::{
    service::{SecretRemoved, SecretStored, SecretsListed},
    surface::text,
};
use clap::{Args, Subcommand};
use codemode_spec::{ErrorCode, ErrorReport, limits::SECRET_BYTES_MAX};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use std::{
    io::{self, BufRead as _, IsTerminal as _, Read as _},
    process::ExitCode,
    time::Duration,
};

#[derive(Debug, Subcommand)]
pub(super) enum SecretsCommand {
    /// Store a value that scripts put into pages of one origin without seeing it; read from standard input
    Set(SetArgs),
    /// List the secrets with their origins; values are never shown
    List(Output),
    /// Delete a secret
    Remove(RemoveArgs),
}

#[derive(Debug, Args)]
pub(super) struct SetArgs {
    /// Name by which scripts use the secret
    name: String,
    /// Origin of the pages that may receive it, as https://shop.example
    #[arg(long)]
    origin: String,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Args)]
pub(super) struct RemoveArgs {
    /// Name of the secret
    name: String,
    #[command(flatten)]
    output: Output,
}

pub(super) async fn run(context: &Context, command: SecretsCommand) -> ExitCode {
    match command {
        SecretsCommand::Set(SetArgs { name, origin, output }) => {
            let work = async {
                let service = context.config.service()?;
                service.secrets_set(&name, &origin, typed_value(&name).await?).await
            };
            answered("secrets set", output, unless_stopped(&context.stop, work)).await
        }
        SecretsCommand::List(output) => {
            let work = async { context.config.service()?.secrets_list().await };
            answered("secrets list", output, unless_stopped(&context.stop, work)).await
        }
        SecretsCommand::Remove(RemoveArgs { name, output }) => {
            let work = async { context.config.service()?.secrets_remove(&name).await };
            answered("secrets remove", output, unless_stopped(&context.stop, work)).await
        }
    }
}

/// Reads the value from standard input, without its last line terminator: one unechoed line from a terminal, otherwise
/// everything up to the end of the input.
async fn typed_value(name: &str) -> Result<String, ErrorReport> {
    let failed = |error: &dyn std::fmt::Display| {
        ErrorReport::new(ErrorCode::IoError, format!("the value cannot be read from standard input: {error}"))
    };
    // Restores the echo also when the command is stopped while the thread below is still reading.
    let _echo_off = EchoOff::begin(name);
    let read = tokio::task::spawn_blocking(|| {
        let mut bytes = Vec::new();
        // Room for `\r\n` and one byte more, so that a value that is too long is recognised.
        let mut input = io::stdin().lock().take(SECRET_BYTES_MAX as u64 + 3);
        if io::stdin().is_terminal() {
            input.read_until(b'\n', &mut bytes).map(|_| bytes)
        } else {
            input.read_to_end(&mut bytes).map(|_| bytes)
        }
    });
    let bytes = read.await.map_err(|error| failed(&error))?.map_err(|error| failed(&error))?;
    let mut value = String::from_utf8(bytes).map_err(|_| failed(&"it is no UTF-8"))?;
    for end in ["\n", "\r"] {
        if let Some(rest) = value.strip_suffix(end) {
            value.truncate(rest.len());
        }
    }
    Ok(value)
}

/// Turns off the terminal's echo until it is dropped.
struct EchoOff {
    before: Option<Termios>,
}

impl EchoOff {
    fn begin(name: &str) -> Self {
        let stdin = io::stdin();
        let before = stdin.is_terminal().then(|| tcgetattr(&stdin).ok()).flatten();
        if let Some(before) = &before {
            let mut silent = before.clone();
            silent.local_modes -= LocalModes::ECHO;
            let _ = tcsetattr(&stdin, OptionalActions::Flush, &silent);
            say(&format!("The value of {name}, which is not shown:"));
        }
        Self { before }
    }
}

impl Drop for EchoOff {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let _ = tcsetattr(io::stdin(), OptionalActions::Flush, before);
        }
    }
}

impl Answer for SecretStored {
    fn words(&self, words: &mut Text, _: Duration) {
        let how = if self.replaced { "has another value" } else { "is kept" };
        text::line(&mut words.out, format_args!("{} {how}, for pages of {}", self.name, self.origin));
    }
}

impl Answer for SecretsListed {
    /// A table with one row per secret.
    fn words(&self, words: &mut Text, _: Duration) {
        if self.secrets.is_empty() {
            text::line(&mut words.err, "there are no secrets");
            return;
        }
        let mut rows = vec![["NAME", "ORIGIN", "STATE"].map(str::to_owned).to_vec()];
        rows.extend(self.secrets.iter().map(|secret| {
            let state = if secret.opens { "ready" } else { "does not open" };
            vec![secret.name.clone(), secret.origin.clone(), state.to_owned()]
        }));
        words.out = text::table(&rows);
    }
}

impl Answer for SecretRemoved {
    fn words(&self, words: &mut Text, _: Duration) {
        text::line(&mut words.out, format_args!("{} is removed, which was for pages of {}", self.removed, self.origin));
        text::line(
            &mut words.err,
            "Its value is not masked any more: close the sessions whose pages may still show it.",
        );
    }
}
