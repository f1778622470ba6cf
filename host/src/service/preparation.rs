//! Preparation before the first execution: finds or installs a browser, and builds the sandbox image.

use super::{
    host::Service,
    startup::{Progress, blocking},
    subsystems::{layers, warm},
};
use crate::engine::Image;
use codemode_spec::{ErrorCode, ErrorReport};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The browser that executions will use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrowserReady {
    /// The path of its program.
    pub path: PathBuf,
    /// The version that it reports, such as `Chromium 156.0.8078.79`.
    pub version: String,
    /// Whether it had to be installed.
    pub installed: bool,
}

/// The sandbox image that executions will use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageReady {
    /// The folder that contains it.
    pub folder: PathBuf,
    /// Whether it had to be built.
    pub made: bool,
}

impl Service {
    /// Finds the browser that executions will use, or installs one if there is none. If the settings name a browser
    /// that does not exist, that is an error: installing another one would not help.
    ///
    /// # Errors
    /// `BROWSER_NOT_FOUND` when there is none and none can be installed, and the errors of the installation.
    pub async fn setup(&self, progress: &Progress) -> Result<BrowserReady, ErrorReport> {
        let named = self.settings().browser.browser.clone();
        let is_named = named.is_some();
        // A nested result, so that a browser that is not found can be distinguished from a search that panicked.
        let found = blocking(move || Ok(codemode_chromium::find(named.as_deref()))).await?;
        let (browser, installed) = match found {
            Ok(browser) => (browser, false),
            Err(error) if is_named || error.code != ErrorCode::BrowserNotFound => return Err(error),
            Err(_) => (codemode_chromium::install(&**progress).await?, true),
        };
        Ok(BrowserReady { path: browser.path, version: browser.version, installed })
    }

    /// Builds the sandbox image, unless there is one. Opens no store.
    ///
    /// # Errors
    /// `NOT_READY` when it can be neither loaded nor built.
    pub async fn warm_up(&self, progress: &Progress) -> Result<ImageReady, ErrorReport> {
        let (service, progress) = (self.clone(), progress.clone());
        blocking(move || {
            let folder = service.settings().image_dir()?;
            let layers = layers(&service.inner.config.providers);
            let made = !Image::is_cached(&folder, &layers);
            warm(&folder, &layers, &*progress)?;
            Ok(ImageReady { folder, made })
        })
        .await
    }
}
