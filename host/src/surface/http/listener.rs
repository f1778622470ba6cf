//! Connections: how many, how long their heads may take, and how little a client may read.

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

/// How long accepting rests when the process has no descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves connections, whose clients may keep it waiting for so long, until `closing`; then no more are accepted, and those that are open end with their next answer.
/// Returns when all have ended.
///
/// # Cancellation
/// When the future is dropped, no more connections are accepted, and those that are open go on.
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
        // Clients that go away are no event; of what they send, nothing is logged.
        tracing::debug!(%error, "a connection ended early");
    }
}
