//! The doctor: checks everything that an execution needs, and names the remedy for what is missing.

use super::{
    answer::millis,
    host::Service,
    request::ExecuteRequest,
    startup::{Progress, blocking},
    subsystems::layers,
};
use crate::{
    engine::{Image, Kernel},
    exec::NoObserver,
    state_dir::StateDir,
};
use codemode_cdp::CdpProvider;
use codemode_chromium::{ConfineMode, KernelSetting};
use codemode_spec::{Envelope, ErrorCode, ErrorReport, limits::WALL_MS_MAX};
use rustix::fs::statvfs;
use serde::{Deserialize, Serialize};
use std::{
    io::{self, Write as _},
    sync::Arc,
    time::Instant,
};
use tokio_util::sync::CancellationToken;

/// The free space for a browser's profile and the sandbox image.
const FREE_BYTES_MIN: u64 = 256 * 1024 * 1024;
/// The time limit of the trial scripts: the first start from a slow disk takes long.
const EXECUTION_MS_MAX: u64 = 45_000;
const _: () = assert!(EXECUTION_MS_MAX <= WALL_MS_MAX);

/// The result of all checks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Diagnosis {
    /// The checks, in order.
    pub checks: Vec<Check>,
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// The stable name of the check, such as `browser start`.
    pub name: String,
    /// The status.
    pub status: Status,
    /// The finding, in one sentence.
    pub message: String,
    /// What an operator can do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// The status of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// The requirement is met.
    Ok,
    /// It works, but could be better.
    Note,
    /// Not tried, because something that it needs failed.
    Skipped,
    /// It does not work.
    Failed,
}

impl Service {
    /// Checks everything that an execution needs, builds the sandbox image if it is missing, and starts the browser
    /// once.
    ///
    /// # Cancellation
    /// Cancelling the token ends the check that runs; if the future is dropped, the browser is closed in the
    /// background.
    pub async fn doctor(&self, progress: &Progress, cancel: CancellationToken) -> Diagnosis {
        let settings = self.settings();
        let state = settings.state();
        let mut checks = vec![state_folder(&state)];
        let sandbox = match &state {
            Ok(_) => self.check_sandbox(progress, &cancel).await,
            Err(_) => Check::new("sandbox", Status::Skipped, "not tried without a state folder"),
        };
        let has_sandbox = sandbox.status == Status::Ok;
        checks.push(sandbox);
        if self.inner.config.has_browser {
            checks.push(self.check_browser().await);
            checks.push(self.check_browser_start(has_sandbox, &cancel).await);
            if settings.is_external() {
                let external = "the business of the external endpoint";
                checks.push(Check::new("browser isolation", Status::Ok, external));
                checks.push(Check::new("browser confinement", Status::Ok, external));
            } else {
                checks.push(isolation());
                checks.push(confinement(settings.browser.confinement.mode));
            }
        }
        checks.push(kernel(&Kernel::running()));
        Diagnosis { checks }
    }

    /// Loads the sandbox image, or builds it, and runs a script in it.
    async fn check_sandbox(&self, progress: &Progress, cancel: &CancellationToken) -> Check {
        let name = "sandbox";
        let began = Instant::now();
        let layers = layers(&self.inner.config.providers);
        let cached = self.settings().image_dir().is_ok_and(|images| Image::is_cached(&images, &layers));
        if let Err(error) = self.ready(&**progress, cancel).await {
            let check = Check::failed(name, &error);
            // The usual hint of NOT_READY refers to this very command.
            return if error.code == ErrorCode::NotReady { check.remedy(self.remake()) } else { check };
        }
        let opened = began.elapsed();
        let answer = self.try_script("1 + 1", cancel).await;
        match (answer.error, answer.data.and_then(|data| data.get("result").cloned())) {
            (None, Some(result)) if result == 2 => {
                let (how, opened_ms, ran_ms) =
                    (if cached { "loaded" } else { "made" }, millis(opened), answer.meta.duration_ms);
                Check::new(name, Status::Ok, format!("image {how} in {opened_ms} ms, `1 + 1` took {ran_ms} ms"))
            }
            (Some(error), _) => Check::failed(name, &error),
            (None, result) => {
                let message = format!("`1 + 1` is {} here", result.unwrap_or_default());
                Check::new(name, Status::Failed, message).remedy(self.remake())
            }
        }
    }

    fn remake(&self) -> String {
        let folder = self.settings().image_dir();
        let folder = folder.map_or_else(|_| "the folder of images".to_owned(), |folder| folder.display().to_string());
        format!(
            "Make sure that {folder} belongs to you and to no other user (chmod 700 {folder}), remove what is in it, \
             and run `codemode warm`."
        )
    }

    async fn check_browser(&self) -> Check {
        let name = "browser";
        let settings = self.settings();
        if settings.is_external() {
            return Check::new(name, Status::Ok, "an external endpoint is configured; none is launched");
        }
        let named = settings.browser.browser.clone();
        match blocking(move || codemode_chromium::find(named.as_deref())).await {
            Ok(browser) => Check::new(name, Status::Ok, format!("{} at {}", browser.version, browser.path.display())),
            Err(error) => Check::failed(name, &error),
        }
    }

    /// Starts the browser, or connects to it, as an execution does.
    async fn check_browser_start(&self, has_sandbox: bool, cancel: &CancellationToken) -> Check {
        let name = if self.settings().is_external() { "browser endpoint" } else { "browser start" };
        if !has_sandbox {
            return Check::new(name, Status::Skipped, "not tried without a sandbox");
        }
        let answer = self.try_script(CdpProvider::PROBE, cancel).await;
        match (answer.error, answer.data.and_then(|data| data.get("result").cloned())) {
            (Some(error), _) => Check::failed(name, &error),
            // The warnings name the confinement that is missing.
            (None, _) if !answer.meta.warnings.is_empty() => {
                Check::new(name, Status::Note, answer.meta.warnings.join(" "))
            }
            (None, product) => {
                let product = product.as_ref().and_then(|product| product.as_str()).unwrap_or("a browser");
                let took_ms = answer.meta.duration_ms;
                Check::new(name, Status::Ok, format!("{product} answered and was let go of in {took_ms} ms"))
            }
        }
    }

    async fn try_script(&self, code: &str, cancel: &CancellationToken) -> Envelope {
        let request = ExecuteRequest { timeout_ms: Some(EXECUTION_MS_MAX), ..ExecuteRequest::new(code) };
        self.execute(request, Arc::new(NoObserver), cancel.clone()).await
    }
}

impl Diagnosis {
    /// The checks that failed, with the remedy of the first.
    #[must_use]
    pub fn failure(&self) -> Option<ErrorReport> {
        let failed: Vec<_> = self.checks.iter().filter(|check| check.status == Status::Failed).collect();
        let first = failed.first()?;
        let names: Vec<_> = failed.iter().map(|check| check.name.as_str()).collect();
        let message = format!("{} of {} checks failed: {}", failed.len(), self.checks.len(), names.join(", "));
        let remedy = first.remedy.clone().unwrap_or_else(|| first.message.clone());
        Some(ErrorReport::new(ErrorCode::NotReady, message).with_hint(remedy))
    }
}

impl Check {
    fn new(name: &str, status: Status, message: impl Into<String>) -> Self {
        Self { name: name.to_owned(), status, message: message.into(), remedy: None }
    }

    fn failed(name: &str, error: &ErrorReport) -> Self {
        Self::new(name, Status::Failed, format!("{}: {}", error.code, error.message)).remedy(&error.hint)
    }

    fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }
}

fn state_folder(state: &Result<StateDir, ErrorReport>) -> Check {
    let name = "state folder";
    let folder = match state {
        Ok(state) => state.path(),
        Err(error) => return Check::failed(name, error),
    };
    let shown = folder.display();
    let writable = || -> io::Result<u64> {
        tempfile::NamedTempFile::new_in(folder)?.write_all(b"codemode")?;
        let space = statvfs(folder)?;
        Ok(space.f_bavail.saturating_mul(space.f_frsize))
    };
    let free_bytes = match writable() {
        Ok(free_bytes) => free_bytes,
        Err(error) => {
            return Check::new(name, Status::Failed, format!("{shown} cannot be written: {error}"))
                .remedy("Make it writable, or name another folder with --state-dir or CODEMODE_STATE_DIR.");
        }
    };
    let free = format!("{} MiB free", free_bytes >> 20);
    if free_bytes < FREE_BYTES_MIN {
        return Check::new(name, Status::Failed, format!("{shown}: only {free}"))
            .remedy(format!("Free {} MiB there, or name another folder with --state-dir.", FREE_BYTES_MIN >> 20));
    }
    Check::new(name, Status::Ok, format!("{shown}, private, {free}"))
}

/// Whether Chromium can use its own sandbox.
fn isolation() -> Check {
    let name = "browser isolation";
    match codemode_chromium::forbids_own_sandbox() {
        Some(KernelSetting { name: setting, value, wanted }) => {
            let message =
                format!("{setting} is {value}: a Chromium without a setuid helper cannot start its own sandbox");
            Check::new(name, Status::Note, message)
                .remedy(format!("If the browser does not start, run: sudo sysctl -w {setting}={wanted}"))
        }
        None => Check::new(name, Status::Ok, "no setting of the kernel keeps Chromium from its own sandbox"),
    }
}

/// Whether browsers can be confined to their own files.
fn confinement(mode: ConfineMode) -> Check {
    let name = "browser confinement";
    match (mode, codemode_chromium::can_confine()) {
        (ConfineMode::Off, _) => Check::new(name, Status::Note, "switched off: a browser can read what this user can")
            .remedy("Set [browser] confine = \"try\" or \"require\"."),
        (_, Ok(())) => Check::new(name, Status::Ok, "browsers see no files but their own"),
        (ConfineMode::Try, Err(missing)) => Check::new(name, Status::Note, missing)
            .remedy("Linux 6.2 or newer with Landlock keeps browsers from this user's files."),
        (ConfineMode::Require, Err(missing)) => Check::new(name, Status::Failed, missing)
            .remedy("It is required: use Linux 6.2 or newer with Landlock, or set [browser] confine = \"try\"."),
    }
}

/// Whether the kernel has the feature by which sandboxes are reset faster.
fn kernel(Kernel { release, resets_fast }: &Kernel) -> Check {
    let name = "kernel";
    match resets_fast {
        Some(true) => Check::new(name, Status::Ok, format!("{release}, with PAGEMAP_SCAN")),
        Some(false) => Check::new(name, Status::Note, format!("{release}, without PAGEMAP_SCAN"))
            .remedy("Linux 6.7 or newer resets sandboxes faster; nothing else depends on it."),
        None => Check::new(name, Status::Note, "of an unknown version"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::PermissionsExt as _};

    #[test]
    fn a_state_folder_is_made_private_and_an_open_folder_is_refused_with_its_remedy() {
        let temp = tempfile::tempdir().unwrap();
        let folder = temp.path().join("a/b");
        let check = || state_folder(&StateDir::open(&folder).map_err(ErrorReport::from));
        assert_eq!(check().status, Status::Ok);
        for (mode, status) in [(0o755, Status::Ok), (0o757, Status::Failed)] {
            fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(check().status, status);
        }
        assert!(check().remedy.unwrap().contains(&format!("chmod 700 {}", folder.display())));
    }
}
