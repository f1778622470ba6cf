//! What a command is given besides its own arguments.

use crate::{service::Progress, surface::config::Config};
use clap::Args;
use tokio_util::sync::CancellationToken;

/// How an answer is printed.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct Output {
    /// Print the answer as JSON, in one line
    #[arg(long)]
    pub json: bool,
}

/// What every command is given.
pub(super) struct Asked {
    pub config: Config,
    pub progress: Progress,
    /// Cancelled by the first signal to end.
    pub stop: CancellationToken,
}
