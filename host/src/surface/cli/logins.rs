//! `codemode logins`: lists and removes saved login states. Only scripts save and load them.

use super::{
    context::{Context, Output},
    render::{Answer, Text, answered, unless_stopped},
};
use crate::{
    service::{LoginRemoved, LoginsListed},
    surface::text,
};
use clap::{Args, Subcommand};
use std::{process::ExitCode, time::Duration};

#[derive(Debug, Subcommand)]
pub(super) enum LoginsCommand {
    /// List the saved login states with their session keys
    List(Output),
    /// Remove a login state
    Remove(RemoveArgs),
}

#[derive(Debug, Args)]
pub(super) struct RemoveArgs {
    /// Name of the login state
    name: String,
    /// Session key that it belongs to
    #[arg(long)]
    key: String,
    #[command(flatten)]
    output: Output,
}

pub(super) async fn run(context: &Context, command: LoginsCommand) -> ExitCode {
    match command {
        LoginsCommand::List(output) => {
            let work = async { context.config.service()?.logins_list().await };
            answered("logins list", output, unless_stopped(&context.stop, work)).await
        }
        LoginsCommand::Remove(RemoveArgs { name, key, output }) => {
            let work = async { context.config.service()?.logins_remove(&name, &key).await };
            answered("logins remove", output, unless_stopped(&context.stop, work)).await
        }
    }
}

impl Answer for LoginsListed {
    /// A table with one row per login state.
    fn words(&self, words: &mut Text, _: Duration) {
        if self.logins.is_empty() {
            text::line(&mut words.err, "there are no login states");
        } else {
            let mut rows = vec![["NAME", "KEY", "LAST USED"].map(str::to_owned).to_vec()];
            rows.extend(
                self.logins.iter().map(|login| vec![login.name.clone(), login.key.clone(), text::time(login.used_ms)]),
            );
            words.out = text::table(&rows);
        }
        if self.unreadable > 0 {
            let count = self.unreadable;
            text::line(&mut words.err, format_args!("{count} files in the folder of the login states are none"));
        }
    }
}

impl Answer for LoginRemoved {
    fn words(&self, words: &mut Text, _: Duration) {
        text::line(&mut words.out, format_args!("{} is removed, which belonged to {}", self.removed, self.key));
        text::line(&mut words.err, "Browsers that have loaded it are still logged in: close their sessions.");
    }
}
