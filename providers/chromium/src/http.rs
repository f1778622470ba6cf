//! HTTP GET requests to an endpoint, for the few documents that a browser serves besides its WebSocket.

use crate::{
    reach::{shown, unreachable},
    stream::Stream,
};
use codemode_spec::{ErrorCode, ErrorReport, limits::CDP_WEB_MESSAGE_BYTES_MAX};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::{
    HeaderMap, Request, StatusCode,
    body::Bytes,
    client::conn::http1,
    header::{HOST, HeaderName, HeaderValue},
};
use hyper_util::rt::TokioIo;
use std::time::Duration;
use url::{Position, Url};

/// Fetches a document. A status other than 200 is an error.
pub(crate) async fn get(url: &Url, headers: &[(String, String)], timeout: Duration) -> Result<Bytes, ErrorReport> {
    tokio::time::timeout(timeout, fetch(url, headers))
        .await
        .unwrap_or_else(|_| Err(unreachable(url, &format!("there was no answer within {} ms", timeout.as_millis()))))
}

async fn fetch(url: &Url, headers: &[(String, String)]) -> Result<Bytes, ErrorReport> {
    let stream = Stream::connect(url).await?;
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(|error| unreachable(url, &error))?;
    let mut request = Request::new(Empty::<Bytes>::new());
    *request.uri_mut() = url[Position::BeforePath..].parse().map_err(|error| unreachable(url, &error))?;
    *request.headers_mut() = header_map(headers)?;
    // With the port: browsers build the WebSocket's address from this header.
    let host = HeaderValue::from_str(&url[Position::BeforeHost..Position::AfterPort])
        .map_err(|error| unreachable(url, &error))?;
    request.headers_mut().insert(HOST, host);
    let exchange = async {
        let response = sender.send_request(request).await.map_err(|error| unreachable(url, &error))?;
        let status = response.status();
        let body = Limited::new(response.into_body(), CDP_WEB_MESSAGE_BYTES_MAX).collect();
        let body = body.await.map_err(|error| unreachable(url, &error))?.to_bytes();
        if status == StatusCode::OK { Ok(body) } else { Err(refused(url, status, &body)) }
    };
    // The connection is driven here and not in a separate task, so that nothing continues when this future is dropped.
    let mut exchange = std::pin::pin!(exchange);
    tokio::select! {
        answer = &mut exchange => answer,
        // The connection may end before the exchange has processed everything that was read.
        _ = connection => exchange.await,
    }
}

fn refused(url: &Url, status: StatusCode, body: &[u8]) -> ErrorReport {
    let report = ErrorReport::new(ErrorCode::CdpConnectionFailed, format!("{} answered {status}", shown(url)))
        .with_detail("status", status.as_u16());
    if String::from_utf8_lossy(body).contains("Host header") {
        return report.with_hint(
            "Chromium answers only to an IP address or localhost: write the endpoint with its IP address instead of a name.",
        );
    }
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            report.with_hint("The endpoint asks for credentials: pass them as a header.")
        }
        StatusCode::NOT_FOUND => {
            report.with_hint("The endpoint does not serve this: give its WebSocket address (ws:// or wss://) instead.")
        }
        _ => report,
    }
}

/// Validates the headers of an endpoint.
pub(crate) fn header_map(headers: &[(String, String)]) -> Result<HeaderMap, ErrorReport> {
    let mut map = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        // The message never contains the value, which is likely a secret.
        let wrong = |what| {
            ErrorReport::new(ErrorCode::InvalidArgument, format!("the header {name:?} has {what}"))
                .with_hint("Write a header as `Name: value`, in ASCII and on one line.")
        };
        let header = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong("no valid name"))?;
        let mut value = HeaderValue::from_str(value).map_err(|_| wrong("a value that cannot be sent"))?;
        value.set_sensitive(true);
        map.append(header, value);
    }
    Ok(map)
}
