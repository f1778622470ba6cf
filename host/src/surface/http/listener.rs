//! Accepts connections within bounds: their number, the time and size of request headers, and how long a write may
//! stall.

use axum::Router;
use codemode_spec::limits::{
    HTTP_CONNECTIONS_MAX, HTTP_HEAD_BYTES_MAX, HTTP_HEAD_MS_MAX, HTTP_HEADERS_MAX, HTTP_STALL_MS_MAX,
};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use std::{pin::pin, sync::Arc, time::Duration};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};
use tokio_io_timeout::TimeoutStream;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// The pause after a failed accept, such as when the process has no file descriptors left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves connections until `closing` is cancelled; then none are accepted any more, and open ones close after the
/// answer in progress. Returns when all are closed. `patience` bounds the time that a client may take to send its
/// headers or to read.
///
/// # Cancellation
/// When the future is dropped, no more connections are accepted, and open ones continue.
pub(super) async fn serve(listener: TcpListener, router: Router, patience: Duration, closing: &CancellationToken) {
    let places = Arc::new(Semaphore::new(HTTP_CONNECTIONS_MAX));
    let connections = TaskTracker::new();
    while let Some(Ok(place)) = closing.run_until_cancelled(Arc::clone(&places).acquire_owned()).await {
        let Some(accepted) = closing.run_until_cancelled(listener.accept()).await else { break };
        match accepted {
            Ok((stream, _)) => {
                let (router, closing) = (router.clone(), closing.clone());
                connections.spawn(async move {
                    serve_one(stream, router, patience, closing).await;
                    drop(place);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                closing.run_until_cancelled(tokio::time::sleep(ACCEPT_PAUSE)).await;
            }
        }
    }
    drop(listener);
    connections.close();
    connections.wait().await;
}

async fn serve_one(stream: TcpStream, router: Router, patience: Duration, closing: CancellationToken) {
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(patience.min(Duration::from_millis(HTTP_STALL_MS_MAX))));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(patience.min(Duration::from_millis(HTTP_HEAD_MS_MAX)))
        .max_headers(HTTP_HEADERS_MAX)
        .max_buf_size(HTTP_HEAD_BYTES_MAX)
        .serve_connection(TokioIo::new(Box::pin(stream)), TowerToHyperService::new(router));
    let mut connection = pin!(connection);
    let served = tokio::select! {
        served = &mut connection => served,
        () = closing.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = served {
        // Only at debug level: disconnecting clients are normal. Nothing of their messages is logged.
        tracing::debug!(%error, "a connection ended early");
    }
}
