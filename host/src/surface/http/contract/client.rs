//! Reads the caller, the session key and the fields of a request.

use super::{failure::Failure, fields::Fields};
use crate::service::Caller;
use axum::{
    body::to_bytes,
    extract::{Query, Request},
};
use codemode_spec::limits::HTTP_BODY_BYTES_MAX;
use serde_json::Value as Json;
use std::{collections::HashMap, sync::Arc};

/// The header with a session key, for a browser other than the caller's default one.
const SESSION: &str = "x-codemode-session";

/// A client of a contract: a caller and the session key of its browser.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    /// The authenticated caller.
    pub(crate) caller: Arc<Caller>,
    /// The session key.
    pub(crate) key: String,
}

/// Reads a request: its client, and its fields from the body, or from the query if there is no body. `contract` is the
/// default session key, or its prefix if the caller has a name.
pub(crate) async fn read_request(request: Request, contract: &str) -> Result<(Client, Fields), Failure> {
    let (mut parts, body) = request.into_parts();
    let caller = parts.extensions.remove::<Arc<Caller>>().unwrap_or_default();
    let named = parts.headers.get(SESSION).map(|key| String::from_utf8_lossy(key.as_bytes()).into_owned());
    let key = named.unwrap_or_else(|| match caller.name.as_str() {
        "" => contract.to_owned(),
        name => format!("{contract}.{name}"),
    });
    let bytes = to_bytes(body, HTTP_BODY_BYTES_MAX).await.unwrap_or_default();
    let fields = if bytes.trim_ascii().is_empty() {
        let query = Query::<HashMap<String, String>>::try_from_uri(&parts.uri).unwrap_or_default();
        query.0.into_iter().map(|(name, value)| (name, Json::String(value))).collect()
    } else {
        match serde_json::from_slice(&bytes) {
            Ok(Json::Object(fields)) => fields,
            _ => return Err(Failure::bad("the body must be a JSON object")),
        }
    };
    Ok((Client { caller, key }, Fields(fields)))
}
