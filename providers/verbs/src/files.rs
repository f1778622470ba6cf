//! File transfer between a page and a script: file choosers that the page opens, and downloads.

use crate::{
    forms::{Upload, as_json},
    locate::Place,
    reports,
    state::worlds::Frame,
    tab::Tab,
    verbs::Verbs,
};
use codemode_page::Event;
use codemode_spec::{ErrorCode, ErrorReport, limits::DOWNLOAD_BYTES_MAX};
use rustix::fs::OFlags;
use serde_json::{Value as Json, json};
use std::{
    fs::{File, OpenOptions},
    io::{self, Read as _},
    os::unix::fs::OpenOptionsExt as _,
    path::PathBuf,
    sync::Arc,
};
use tokio::{sync::OwnedSemaphorePermit, time::Instant};

/// The length of a download's file name: a GUID chosen by Chromium, which cannot contain a path.
const NAME_BYTES: usize = 36;
/// The event that reports a download's progress.
const PROGRESS: &str = "Browser.downloadProgress";

impl Tab<'_> {
    /// Passes files to a file chooser that the page has opened.
    ///
    /// # Errors
    /// As [`Tab::upload`].
    pub async fn choose(&self, chooser: &str, files: &[Upload]) -> Result<(), ErrorReport> {
        let (frame, node) = chooser.split_once(':').unwrap_or_default();
        let Ok(node) = node.parse() else { return Err(reports::invalid("there is no such file chooser")) };
        let frame: Frame = self.frame_of(&self.main_frame(), frame);
        let place = Place::of_node(frame, node, "the file chooser");
        self.give_files(&place, as_json(files), true).await
    }

    /// Subscribes to downloads, and has them stored in the session's folder under names of their own.
    pub(crate) async fn watch_downloads(&self) -> Result<(), ErrorReport> {
        let folder = self.verbs.browser.downloads_dir();
        let params = json!({"behavior": "allowAndName", "downloadPath": folder, "eventsEnabled": true});
        self.send_to_browser("Browser.setDownloadBehavior", params).await.map(drop)
    }
}

/// A downloaded file.
#[derive(Debug)]
pub struct Downloaded {
    /// The file, opened for reading.
    pub file: File,
    /// Its size.
    pub bytes: u64,
}

/// A download does not belong to a page once it has begun: the window that opened for it may be closed.
impl Verbs {
    /// Waits until a download has ended. Returns its path, or why it failed.
    async fn ended(&self, download: &str, deadline: Instant) -> Result<Result<PathBuf, &'static str>, ErrorReport> {
        let name = name(download)?;
        let browser = self.connected(deadline).await?;
        let path = self.browser.downloads_dir().join(name);
        let tells = |event: &Event| event.method == PROGRESS && event.params["guid"] == name;
        let has_ended = |event: &Event| tells(event) && event.params["state"] != "inProgress";
        let event = match browser.events().last(&tells) {
            // Its events may have been evicted from the log by now.
            None if tokio::fs::try_exists(&path).await.unwrap_or_default() => return Ok(Ok(path)),
            Some(event) if has_ended(&event) => event,
            _ => {
                let ended = tokio::time::timeout_at(deadline, browser.events().wait(0, &has_ended)).await;
                let late = |_| {
                    ErrorReport::new(ErrorCode::CallTimeout, "the download did not end in time")
                        .with_hint("download.progress() says how far it is; download.cancel() ends it.")
                };
                ended.map_err(late)?.ok_or_else(|| codemode_page::gone("its connection is closed"))?
            }
        };
        Ok(if event.params["state"] == "completed" { Ok(path) } else { Err("canceled") })
    }

    /// A download's progress: `state` (`inProgress`, `completed` or `canceled`), `receivedBytes` and `totalBytes`,
    /// which is 0 while it is unknown.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if there is no such download.
    pub async fn download_progress(&self, download: &str, deadline: Instant) -> Result<Json, ErrorReport> {
        let name = name(download)?;
        let browser = self.connected(deadline).await?;
        let tells = |event: &Event| event.method == PROGRESS && event.params["guid"] == name;
        let told = browser.events().last(&tells);
        let told = told.as_ref().map_or(&Json::Null, |event| &event.params);
        let bytes = |field: &str| told[field].as_f64().unwrap_or_default();
        Ok(json!({
            "state": told["state"].as_str().unwrap_or("inProgress"), "receivedBytes": bytes("receivedBytes"),
            "totalBytes": bytes("totalBytes"),
        }))
    }

    /// Waits until a download has ended. Returns why it failed, or `null` if it succeeded.
    ///
    /// # Errors
    /// `CALL_TIMEOUT`.
    pub async fn download_failure(&self, download: &str, deadline: Instant) -> Result<Json, ErrorReport> {
        Ok(self.ended(download, deadline).await?.err().map_or(Json::Null, Json::from))
    }

    /// Waits until a download has ended, and opens its file.
    ///
    /// # Errors
    /// `CALL_FAILED` if it failed, `CALL_TIMEOUT`.
    pub async fn downloaded(&self, download: &str, deadline: Instant) -> Result<Downloaded, ErrorReport> {
        let failed = |why| {
            ErrorReport::new(ErrorCode::CallFailed, format!("the download was {why}"))
                .with_hint("Have the page download it again.")
        };
        let path = self.ended(download, deadline).await?.map_err(failed)?;
        let opened = tokio::task::spawn_blocking(move || {
            // The browser might have put a link or a FIFO in the file's place: do not follow it, and do not block on
            // it.
            let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
            let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
            let metadata = file.metadata()?;
            let is_file = metadata.is_file().then_some(metadata.len());
            Ok(Downloaded { bytes: is_file.ok_or(io::ErrorKind::InvalidInput)?, file })
        });
        opened.await.unwrap_or_else(|error| Err(io::Error::other(error))).map_err(unreadable)
    }

    /// Waits until a download has ended, and reads its content. An execution holds one large answer in memory at a
    /// time, for as long as the returned permit is held.
    ///
    /// # Errors
    /// As [`Self::downloaded`], and `RESULT_TOO_LARGE`.
    pub async fn download_bytes(
        &self,
        download: &str,
        deadline: Instant,
    ) -> Result<(Vec<u8>, OwnedSemaphorePermit), ErrorReport> {
        let Downloaded { file, bytes } = self.downloaded(download, deadline).await?;
        if bytes > DOWNLOAD_BYTES_MAX {
            let message = format!("the download has {bytes} bytes, and a script can have {DOWNLOAD_BYTES_MAX} of one");
            return Err(ErrorReport::new(ErrorCode::ResultTooLarge, message)
                .with_hint("Have it among the files of the answer instead: await download.saveAs(name)."));
        }
        let place = tokio::time::timeout_at(deadline, Arc::clone(&self.large).acquire_owned()).await;
        let Ok(Ok(place)) = place else {
            return Err(ErrorReport::new(ErrorCode::CallTimeout, "other calls have their large answers first"));
        };
        let read = tokio::task::spawn_blocking(move || {
            let mut content = Vec::new();
            file.take(DOWNLOAD_BYTES_MAX).read_to_end(&mut content).map(|_| content)
        });
        let content = read.await.unwrap_or_else(|error| Err(io::Error::other(error))).map_err(unreadable)?;
        Ok((content, place))
    }

    /// Stops a download.
    ///
    /// # Errors
    /// When there is no such download.
    pub async fn cancel_download(&self, download: &str, deadline: Instant) -> Result<(), ErrorReport> {
        let name = name(download)?;
        let cancelled = self.send_browser_command("Browser.cancelDownload", json!({ "guid": name }), deadline).await;
        // The browser does not know a download that has ended.
        match cancelled {
            Err(error) if error.code == ErrorCode::CdpProtocolError => Ok(()),
            cancelled => cancelled,
        }
    }

    /// Deletes a downloaded file.
    ///
    /// # Errors
    /// `CALL_TIMEOUT` if the download has not ended in time.
    pub async fn delete_download(&self, download: &str, deadline: Instant) -> Result<(), ErrorReport> {
        if let Ok(path) = self.ended(download, deadline).await? {
            // The file may have been removed already.
            let _ = tokio::fs::remove_file(path).await;
        }
        Ok(())
    }

    async fn send_browser_command(&self, method: &str, params: Json, deadline: Instant) -> Result<(), ErrorReport> {
        let browser = self.connected(deadline).await?;
        let timeout = deadline.saturating_duration_since(Instant::now());
        Tab::new(self, browser, String::new(), timeout, deadline).send_to_browser(method, params).await.map(drop)
    }
}

fn unreadable(error: io::Error) -> ErrorReport {
    ErrorReport::new(ErrorCode::IoError, format!("the download cannot be read: {}", error.kind()))
}

/// Validates a download's id, which is its file name.
fn name(download: &str) -> Result<&str, ErrorReport> {
    let is_name = download.len() == NAME_BYTES && download.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    is_name.then_some(download).ok_or_else(|| reports::invalid("there is no such download"))
}
