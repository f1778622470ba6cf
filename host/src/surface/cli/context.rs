//! What every subcommand receives in addition to its own arguments.

use crate::{service::Progress, surface::config::Config};
use clap::Args;
use tokio_util::sync::CancellationToken;

/// The output format of an answer.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct Output {
    /// Print the answer as JSON, in one line
    #[arg(long)]
    pub json: bool,
}

/// The settings and the process-wide handles of a command.
pub(super) struct Context {
    pub config: Config,
    pub progress: Progress,
    /// Cancelled by the first SIGINT or SIGTERM.
    pub stop: CancellationToken,
}
