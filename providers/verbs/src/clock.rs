//! Halting a page: no script of it runs, and no animation.
//!
//! By the debugger, and not by virtual time: a browser never gives up the virtual time of a page, so that the page would stand
//! still for the next execution that uses the browser, and while it stands its frames, requests and listeners go on all the
//! same. The debugger stops scripts of all kinds wherever they are, and lets them go with the session that has stopped them.
//!
//! What it only comes near to:
//! - Time goes on. Scripts that are halted do not see it; when they go on, `Date.now()` has jumped by as long as they were
//!   halted, and timers that are due run, each once. The time that a clock tells stands still meanwhile.
//! - Animations of styles and of scripts stand still; pictures that move by themselves, videos, workers, and what is loaded, do
//!   not. What these tell the page, it hears when it goes on.
//! - A document that arrives meanwhile, of a navigation that was under way, runs: the clock tells so.
//! - A script that runs without end is not halted: the page stands still between two of its tasks.

use crate::{
    reports,
    state::{clocks::Halt, frames::frames_of},
    tab::{GRACE, Tab},
};
use codemode_page::Event;
use codemode_spec::{ErrorCode, ErrorReport};
use serde_json::{Value as Json, json};

/// How the browser tells that a page stands still.
const PAUSED: &str = "Debugger.paused";

impl Tab<'_> {
    /// Whether the page can be halted by now and is, and its time: `{enabled, paused, baseMs, nowMs}`, in milliseconds since
    /// 1970. Its time stands still while it is halted, and began with `baseMs`.
    ///
    /// # Errors
    /// None at the moment.
    pub fn clock(&self) -> Result<Json, ErrorReport> {
        self.browser.catch_up();
        Ok(match self.verbs.clocks.of(&self.browser, &self.id) {
            Some(clock) => json!({
                "enabled": true, "paused": clock.is_halted(), "baseMs": clock.base_ms, "nowMs": clock.now_ms(),
            }),
            None => json!({"enabled": false, "paused": false, "baseMs": null, "nowMs": null}),
        })
    }

    /// Halts the page, or lets it go on. With `initial_ms` its time begins there, in milliseconds since 1970, if it was not
    /// halted before: that changes what [`Self::clock`] tells, and not what its scripts see.
    ///
    /// # Errors
    /// `DIALOG_OPEN` while the page shows a dialog, `CALL_TIMEOUT` if it does not stand still in time.
    ///
    /// # Cancellation
    /// May be dropped at any time: the page may be halted then, or not.
    pub async fn set_clock(&self, paused: bool, initial_ms: Option<f64>) -> Result<(), ErrorReport> {
        if initial_ms.is_some_and(|ms| !ms.is_finite()) {
            return Err(reports::invalid("initialMs is a time in milliseconds since 1970"));
        }
        self.verbs.clocks.begin(&self.browser, &self.id, initial_ms);
        if paused { self.halt().await } else { self.unhalt().await }
    }

    /// Lets the page go on, if it may be halted.
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
        // A page that shows a dialog stands still already, and the debugger does not reach it.
        if self.browser.targets.target(&self.id).is_some_and(|page| page.dialog.is_some()) {
            return Err(self.unanswered("Debugger.enable"));
        }
        self.verbs.clocks.touch(&self.id);
        let halted = self.halt_target(&self.id).await;
        let Ok(seq) = halted else {
            // What was begun does not happen later.
            let _ = tokio::time::timeout(GRACE, self.release_target(&self.id)).await;
            return halted.map(drop);
        };
        let session = self.session().await?;
        self.verbs.clocks.halted(&self.id, Halt::new(&self.browser, &session, seq));
        let frames = frames_of(&self.browser, &self.id);
        // A frame that has gone meanwhile does not run either.
        let _ = futures::future::join_all(frames.iter().map(|frame| self.halt_target(frame))).await;
        Ok(())
    }

    /// Halts the page or a frame with a process of its own; answers after which event it is.
    async fn halt_target(&self, target: &str) -> Result<u64, ErrorReport> {
        let session = self.verbs.browser.attach(&self.browser, Some(target), self.left()).await?.raw;
        let since = self.cursor();
        let asked = async {
            // It stays enabled, since the browser tells of each script of the page whenever that is done.
            self.send_to(target, "Debugger.enable", json!({})).await?;
            self.send_to(target, "Debugger.setSkipAllPauses", json!({"skip": false})).await?;
            // Between two tasks of the page: one that stands still while it draws keeps its picture from being taken. It is
            // answered when the page goes on.
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
        // All are sent at once: a page that does not answer yet is told of all of them. Statements of the page's own that ask
        // for a debugger are passed over from now on.
        let (skip, rate, resumed) = tokio::join!(
            self.send_to(target, "Debugger.setSkipAllPauses", json!({"skip": true})),
            self.send_to(target, "Animation.setPlaybackRate", json!({"playbackRate": 1})),
            self.send_to(target, "Debugger.resume", json!({})),
        );
        skip.and(rate)?;
        match resumed {
            // It runs.
            Err(error) if error.code == ErrorCode::CdpProtocolError => Ok(()),
            resumed => resumed.map(drop),
        }
    }

    /// Refuses what a halted page cannot do: an input would be lost, and a wait would not end.
    pub(crate) fn refuse_halted(&self, method: &str, params: &Json) -> Result<(), ErrorReport> {
        let needs_scripts = method.starts_with("Input.") || params["awaitPromise"] == true;
        if needs_scripts && self.is_halted() { Err(reports::halted()) } else { Ok(()) }
    }
}
