//! Pausing a page: its scripts and animations stand still.
//!
//! This uses the debugger rather than virtual time. A browser never leaves virtual time once a page is in it, so the
//! page would stand still for the next execution that uses the browser; and frames, requests and listeners keep running
//! meanwhile. The debugger stops every kind of script wherever it is, and resumes them when its session ends.
//!
//! Limitations:
//! - Wall time goes on. Paused scripts do not notice; when they resume, `Date.now()` has jumped by the length of the
//!   pause, and timers that are due fire once each. The time that [`Tab::clock`] reports stands still.
//! - CSS and script animations stop. Animated images, videos, workers and loading continue; the page receives their
//!   events when it resumes.
//! - A document that commits during the pause, from a navigation that was under way, runs: [`Tab::clock`] then reports
//!   that the page is not paused.
//! - An endless script cannot be paused: the page is stopped between two of its tasks.

use crate::{
    reports,
    state::{clocks::Halt, frames::frames_of},
    tab::{GRACE, Tab},
};
use codemode_page::Event;
use codemode_spec::{ErrorCode, ErrorReport};
use serde_json::{Value as Json, json};

/// The event that reports that a page has been paused.
const PAUSED: &str = "Debugger.paused";

impl Tab<'_> {
    /// The state of the page's clock: `{enabled, paused, baseMs, nowMs}`, with times in milliseconds since 1970.
    /// `enabled` tells whether [`Self::set_clock`] was called; the page's time started at `baseMs` and stands still
    /// while the page is paused.
    ///
    /// # Errors
    /// None at present.
    pub fn clock(&self) -> Result<Json, ErrorReport> {
        self.browser.catch_up();
        Ok(match self.verbs.clocks.of(&self.browser, &self.id) {
            Some(clock) => json!({
                "enabled": true, "paused": clock.is_halted(), "baseMs": clock.base_ms, "nowMs": clock.now_ms(),
            }),
            None => json!({"enabled": false, "paused": false, "baseMs": null, "nowMs": null}),
        })
    }

    /// Pauses or resumes the page. If the page was not under this clock before, `initial_ms` (milliseconds since 1970)
    /// is where its time starts: that affects what [`Self::clock`] reports, not what the page's scripts see.
    ///
    /// # Errors
    /// `DIALOG_OPEN` while the page shows a dialog, `CALL_TIMEOUT` if it does not pause in time.
    ///
    /// # Cancellation
    /// May be dropped at any time: the page is then either paused or not.
    pub async fn set_clock(&self, paused: bool, initial_ms: Option<f64>) -> Result<(), ErrorReport> {
        if initial_ms.is_some_and(|ms| !ms.is_finite()) {
            return Err(reports::invalid("initialMs is a time in milliseconds since 1970"));
        }
        self.verbs.clocks.begin(&self.browser, &self.id, initial_ms);
        if paused { self.halt().await } else { self.unhalt().await }
    }

    /// Resumes the page if it may be paused.
    pub(crate) async fn unhalt(&self) -> Result<(), ErrorReport> {
        if !self.verbs.clocks.of(&self.browser, &self.id).is_some_and(|clock| clock.may_be_halted()) {
            return Ok(());
        }
        let frames = frames_of(&self.browser, &self.id);
        let released = self.release_target(&self.id).await;
        let _ = futures::future::join_all(frames.iter().map(|frame| self.release_target(frame))).await;
        released?;
        self.verbs.clocks.runs(&self.id);
        Ok(())
    }

    /// Whether the page is halted.
    pub(crate) fn is_halted(&self) -> bool {
        self.verbs.clocks.has_halted(&self.browser, &self.id)
    }

    async fn halt(&self) -> Result<(), ErrorReport> {
        self.browser.catch_up();
        if self.is_halted() {
            return Ok(());
        }
        // A page that shows a dialog is blocked already, and the debugger cannot reach it.
        if self.browser.targets.target(&self.id).is_some_and(|page| page.dialog.is_some()) {
            return Err(self.unanswered("Debugger.enable"));
        }
        self.verbs.clocks.touch(&self.id);
        let halted = self.halt_target(&self.id).await;
        let Ok(seq) = halted else {
            // Withdraw the pause, so that it does not take effect later.
            let _ = tokio::time::timeout(GRACE, self.release_target(&self.id)).await;
            return halted.map(drop);
        };
        let session = self.session().await?;
        self.verbs.clocks.halted(&self.id, Halt::new(&self.browser, &session, seq));
        let frames = frames_of(&self.browser, &self.id);
        // A frame that has been detached meanwhile runs no scripts either, so its error is ignored.
        let _ = futures::future::join_all(frames.iter().map(|frame| self.halt_target(frame))).await;
        Ok(())
    }

    /// Pauses the page or an out-of-process frame. Returns the number of the first event after the pause.
    async fn halt_target(&self, target: &str) -> Result<u64, ErrorReport> {
        let session = self.verbs.browser.attach(&self.browser, Some(target), self.left()).await?.raw;
        let since = self.cursor();
        let asked = async {
            // Left enabled: each `Debugger.enable` makes the browser report all scripts of the page again.
            self.send_to(target, "Debugger.enable", json!({})).await?;
            self.send_to(target, "Debugger.setSkipAllPauses", json!({"skip": false})).await?;
            // Pauses between two tasks of the page: a page paused while it draws cannot be captured. The call is
            // answered when the page resumes.
            self.send_to(target, "Runtime.evaluate", json!({"expression": "debugger"})).await
        };
        let is_paused = |event: &Event| event.method == PAUSED && event.session.as_deref() == Some(&session);
        let mut asked = std::pin::pin!(asked);
        let mut is_asked = false;
        let ended = tokio::time::timeout(self.left(), async {
            loop {
                tokio::select! {
                    biased;
                    paused = self.browser.events().wait(since, &is_paused) => {
                        return paused.map(|event| event.seq + 1).ok_or_else(|| codemode_page::gone("its connection is closed"));
                    }
                    answer = &mut asked, if !is_asked => {
                        is_asked = true;
                        answer?;
                    }
                }
            }
        });
        let seq = ended.await.unwrap_or_else(|_| Err(self.unanswered(PAUSED)))?;
        self.send_to(target, "Animation.setPlaybackRate", json!({"playbackRate": 0})).await?;
        Ok(seq)
    }

    async fn release_target(&self, target: &str) -> Result<(), ErrorReport> {
        // Sent concurrently, so that a page that does not answer yet receives all three. `setSkipAllPauses` also makes
        // the page's own `debugger` statements have no effect from now on.
        let (skip, rate, resumed) = tokio::join!(
            self.send_to(target, "Debugger.setSkipAllPauses", json!({"skip": true})),
            self.send_to(target, "Animation.setPlaybackRate", json!({"playbackRate": 1})),
            self.send_to(target, "Debugger.resume", json!({})),
        );
        skip.and(rate)?;
        match resumed {
            // It is running already.
            Err(error) if error.code == ErrorCode::CdpProtocolError => Ok(()),
            resumed => resumed.map(drop),
        }
    }

    /// Refuses commands that a paused page cannot perform: an input would be lost, and a wait would never end.
    pub(crate) fn refuse_halted(&self, method: &str, params: &Json) -> Result<(), ErrorReport> {
        let needs_scripts = method.starts_with("Input.") || params["awaitPromise"] == true;
        if needs_scripts && self.is_halted() { Err(reports::halted()) } else { Ok(()) }
    }
}
