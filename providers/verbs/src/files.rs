//! Files between a page and a script: choosers that the page opens, and downloads.

use crate::{
    forms::{Upload, as_json},
    locate::Place,
    reports,
    tab::Tab,
    world::Frame,
};
use codemode_page::Event;
use codemode_spec::{ErrorCode, ErrorReport, limits::DOWNLOAD_BYTES_MAX};
use rustix::fs::OFlags;
use serde_json::{Value as Json, json};
use std::{io::Read as _, os::unix::fs::OpenOptionsExt as _, path::PathBuf};

/// The names of downloads: what Chromium gives them, and nothing that leads elsewhere.
const NAME_BYTES: usize = 36;

impl Tab<'_> {
    /// Gives files to a chooser that the page has opened.
    ///
    /// # Errors
    /// As [`Tab::upload`].
    pub async fn choose(&self, chooser: &str, files: &[Upload]) -> Result<(), ErrorReport> {
        let (frame, node) = chooser.split_once(':').unwrap_or_default();
        let Ok(node) = node.parse() else { return Err(reports::invalid("there is no such file chooser")) };
        let frame: Frame = self.frame_of(&self.main_frame(), frame);
        let place = Place::of_node(frame, node, "the file chooser");
        self.give_files(&place, as_json(files)).await
    }

    /// Has downloads told of, and kept in the session's folder under names of their own.
    pub(crate) async fn watch_downloads(&self) -> Result<(), ErrorReport> {
        let folder = self.verbs.browser.downloads_dir();
        let params = json!({"behavior": "allowAndName", "downloadPath": folder, "eventsEnabled": true});
        self.send_to_browser("Browser.setDownloadBehavior", params).await.map(drop)
    }

    /// Waits until a download has ended: where it is, or why it failed.
    async fn ended(&self, download: &str) -> Result<Result<PathBuf, String>, ErrorReport> {
        let has_ended = |event: &Event| {
            matches!(event.method.as_str(), "Browser.downloadProgress" | "Page.downloadProgress")
                && event.params["guid"] == download
                && event.params["state"] != "inProgress"
        };
        let event = self.wait_for(0, &has_ended, "the download to end").await?;
        Ok(match event.params["state"] == "completed" {
            true => Ok(self.verbs.browser.downloads_dir().join(name(download)?)),
            false => Err("canceled".to_owned()),
        })
    }

    /// Why a download failed, when it has ended; `null` if it did not.
    ///
    /// # Errors
    /// `CALL_TIMEOUT`.
    pub async fn download_failure(&self, download: &str) -> Result<Json, ErrorReport> {
        Ok(self.ended(download).await?.err().map_or(Json::Null, Json::from))
    }

    /// The content of a download, when it has ended.
    ///
    /// # Errors
    /// `CALL_FAILED` if it failed or is larger than the bound.
    pub async fn download_bytes(&self, download: &str) -> Result<Vec<u8>, ErrorReport> {
        let failed = |what: String| ErrorReport::new(ErrorCode::CallFailed, what);
        let path = self.ended(download).await?.map_err(|why| failed(format!("the download was {why}")))?;
        let read = tokio::task::spawn_blocking(move || {
            // What a browser could have put in the file's place is not followed.
            let file =
                std::fs::OpenOptions::new().read(true).custom_flags(OFlags::NOFOLLOW.bits() as i32).open(&path)?;
            let bytes = file.metadata()?.len();
            if bytes > DOWNLOAD_BYTES_MAX {
                return Ok(Err((bytes, path)));
            }
            let mut content = Vec::new();
            file.take(DOWNLOAD_BYTES_MAX).read_to_end(&mut content)?;
            Ok(Ok(content))
        });
        let read: std::io::Result<Result<Vec<u8>, (u64, PathBuf)>> =
            read.await.unwrap_or_else(|error| Err(std::io::Error::other(error)));
        match read {
            Ok(Ok(content)) => Ok(content),
            Ok(Err((bytes, path))) => Err(failed(format!(
                "the download has {bytes} bytes, and {DOWNLOAD_BYTES_MAX} can be read; it is kept as {}",
                path.display()
            ))),
            Err(error) => Err(ErrorReport::new(ErrorCode::IoError, format!("the download cannot be read: {error}"))),
        }
    }

    /// Stops a download.
    ///
    /// # Errors
    /// When there is none.
    pub async fn cancel_download(&self, download: &str) -> Result<(), ErrorReport> {
        self.send_to_browser("Browser.cancelDownload", json!({ "guid": download })).await.map(drop)
    }

    /// Removes what was downloaded.
    ///
    /// # Errors
    /// `CALL_TIMEOUT`, if it has not ended.
    pub async fn delete_download(&self, download: &str) -> Result<(), ErrorReport> {
        if let Ok(path) = self.ended(download).await? {
            // It may have been removed already.
            let _ = tokio::fs::remove_file(path).await;
        }
        Ok(())
    }
}

/// A download's file name.
fn name(download: &str) -> Result<&str, ErrorReport> {
    let is_name = download.len() == NAME_BYTES && download.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    is_name.then_some(download).ok_or_else(|| reports::invalid("there is no such download"))
}
