//! A service that is being made ready while others already wait for it.

use super::Service;
use crate::config::Config;
use codemode_spec::{ErrorCode, ErrorReport};
use tokio::sync::{OnceCell, watch};

/// Opens a service once, at its first use or before. A failed opening is tried again by whoever comes next.
pub struct Warming {
    config: Config,
    service: OnceCell<Service>,
    progress: watch::Sender<String>,
}

impl Warming {
    /// Opens nothing yet.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self { config, service: OnceCell::new(), progress: watch::Sender::default() }
    }

    /// The service, as soon as it is ready. What is done until then is told to `progress`.
    ///
    /// # Errors
    /// `NOT_READY` when it cannot be opened.
    ///
    /// # Cancellation
    /// May be dropped at any time; an opening that has begun goes on.
    pub async fn service(&self, progress: impl Fn(&str)) -> Result<&Service, ErrorReport> {
        let mut told = self.progress.subscribe();
        // Whoever comes in the middle learns what is going on.
        if !told.borrow().is_empty() {
            told.mark_changed();
        }
        let opening = self.service.get_or_try_init(|| self.open());
        tokio::pin!(opening);
        loop {
            tokio::select! {
                biased;
                service = &mut opening => return service,
                Ok(()) = told.changed() => progress(&told.borrow_and_update()),
            }
        }
    }

    async fn open(&self) -> Result<Service, ErrorReport> {
        let (config, progress) = (self.config.clone(), self.progress.clone());
        let open = move || Service::open(&config, &|text| drop(progress.send_replace(text.to_owned())));
        tokio::task::spawn_blocking(open).await.unwrap_or_else(|error| {
            tracing::error!(%error, "opening the service panicked");
            Err(ErrorReport::new(ErrorCode::HostFault, "the sandbox could not be prepared"))
        })
    }
}
