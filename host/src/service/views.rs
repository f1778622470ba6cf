//! Operators look at the pages of executions that run here. What they see is a picture after the other; nothing goes from them
//! to the page, and the script does not see them.

use crate::secrets::Masker;
use async_trait::async_trait;
use codemode_page::{ConnectedBrowser, ExecutionBrowser, PictureSize, Screencast};
use codemode_provider::{Ending, ExecutionContext, Secrets, ServiceProvider, ServiceRuntime};
use codemode_spec::{
    ErrorCode, ErrorReport,
    limits::{
        VIEW_HEIGHT_MAX, VIEW_IDLE_MS, VIEW_LOOK_MS, VIEW_PICTURE_MS_MIN, VIEW_REQUESTS_MAX, VIEW_RING_BYTES_MAX,
        VIEW_WAIT_MS_MAX, VIEW_WIDTH_MAX, VIEWS_MAX,
    },
};
use serde::{Deserialize, Serialize};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    time::{Instant, sleep, sleep_until, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use utoipa::ToSchema;

const SIZE: PictureSize = PictureSize { width: VIEW_WIDTH_MAX, height: VIEW_HEIGHT_MAX, bytes: VIEW_RING_BYTES_MAX };

/// The page of an execution that its script has used last, as it is now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PageView {
    /// As the answer's `context.execution_id` names it.
    pub execution: String,
    /// Whether this host runs the execution.
    pub running: bool,
    /// The number of the last picture: what the next request gives as `after`.
    pub picture: u64,
    /// That picture, a JPEG in base64; absent if there is no other one than that which was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jpeg: Option<String>,
    /// Where the page is, with the values of secrets masked; absent if the execution has no page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The page's title, masked likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The kind of the dialog that the page shows and what it says, masked likewise: the page stands still until the script answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialog: Option<String>,
}

/// The executions of one host that can be looked at.
pub(super) struct Views {
    seats: Mutex<HashMap<String, Weak<Seat>>>,
    /// Places for pages that are looked at.
    places: Arc<Semaphore>,
    /// Places for requests that wait.
    requests: Semaphore,
}

/// One execution.
struct Seat {
    execution: String,
    browser: Weak<ExecutionBrowser>,
    secrets: Option<Arc<dyn Secrets>>,
    views: Arc<Views>,
    asked: Mutex<Asked>,
    /// The last picture that a request has seen: a later one is wanted.
    wanted: watch::Sender<u64>,
    shown: watch::Sender<Shown>,
    ended: CancellationToken,
    looking: TaskTracker,
}

/// When an operator asked last, and whether a screencast runs for that.
struct Asked {
    last: Instant,
    is_looking: bool,
}

#[derive(Clone, Default)]
struct Shown {
    number: u64,
    jpeg: Option<Arc<str>>,
}

impl Default for Views {
    fn default() -> Self {
        let (places, requests) = (Arc::new(Semaphore::new(VIEWS_MAX)), Semaphore::new(VIEW_REQUESTS_MAX));
        Self { seats: Mutex::default(), places, requests }
    }
}

/// Puts each execution among those that can be looked at, until it ends.
pub(super) struct Viewing(pub Arc<Views>);

impl ServiceProvider for Viewing {
    fn create(&self, context: &mut ExecutionContext) -> Result<Arc<dyn ServiceRuntime>, ErrorReport> {
        let execution = context.execution.to_string();
        let seat = Arc::new(Seat {
            execution: execution.clone(),
            browser: Arc::downgrade(&context.services.require::<ExecutionBrowser>()?),
            secrets: context.services.get::<dyn Secrets>(),
            views: Arc::clone(&self.0),
            asked: Mutex::new(Asked { last: Instant::now(), is_looking: false }),
            wanted: watch::Sender::default(),
            shown: watch::Sender::default(),
            ended: CancellationToken::new(),
            looking: TaskTracker::new(),
        });
        lock(&self.0.seats).insert(execution, Arc::downgrade(&seat));
        Ok(Arc::new(SeatOf(seat)))
    }
}

/// The execution's part in its seat. Dropping the part removes the seat, also when the execution ended without a disposal.
struct SeatOf(Arc<Seat>);

#[async_trait]
impl ServiceRuntime for SeatOf {
    async fn dispose(&self, _: Ending) -> Result<(), ErrorReport> {
        self.0.ended.cancel();
        // The browser is left by those who look before it is released.
        self.0.looking.close();
        self.0.looking.wait().await;
        Ok(())
    }
}

impl Drop for SeatOf {
    fn drop(&mut self) {
        self.0.ended.cancel();
        lock(&self.0.views.seats).remove(&self.0.execution);
    }
}

impl Views {
    /// The page of an execution, as soon as there is another picture of it than the one that was seen, or after
    /// [`VIEW_WAIT_MS_MAX`].
    ///
    /// # Errors
    /// `CAPACITY_EXCEEDED` when too much is looked at.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub(super) async fn view(&self, execution: &str, after: u64) -> Result<PageView, ErrorReport> {
        let seat = lock(&self.seats).get(execution).and_then(Weak::upgrade);
        let Some(seat) = seat.filter(|seat| !seat.ended.is_cancelled()) else {
            return Ok(PageView { execution: execution.to_owned(), picture: after, ..PageView::default() });
        };
        let _request = self.requests.try_acquire().map_err(|_| full("too many operators wait for a picture"))?;
        seat.look()?;
        seat.wanted.send_if_modified(|wanted| std::mem::replace(wanted, after.max(*wanted)) < after);
        let mut shown = seat.shown.subscribe();
        let wait = Duration::from_millis(VIEW_WAIT_MS_MAX);
        tokio::select! {
            _ = timeout(wait, shown.wait_for(|shown| shown.number > after)) => {}
            () = seat.ended.cancelled() => {}
        }
        let shown = shown.borrow().clone();
        seat.told(shown, after).await
    }
}

fn full(message: &str) -> ErrorReport {
    ErrorReport::new(ErrorCode::CapacityExceeded, message)
        .with_hint("Close one of the views, or ask again in a moment.")
}

impl Seat {
    /// Has the page looked at, unless it is already.
    fn look(self: &Arc<Self>) -> Result<(), ErrorReport> {
        let mut asked = lock(&self.asked);
        asked.last = Instant::now();
        if asked.is_looking {
            return Ok(());
        }
        let place = Arc::clone(&self.views.places).try_acquire_owned();
        let place = place.map_err(|_| full(&format!("{VIEWS_MAX} executions are looked at already")))?;
        asked.is_looking = true;
        let seat = Arc::clone(self);
        self.looking.spawn(async move { seat.show_while_asked(place).await });
        Ok(())
    }

    async fn show_while_asked(&self, _place: OwnedSemaphorePermit) {
        tokio::select! {
            () = self.ended.cancelled() => {}
            () = self.forgotten() => {}
            () = self.show() => {}
        }
    }

    /// Waits until no operator has asked for [`VIEW_IDLE_MS`].
    async fn forgotten(&self) {
        loop {
            let until = {
                let mut asked = lock(&self.asked);
                let until = asked.last + Duration::from_millis(VIEW_IDLE_MS);
                if until <= Instant::now() {
                    // Under the lock: the next request begins a screencast.
                    asked.is_looking = false;
                    return;
                }
                until
            };
            sleep_until(until).await;
        }
    }

    /// Shows the page that the script uses, and the next one when the script goes on there.
    async fn show(&self) {
        loop {
            if let Some((browser, target)) = self.page()
                && let Ok(mut cast) = browser.screencast(&target, SIZE).await
            {
                tokio::select! {
                    () = self.show_one(&mut cast) => {}
                    () = self.left(&target) => {}
                }
                cast.close().await;
            }
            sleep(Duration::from_millis(VIEW_LOOK_MS)).await;
        }
    }

    /// Shows one page until it is gone.
    async fn show_one(&self, cast: &mut Screencast) {
        let mut wanted = self.wanted.subscribe();
        while let Some(jpeg) = cast.next().await {
            let next = Instant::now() + Duration::from_millis(VIEW_PICTURE_MS_MIN);
            let mut number = 0;
            self.shown.send_modify(|shown| {
                shown.number += 1;
                shown.jpeg = Some(jpeg.into());
                number = shown.number;
            });
            // The next picture is made when an operator has received this one.
            if wanted.wait_for(|wanted| *wanted >= number).await.is_err() {
                return;
            }
            sleep_until(next).await;
            cast.go_on().await;
        }
    }

    /// Waits until the script uses another page than this one.
    async fn left(&self, target: &str) {
        while self.page().is_some_and(|(_, now)| now == target) {
            sleep(Duration::from_millis(VIEW_LOOK_MS)).await;
        }
    }

    /// The page that the script has used last, with its browser.
    fn page(&self) -> Option<(Arc<ConnectedBrowser>, String)> {
        let browser = self.browser.upgrade()?.current()?;
        browser.catch_up();
        let page = browser.targets.current()?;
        Some((browser, page.id))
    }

    /// What is told of the page, with a picture if it is another one than the one that was seen.
    async fn told(&self, shown: Shown, after: u64) -> Result<PageView, ErrorReport> {
        let browser = self.browser.upgrade().and_then(|browser| browser.current());
        let page = match browser {
            Some(browser) => {
                // The browser does not tell by itself that a page has another title.
                browser.refresh().await;
                browser.targets.current()
            }
            None => None,
        };
        let masker = self.masker()?;
        let masked = |text: &str| (!text.is_empty()).then(|| masker.masked(text.to_owned()));
        Ok(PageView {
            execution: self.execution.clone(),
            running: !self.ended.is_cancelled(),
            picture: shown.number,
            jpeg: shown.jpeg.filter(|_| shown.number != after).map(|jpeg| jpeg.to_string()),
            url: page.as_ref().and_then(|page| masked(&page.at)),
            title: page.as_ref().and_then(|page| masked(&page.title)),
            dialog: page
                .and_then(|page| page.dialog)
                .map(|dialog| masker.masked(format!("{}: {}", dialog.kind, dialog.message))),
        })
    }

    fn masker(&self) -> Result<Masker, ErrorReport> {
        let secrets = self.secrets.iter().flat_map(|secrets| secrets.all());
        Masker::of(secrets.map(|secret| secret.value.expose())).map_err(|error| {
            ErrorReport::new(ErrorCode::HostFault, format!("the values of secrets cannot be masked: {error}"))
        })
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics while it is held.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
