//! What must be there before the first execution: a browser and the sandbox image.

use super::{Progress, answer, warm};
use crate::{config::Config, engine::Image};
use codemode_chromium::Executable;
use codemode_spec::{Envelope, ErrorCode, ErrorReport};
use serde_json::{Value as Json, json};
use std::time::Instant;

/// Installs a browser, unless there is one: `{path, version, installed}`.
pub async fn setup(config: &Config, progress: &Progress) -> Envelope {
    let began = Instant::now();
    let outcome = browser(config, progress)
        .await
        .map(|(browser, installed)| json!({"path": browser.path, "version": browser.version, "installed": installed}));
    answer("setup", outcome, began.elapsed())
}

/// Makes the sandbox image, unless there is one: `{folder, made}`.
pub async fn warm_up(config: &Config, progress: &Progress) -> Envelope {
    let began = Instant::now();
    let outcome = image(config, progress).await;
    answer("warm", outcome, began.elapsed())
}

/// The browser that executions will use, installed if none is found, and whether it had to be. A browser that was named
/// and is not there is an error: installing another one would not help.
pub(super) async fn browser(config: &Config, progress: &Progress) -> Result<(Executable, bool), ErrorReport> {
    let named = config.browser.clone();
    let is_named = named.is_some();
    match blocking(move || codemode_chromium::find(named.as_deref())).await? {
        Ok(browser) => Ok((browser, false)),
        Err(error) if is_named || error.code != ErrorCode::BrowserNotFound => Err(error),
        Err(_) => Ok((codemode_chromium::install(&**progress).await?, true)),
    }
}

async fn image(config: &Config, progress: &Progress) -> Result<Json, ErrorReport> {
    let (folder, progress) = (config.image_dir()?, progress.clone());
    blocking(move || {
        let made = !Image::is_cached(&folder);
        warm(&folder, &*progress)?;
        Ok(json!({"folder": folder, "made": made}))
    })
    .await?
}

/// Away from the async workers.
pub(super) async fn blocking<T: Send + 'static>(job: impl FnOnce() -> T + Send + 'static) -> Result<T, ErrorReport> {
    tokio::task::spawn_blocking(job).await.map_err(|error| {
        tracing::error!(%error, "a task panicked");
        ErrorReport::new(ErrorCode::HostFault, "a part of the host failed")
    })
}
