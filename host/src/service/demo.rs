//! The whole road once: a site, a browser, a script that logs in.

use super::{ExecuteRequest, Progress, Service, answer, millis, preparation};
use crate::{
    config::Config,
    exec::Unobserved,
    site::{self, Site},
};
use codemode_spec::{Envelope, ErrorCode, ErrorReport};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use std::{sync::Arc, time::Instant};
use tokio_util::sync::CancellationToken;

const LOGIN: &str = include_str!("../../demo/login.js");

/// What `data` of the demo holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DemoData {
    /// What was executed.
    pub script: String,
    /// What it answered.
    pub answer: Envelope,
    /// How long each step took.
    pub timings_ms: Timings,
}

/// How long each step of the demo took.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Timings {
    /// Finding the browser, or installing it.
    pub browser: u64,
    /// Loading the sandbox image, or making it.
    pub sandbox: u64,
    /// The script: starting the browser, logging in, closing the browser.
    pub script: u64,
}

/// Serves the demo site and logs in to it through the tool. Installs a browser and makes the sandbox image if they are
/// missing.
///
/// # Cancellation
/// Dropping the future, or cancelling the token, ends the execution and closes its browser.
pub async fn demo(config: &Config, progress: &Progress, cancel: CancellationToken) -> Envelope {
    let began = Instant::now();
    let data = run(config, progress, cancel).await;
    let failure = data.as_ref().ok().and_then(failure);
    let outcome = data.map(|data| serde_json::to_value(data).expect("plain data can be written as JSON"));
    let mut envelope = answer("demo", outcome, began.elapsed());
    if let Some(error) = failure {
        envelope.ok = false;
        envelope.error = Some(error);
    }
    envelope
}

/// Serves the demo site, whose address is told to `progress`, until it is cancelled.
pub async fn serve_site(progress: &Progress, cancel: CancellationToken) -> Envelope {
    let began = Instant::now();
    let served = async {
        let site = serve().await?;
        let (url, user, password) = (site.url(), site::USER, site::PASSWORD);
        progress(&format!("the demo site is at {url}, until Ctrl-C; {user} has the password {password}"));
        cancel.cancelled().await;
        Ok(json!({ "url": url }))
    };
    answer("demo", served.await, began.elapsed())
}

async fn serve() -> Result<Site, ErrorReport> {
    let failed = |error| ErrorReport::new(ErrorCode::IoError, format!("the demo site could not be served: {error}"));
    site::serve().await.map_err(failed)
}

async fn run(config: &Config, progress: &Progress, cancel: CancellationToken) -> Result<DemoData, ErrorReport> {
    let mut timings_ms = Timings::default();
    let site = serve().await?;
    let service = tokio::select! {
        service = prepare(config, progress, &mut timings_ms) => service?,
        () = cancel.cancelled() => return Err(ErrorReport::new(ErrorCode::Cancelled, "the demo was cancelled")),
    };
    let began = Instant::now();
    let script = format!("const site = {};\n{LOGIN}", json!(site.url()));
    let answer = service.execute(ExecuteRequest::new(&script), Arc::new(Unobserved), cancel).await;
    timings_ms.script = millis(began.elapsed());
    Ok(DemoData { script, answer, timings_ms })
}

async fn prepare(config: &Config, progress: &Progress, timings_ms: &mut Timings) -> Result<Service, ErrorReport> {
    let began = Instant::now();
    if config.cdp_url.is_none() {
        preparation::browser(config, progress).await?;
    }
    timings_ms.browser = millis(began.elapsed());

    let began = Instant::now();
    let (owned, told) = (config.clone(), progress.clone());
    let service = preparation::blocking(move || Service::open(&owned, &*told)).await??;
    timings_ms.sandbox = millis(began.elapsed());
    Ok(service)
}

/// A demo that ran and did not come to what it should.
fn failure(data: &DemoData) -> Option<ErrorReport> {
    if let Some(error) = &data.answer.error {
        return Some(error.clone());
    }
    let user = data.answer.data.as_ref().and_then(|data| data.pointer("/result/user"));
    (user.and_then(Json::as_str) != Some(site::USER)).then(|| {
        ErrorReport::new(ErrorCode::HostFault, "the script ran, but did not read the name of the user who logged in")
    })
}
