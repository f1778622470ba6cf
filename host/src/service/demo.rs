//! The demo: serves a small site and runs a script that logs in to it in a browser.

use super::{answer::millis, host::Service, request::ExecuteRequest, startup::Progress};
use crate::{
    exec::NoObserver,
    site::{self, Site},
};
use codemode_spec::{Envelope, ErrorCode, ErrorReport};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use std::{sync::Arc, time::Instant};
use tokio_util::sync::CancellationToken;

const LOGIN: &str = include_str!("../../demo/login.js");

/// A run of the demo.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DemoData {
    /// The script that was executed.
    pub script: String,
    /// The answer of the execution.
    pub answer: Envelope,
    /// How long each step took.
    pub timings_ms: Timings,
}

/// The demo site that was served.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteServed {
    /// The URL of the site.
    pub url: String,
}

/// How long each step of the demo took.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Timings {
    /// Finding the browser, or installing it.
    pub browser: u64,
    /// Loading the sandbox image, or building it.
    pub sandbox: u64,
    /// The script: starting the browser, logging in, closing the browser.
    pub script: u64,
}

impl Service {
    /// Serves the demo site and logs in to it through the tool. Installs a browser and builds the sandbox image if they
    /// are missing.
    ///
    /// # Errors
    /// When the site, the browser or the sandbox cannot be prepared. [`DemoData::failure`] reports a script that
    /// failed.
    ///
    /// # Cancellation
    /// Dropping the future, or cancelling the token, ends the execution and closes its browser.
    pub async fn demo(&self, progress: &Progress, cancel: CancellationToken) -> Result<DemoData, ErrorReport> {
        let mut timings_ms = Timings::default();
        let site = serve().await?;
        tokio::select! {
            ready = self.ready_for_demo(progress, &mut timings_ms) => ready?,
            () = cancel.cancelled() => return Err(ErrorReport::new(ErrorCode::Cancelled, "the demo was cancelled")),
        }
        let began = Instant::now();
        let script = format!("const site = {};\n{LOGIN}", json!(site.url()));
        let answer = self.execute(ExecuteRequest::new(&script), Arc::new(NoObserver), cancel).await;
        timings_ms.script = millis(began.elapsed());
        Ok(DemoData { script, answer, timings_ms })
    }

    async fn ready_for_demo(&self, progress: &Progress, timings_ms: &mut Timings) -> Result<(), ErrorReport> {
        let began = Instant::now();
        if !self.settings().is_external() {
            self.setup(progress).await?;
        }
        timings_ms.browser = millis(began.elapsed());

        let began = Instant::now();
        self.execution(&**progress).await?;
        timings_ms.sandbox = millis(began.elapsed());
        Ok(())
    }
}

impl DemoData {
    /// The error of a demo whose script ran but did not return the expected result.
    #[must_use]
    pub fn failure(&self) -> Option<ErrorReport> {
        if let Some(error) = &self.answer.error {
            return Some(error.clone());
        }
        let user = self.answer.data.as_ref().and_then(|data| data.pointer("/result/user"));
        (user.and_then(Json::as_str) != Some(site::USER)).then(|| {
            let message = "the script ran, but did not read the name of the user who logged in";
            ErrorReport::new(ErrorCode::HostFault, message)
        })
    }
}

/// Serves the demo site until it is cancelled. Reports the site's URL to `progress`.
///
/// # Errors
/// When no port can be bound.
pub async fn serve_site(progress: &Progress, cancel: CancellationToken) -> Result<SiteServed, ErrorReport> {
    let site = serve().await?;
    let (url, user, password) = (site.url(), site::USER, site::PASSWORD);
    progress(&format!("the demo site is at {url}, until Ctrl-C; {user} has the password {password}"));
    cancel.cancelled().await;
    Ok(SiteServed { url: url.to_owned() })
}

async fn serve() -> Result<Site, ErrorReport> {
    let failed = |error| ErrorReport::new(ErrorCode::IoError, format!("the demo site could not be served: {error}"));
    site::serve().await.map_err(failed)
}
