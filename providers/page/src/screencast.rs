//! Pictures of a page for an operator who watches it.
//!
//! They come over a dedicated connection, whose sessions scripts cannot see. The page receives only the command to
//! start drawing pictures, and the browser takes the next picture only after the last one was acknowledged. A page that
//! is blocked, by a dialog or an endless loop, yields no new picture; only the request that waits for one is delayed.

use crate::connected::ConnectedBrowser;
use codemode_chromium::{CdpError, Command, Connection, Event};
use codemode_spec::{ErrorCode, ErrorReport};
use serde_json::{Value as Json, json};
use std::time::Duration;

/// How long connecting and attaching may take.
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// How long the browser may take to answer that pictures have started, or that one is acknowledged. The page itself may
/// never answer.
const ANSWER_MAX: Duration = Duration::from_secs(1);
/// JPEG quality, in percent.
const QUALITY: u32 = 60;
/// Pictures read under one lock of the log; the browser takes two before it waits for an acknowledgement.
const PICTURES_AT_ONCE: usize = 8;
const PICTURE: &str = "Page.screencastFrame";

/// The maximum size of a picture.
#[derive(Clone, Copy, Debug)]
pub struct PictureSize {
    /// In pixels.
    pub width: u32,
    /// In pixels.
    pub height: u32,
    /// The memory of the host for pictures that were not taken yet.
    pub bytes: usize,
}

/// A stream of pictures of one page, one for each change. It ends when this is [closed](Self::close) or dropped.
#[derive(Debug)]
pub struct Screencast {
    connection: Connection,
    session: String,
    read_to: u64,
    /// The numbers of the pictures that were taken and not yet acknowledged.
    taken: Vec<Json>,
}

impl ConnectedBrowser {
    /// Starts a screencast of a page, given by its target.
    ///
    /// # Errors
    /// `CDP_CONNECTION_FAILED`, the error of a lease that cannot be used, or `CDP_TARGET_CLOSED` when the page is
    /// closed.
    ///
    /// # Cancellation
    /// May be dropped at any time; the connection is closed with it.
    pub async fn screencast(&self, target: &str, size: PictureSize) -> Result<Screencast, ErrorReport> {
        let connection = self.route.connect(CONNECT_MAX).await?;
        connection.events().keep(size.bytes);
        let gone = |error: CdpError| {
            ErrorReport::new(ErrorCode::CdpTargetClosed, format!("the page cannot be looked at: {error}"))
        };
        let params = json!({"targetId": target, "flatten": true});
        let attach = Command { method: "Target.attachToTarget", params, session: None, timeout: CONNECT_MAX };
        let attached = connection.call(attach).await.map_err(gone)?;
        let session = attached["sessionId"].as_str().unwrap_or_default().to_owned();
        let cast = Screencast { read_to: connection.events().cursor(), connection, session, taken: Vec::new() };
        let params = json!({"format": "jpeg", "quality": QUALITY, "maxWidth": size.width, "maxHeight": size.height});
        // A blocked page does not answer; the browser sends its last picture all the same.
        match cast.ask("Page.startScreencast", params).await {
            Ok(_) | Err(CdpError::Timeout { .. }) => Ok(cast),
            Err(error) => Err(gone(error)),
        }
    }
}

impl Screencast {
    /// The next picture, a JPEG in base64; if several have come, the latest. `None` when the page or the connection is
    /// closed.
    ///
    /// # Cancellation
    /// May be dropped at any time: the next call returns the picture.
    pub async fn next(&mut self) -> Option<String> {
        let is_relevant = |event: &Event| {
            let is_mine = event.session.as_deref() == Some(self.session.as_str());
            is_mine && event.method == PICTURE || is_end(event, &self.session)
        };
        let events = self.connection.events();
        events.wait(self.read_to, &is_relevant).await?;
        let batch = events.since(self.read_to, PICTURES_AT_ONCE, &is_relevant);
        if batch.events.iter().any(|event| is_end(event, &self.session)) {
            return None;
        }
        self.read_to = batch.next;
        self.taken.extend(batch.events.iter().map(|event| event.params["sessionId"].clone()));
        let last = batch.events.last()?;
        Some(last.params["data"].as_str().unwrap_or_default().to_owned())
    }

    /// Acknowledges the pictures taken so far, so that the browser sends the next one.
    ///
    /// # Cancellation
    /// May be dropped at any time: the next call sends the missing acknowledgements.
    pub async fn go_on(&mut self) {
        while let Some(number) = self.taken.last().cloned() {
            // If the page is closed, the next call to `next` reports it.
            let _ = self.ask("Page.screencastFrameAck", json!({ "sessionId": number })).await;
            self.taken.pop();
        }
    }

    /// Ends the screencast and closes its connection, which releases everything that it holds in the browser.
    ///
    /// # Cancellation
    /// May be dropped at any time; the screencast ends all the same.
    pub async fn close(self) {
        self.connection.close().await;
    }

    async fn ask(&self, method: &str, params: Json) -> Result<Json, CdpError> {
        let session = Some(self.session.as_str());
        self.connection.call(Command { method, params, session, timeout: ANSWER_MAX }).await
    }
}

/// Whether an event reports the detachment of the page's session.
fn is_end(event: &Event, session: &str) -> bool {
    event.method == "Target.detachedFromTarget" && event.params["sessionId"] == session
}
