//! Live views of the pages of running executions, for operators. A view is a sequence of pictures from a screencast.
//! Views are read-only: they send no input to the page, and the script does not notice them.

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

/// The current state of the page that the script of an execution used last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PageView {
    /// The execution's id, which the answer has as `context.execution_id`.
    pub execution: String,
    /// Whether this host runs the execution.
    pub running: bool,
    /// The number of the last picture, to pass as `after` in the next request.
    pub picture: u64,
    /// The last picture, a JPEG in base64; absent if the request has seen it already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jpeg: Option<String>,
    /// The URL of the page, with the values of secrets masked; absent if the execution has no page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The title of the page, masked likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The kind and the message of the dialog that the page shows, masked likewise: the page is blocked until the
    /// script answers it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialog: Option<String>,
}

/// The running executions of one host, and the limits for viewing them.
pub(super) struct Views {
    executions: Mutex<HashMap<String, Weak<ViewedExecution>>>,
    /// Permits for concurrent screencasts.
    cast_permits: Arc<Semaphore>,
    /// Permits for requests that wait for a picture.
    wait_permits: Semaphore,
}

/// A running execution that operators can view.
struct ViewedExecution {
    execution: String,
    browser: Weak<ExecutionBrowser>,
    secrets: Option<Arc<dyn Secrets>>,
    views: Arc<Views>,
    activity: Mutex<ViewerActivity>,
    /// The number of the latest picture that a request has received: the next one is wanted.
    wanted: watch::Sender<u64>,
    shown: watch::Sender<Shown>,
    ended: CancellationToken,
    tasks: TaskTracker,
}

/// The time of the last request of an operator, and whether a screencast runs.
struct ViewerActivity {
    last: Instant,
    is_casting: bool,
}

#[derive(Clone, Default)]
struct Shown {
    number: u64,
    jpeg: Option<Arc<str>>,
}

impl Default for Views {
    fn default() -> Self {
        let (cast_permits, wait_permits) = (Arc::new(Semaphore::new(VIEWS_MAX)), Semaphore::new(VIEW_REQUESTS_MAX));
        Self { executions: Mutex::default(), cast_permits, wait_permits }
    }
}

/// Registers each execution in [`Views`] until it ends.
pub(super) struct ViewsProvider(pub Arc<Views>);

impl ServiceProvider for ViewsProvider {
    fn create(&self, context: &mut ExecutionContext) -> Result<Arc<dyn ServiceRuntime>, ErrorReport> {
        let execution = context.execution.to_string();
        let viewed = Arc::new(ViewedExecution {
            execution: execution.clone(),
            browser: Arc::downgrade(&context.services.require::<ExecutionBrowser>()?),
            secrets: context.services.get::<dyn Secrets>(),
            views: Arc::clone(&self.0),
            activity: Mutex::new(ViewerActivity { last: Instant::now(), is_casting: false }),
            wanted: watch::Sender::default(),
            shown: watch::Sender::default(),
            ended: CancellationToken::new(),
            tasks: TaskTracker::new(),
        });
        lock(&self.0.executions).insert(execution, Arc::downgrade(&viewed));
        Ok(Arc::new(ViewRegistration(viewed)))
    }
}

/// The registration of an execution. Dropping it removes the execution from [`Views`], even if it was not disposed of.
struct ViewRegistration(Arc<ViewedExecution>);

#[async_trait]
impl ServiceRuntime for ViewRegistration {
    async fn dispose(&self, _: Ending) -> Result<(), ErrorReport> {
        self.0.ended.cancel();
        // Views must be detached from the browser before it is released.
        self.0.tasks.close();
        self.0.tasks.wait().await;
        Ok(())
    }
}

impl Drop for ViewRegistration {
    fn drop(&mut self) {
        self.0.ended.cancel();
        lock(&self.0.views.executions).remove(&self.0.execution);
    }
}

impl Views {
    /// The page of an execution, as soon as there is a picture after number `after`, or after [`VIEW_WAIT_MS_MAX`].
    ///
    /// # Errors
    /// `CAPACITY_EXCEEDED` when too many executions are viewed or too many requests wait.
    ///
    /// # Cancellation
    /// May be dropped at any time.
    pub(super) async fn view(&self, execution: &str, after: u64) -> Result<PageView, ErrorReport> {
        let viewed = lock(&self.executions).get(execution).and_then(Weak::upgrade);
        let Some(viewed) = viewed.filter(|viewed| !viewed.ended.is_cancelled()) else {
            return Ok(PageView { execution: execution.to_owned(), picture: after, ..PageView::default() });
        };
        let _request = self.wait_permits.try_acquire().map_err(|_| full("too many operators wait for a picture"))?;
        viewed.ensure_screencast()?;
        viewed.wanted.send_if_modified(|wanted| std::mem::replace(wanted, after.max(*wanted)) < after);
        let mut shown = viewed.shown.subscribe();
        let wait = Duration::from_millis(VIEW_WAIT_MS_MAX);
        tokio::select! {
            _ = timeout(wait, shown.wait_for(|shown| shown.number > after)) => {}
            () = viewed.ended.cancelled() => {}
        }
        let shown = shown.borrow().clone();
        viewed.page_view(shown, after).await
    }
}

fn full(message: &str) -> ErrorReport {
    ErrorReport::new(ErrorCode::CapacityExceeded, message)
        .with_hint("Close one of the views, or ask again in a moment.")
}

impl ViewedExecution {
    /// Starts a screencast of the page, unless one runs already.
    fn ensure_screencast(self: &Arc<Self>) -> Result<(), ErrorReport> {
        let mut activity = lock(&self.activity);
        activity.last = Instant::now();
        if activity.is_casting {
            return Ok(());
        }
        let permit = Arc::clone(&self.views.cast_permits).try_acquire_owned();
        let permit = permit.map_err(|_| full(&format!("{VIEWS_MAX} executions are looked at already")))?;
        activity.is_casting = true;
        let viewed = Arc::clone(self);
        self.tasks.spawn(async move { viewed.run_screencast(permit).await });
        Ok(())
    }

    async fn run_screencast(&self, _permit: OwnedSemaphorePermit) {
        tokio::select! {
            () = self.ended.cancelled() => {}
            () = self.unused() => {}
            () = self.show() => {}
        }
    }

    /// Waits until no operator has made a request for [`VIEW_IDLE_MS`].
    async fn unused(&self) {
        loop {
            let until = {
                let mut activity = lock(&self.activity);
                let until = activity.last + Duration::from_millis(VIEW_IDLE_MS);
                if until <= Instant::now() {
                    // Under the lock, so that the next request starts a new screencast.
                    activity.is_casting = false;
                    return;
                }
                until
            };
            sleep_until(until).await;
        }
    }

    /// Captures the page that the script uses, and follows the script to other pages.
    async fn show(&self) {
        loop {
            if let Some((browser, target)) = self.page()
                && let Ok(mut cast) = browser.screencast(&target, SIZE).await
            {
                tokio::select! {
                    () = self.show_one(&mut cast) => {}
                    () = self.page_changed(&target) => {}
                }
                cast.close().await;
            }
            sleep(Duration::from_millis(VIEW_LOOK_MS)).await;
        }
    }

    /// Captures one page until it is closed.
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
            // The next picture is captured only after an operator has received this one.
            if wanted.wait_for(|wanted| *wanted >= number).await.is_err() {
                return;
            }
            sleep_until(next).await;
            cast.go_on().await;
        }
    }

    /// Waits until the script uses a different page.
    async fn page_changed(&self, target: &str) {
        while self.page().is_some_and(|(_, now)| now == target) {
            sleep(Duration::from_millis(VIEW_LOOK_MS)).await;
        }
    }

    /// The page that the script used last, with its browser.
    fn page(&self) -> Option<(Arc<ConnectedBrowser>, String)> {
        let browser = self.browser.upgrade()?.current()?;
        browser.catch_up();
        let page = browser.targets.current()?;
        Some((browser, page.id))
    }

    /// The reply to a request, with the picture unless its number is `after`.
    async fn page_view(&self, shown: Shown, after: u64) -> Result<PageView, ErrorReport> {
        let browser = self.browser.upgrade().and_then(|browser| browser.current());
        let page = match browser {
            Some(browser) => {
                // The browser sends no event when the title of a page changes.
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
            url: page.as_ref().and_then(|page| masked(&page.display_url)),
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
    // No code panics while it holds this lock.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
