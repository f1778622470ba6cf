//! What must be there before the first execution: a browser and the sandbox image.

use super::{
    host::Service,
    parts::{layers, warm},
    startup::{Progress, blocking},
};
use crate::engine::Image;
use codemode_spec::{ErrorCode, ErrorReport};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The browser that executions will use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BrowserReady {
    /// Its program.
    pub path: PathBuf,
    /// What it says of itself, as `Chromium 156.0.8078.79`.
    pub version: String,
    /// Whether it had to be installed.
    pub installed: bool,
}

/// The sandbox image that executions will use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageReady {
    /// The folder that it lies in.
    pub folder: PathBuf,
    /// Whether it had to be made.
    pub made: bool,
}

impl Service {
    /// Finds the browser that executions will use, or installs one if there is none. A browser that was named and is not
    /// there is an error: installing another one would not help.
    ///
    /// # Errors
    /// `BROWSER_NOT_FOUND` when there is none and none can be installed, and what went wrong while it was.
    pub async fn setup(&self, progress: &Progress) -> Result<BrowserReady, ErrorReport> {
        let named = self.settings().browser.browser.clone();
        let is_named = named.is_some();
        // An outcome of its own, so that a browser that is not found is told from a search that broke off.
        let found = blocking(move || Ok(codemode_chromium::find(named.as_deref()))).await?;
        let (browser, installed) = match found {
            Ok(browser) => (browser, false),
            Err(error) if is_named || error.code != ErrorCode::BrowserNotFound => return Err(error),
            Err(_) => (codemode_chromium::install(&**progress).await?, true),
        };
        Ok(BrowserReady { path: browser.path, version: browser.version, installed })
    }

    /// Makes the sandbox image, unless there is one. Opens no store.
    ///
    /// # Errors
    /// `NOT_READY` when it can be neither loaded nor made.
    pub async fn warm_up(&self, progress: &Progress) -> Result<ImageReady, ErrorReport> {
        let (service, progress) = (self.clone(), progress.clone());
        blocking(move || {
            let folder = service.settings().image_dir()?;
            let layers = layers(&service.inner.ingredients.providers);
            let made = !Image::is_cached(&folder, &layers);
            warm(&folder, &layers, &*progress)?;
            Ok(ImageReady { folder, made })
        })
        .await
    }
}
