//! Pictures of a page for an operator who looks on.
//!
//! They come over a connection of their own, below which scripts see no session. Nothing is sent to the page but that
//! it is to be drawn, and the browser makes the next picture only when the last one was taken. A page that stands still,
//! under a dialog or in an endless loop, gives no new picture; only the request that waits for one is held up.

use crate::connected::ConnectedBrowser;
use codemode_chromium::{CdpError, Command, Connection, Event};
use codemode_spec::{ErrorCode, ErrorReport};
use serde_json::{Value as Json, json};
use std::time::Duration;

/// How long connecting and attaching may take.
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// How long the browser may take to say that it has begun, or that it goes on. The page itself may not answer.
const ANSWER_MAX: Duration = Duration::from_secs(1);
/// Quality of a picture, of a hundred.
const QUALITY: u32 = 60;
/// Pictures that are looked at under one lock of the log; the browser makes two before it waits.
const PICTURES_AT_ONCE: usize = 8;
const PICTURE: &str = "Page.screencastFrame";

/// How large a picture is at most.
#[derive(Clone, Copy, Debug)]
pub struct PictureSize {
    /// In pixels.
    pub width: u32,
    /// In pixels.
    pub height: u32,
    /// Of the pictures that wait to be taken, in the memory of the host.
    pub bytes: usize,
}

/// The pictures of one page, as it changes. They end when this is [closed](Self::close) or dropped.
#[derive(Debug)]
pub struct Screencast {
    connection: Connection,
    session: String,
    read_to: u64,
    /// The numbers of the pictures that were taken, and of which the browser was not told.
    taken: Vec<Json>,
}

impl ConnectedBrowser {
    /// Begins to show a page, by its target.
    ///
    /// # Errors
    /// `CDP_CONNECTION_FAILED` and what keeps the lease from being used; `CDP_TARGET_CLOSED` when the page is gone.
    ///
    /// # Cancellation
    /// May be dropped at any time; the connection ends with it.
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
        // A page that stands still does not answer; the browser shows what there is of it all the same.
        match cast.ask("Page.startScreencast", params).await {
            Ok(_) | Err(CdpError::Timeout { .. }) => Ok(cast),
            Err(error) => Err(gone(error)),
        }
    }
}

impl Screencast {
    /// The next picture, a JPEG in base64, or the last one if several have come; none when the page or the connection
    /// is gone.
    ///
    /// # Cancellation
    /// May be dropped at any time: the picture is there for the next call.
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

    /// Has the browser go on, after the picture that was taken last.
    ///
    /// # Cancellation
    /// May be dropped at any time: what was not told is told by the next call.
    pub async fn go_on(&mut self) {
        while let Some(number) = self.taken.last().cloned() {
            // That the page is gone, the next picture tells.
            let _ = self.ask("Page.screencastFrameAck", json!({ "sessionId": number })).await;
            self.taken.pop();
        }
    }

    /// Ends the pictures, and with them all that the browser has of this.
    ///
    /// # Cancellation
    /// May be dropped at any time; they end all the same.
    pub async fn close(self) {
        self.connection.close().await;
    }

    async fn ask(&self, method: &str, params: Json) -> Result<Json, CdpError> {
        let session = Some(self.session.as_str());
        self.connection.call(Command { method, params, session, timeout: ANSWER_MAX }).await
    }
}

/// Whether an event says that the page's session is over.
fn is_end(event: &Event, session: &str) -> bool {
    event.method == "Target.detachedFromTarget" && event.params["sessionId"] == session
}
