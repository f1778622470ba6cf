//! A handler for each route. Each calls one method of the service.

use super::{
    document::{Answer, Bearer, Refusal, Refusals},
    params::{AuditParams, ExecutionsParams, Named, NoParams, SessionsParams, StrictQuery, VerifyParams, ViewParams},
};
use crate::{
    service::{
        self, AuditShown, ExecutionDump, ExecutionShown, ExecutionTraced, ExecutionsListed, FilesListed, LeasesListed,
        LoginRemoved, LoginsListed, PageView, SecretRemoved, SecretsListed, Service, SessionClosed, SessionRevoked,
        SessionShown, SessionsListed, SessionsSwept, Verdict,
    },
    surface::http::guard::{enveloped, json, not_for_this_method},
};
use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    http::{
        StatusCode,
        header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS},
    },
    response::{IntoResponse as _, Response},
    routing::{delete, get, post},
};
use codemode_spec::{
    ErrorCode, ErrorReport,
    limits::{ADMIN_FILES_SENT_MAX, HTTP_BODY_MS_MAX, KIB},
};
use serde::Serialize;
use std::{
    convert::Infallible,
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::{sync::Semaphore, time::timeout};
use tokio_util::sync::CancellationToken;
use utoipa::OpenApi;

/// The size of the chunks in which a file is sent.
const PIECE_BYTES: usize = 64 * KIB;

/// The state of the handlers.
#[derive(Clone)]
pub(super) struct Admin {
    service: Service,
    /// Cancelled when the host stops.
    closing: CancellationToken,
    /// Permits that bound the number of files being sent, and so the memory for them.
    files: Arc<Semaphore>,
}

/// Generates the router and the OpenAPI document from one list, so that they cannot differ.
macro_rules! routes {
    ($($method:ident $path:literal $handler:ident,)+) => {
        /// All routes.
        pub(super) fn router(service: Service, closing: CancellationToken) -> Router {
            let files = Arc::new(Semaphore::new(ADMIN_FILES_SENT_MAX));
            Router::new()
                $(.route($path, $method($handler)))+
                .method_not_allowed_fallback(async || not_for_this_method())
                .with_state(Admin { service, closing, files })
        }

        #[derive(OpenApi)]
        #[openapi(
            info(title = "codemode administration", description = "What the command line administers, as JSON."),
            paths($($handler),+),
            // The derive finds the schemas of data by itself, but those of error answers only through this.
            components(schemas(Refusal)),
            modifiers(&Bearer),
            security((), ("token" = []))
        )]
        struct Document;

        #[cfg(test)]
        const ROUTES: &[(&str, &str)] = &[$((stringify!($method), $path)),+];
    };
}

routes! {
    get "/admin/v1/sessions" sessions_list,
    get "/admin/v1/sessions/{name}" sessions_show,
    post "/admin/v1/sessions/{name}/close" sessions_close,
    post "/admin/v1/sessions/{name}/revoke" sessions_revoke,
    post "/admin/v1/sweep" sessions_sweep,
    get "/admin/v1/leases" leases_list,
    get "/admin/v1/executions" executions_list,
    get "/admin/v1/executions/{execution}" executions_show,
    get "/admin/v1/executions/{execution}/dump" executions_dump,
    get "/admin/v1/executions/{execution}/trace" executions_trace,
    get "/admin/v1/executions/{execution}/view" executions_view,
    get "/admin/v1/executions/{execution}/files" files_list,
    get "/admin/v1/executions/{execution}/files/{file}" files_get,
    get "/admin/v1/audit" audit_show,
    get "/admin/v1/audit/verify" audit_verify,
    get "/admin/v1/logins" logins_list,
    delete "/admin/v1/logins/{key}/{name}" logins_remove,
    get "/admin/v1/secrets" secrets_list,
    delete "/admin/v1/secrets/{name}" secrets_remove,
    get "/admin/v1/openapi.json" openapi,
}

/// Runs an operation and answers with its envelope.
async fn answered<T: Serialize>(command: &str, work: impl Future<Output = Result<T, ErrorReport>>) -> Response {
    let began = Instant::now();
    let outcome = work.await;
    enveloped(&service::answer(command, outcome, began.elapsed()))
}

/// Like [`answered`], but the operation runs to its end even if the client disconnects.
async fn carried_out<T: Serialize + Send + 'static>(
    command: &str,
    work: impl Future<Output = Result<T, ErrorReport>> + Send + 'static,
) -> Response {
    let lost = |_| Err(ErrorReport::new(ErrorCode::HostFault, "a part of the host failed"));
    answered(command, async { tokio::spawn(work).await.unwrap_or_else(lost) }).await
}

/// Lists the live sessions.
#[utoipa::path(get, path = "/admin/v1/sessions", tag = "sessions", params(SessionsParams),
    responses((status = 200, body = Answer<SessionsListed>, description = "The sessions"), Refusals))]
async fn sessions_list(State(admin): State<Admin>, StrictQuery(params): StrictQuery<SessionsParams>) -> Response {
    answered("sessions list", admin.service.sessions_list(params.ended)).await
}

/// Shows one session, by its id or its key.
#[utoipa::path(get, path = "/admin/v1/sessions/{name}", tag = "sessions",
    params(("name" = String, Path, description = "The session's id, or its key")),
    responses((status = 200, body = Answer<SessionShown>, description = "The session"), Refusals))]
async fn sessions_show(
    State(admin): State<Admin>,
    Named(name): Named<String>,
    StrictQuery(NoParams {}): StrictQuery<NoParams>,
) -> Response {
    answered("sessions show", admin.service.sessions_show(&name)).await
}

/// Ends a session with its browser, and deletes the profile of its key, even while an execution uses it.
#[utoipa::path(post, path = "/admin/v1/sessions/{name}/close", tag = "sessions",
    params(("name" = String, Path, description = "The session's id, or its key")),
    responses((status = 200, body = Answer<SessionClosed>, description = "It has ended"), Refusals))]
async fn sessions_close(
    State(admin): State<Admin>,
    Named(name): Named<String>,
    StrictQuery(NoParams {}): StrictQuery<NoParams>,
) -> Response {
    carried_out("sessions close", async move { admin.service.sessions_close(&name).await }).await
}

/// Revokes the lease of the execution that uses a session; a shared browser keeps running.
#[utoipa::path(post, path = "/admin/v1/sessions/{name}/revoke", tag = "sessions",
    params(("name" = String, Path, description = "The session's id, or its key")),
    responses((status = 200, body = Answer<SessionRevoked>, description = "Who had it"), Refusals))]
async fn sessions_revoke(
    State(admin): State<Admin>,
    Named(name): Named<String>,
    StrictQuery(NoParams {}): StrictQuery<NoParams>,
) -> Response {
    carried_out("sessions revoke", async move { admin.service.sessions_revoke(&name).await }).await
}

/// Ends sessions that no execution can use any more, and cleans up after hosts that died.
#[utoipa::path(post, path = "/admin/v1/sweep", tag = "sessions",
    responses((status = 200, body = Answer<SessionsSwept>, description = "What went"), Refusals))]
async fn sessions_sweep(State(admin): State<Admin>, StrictQuery(NoParams {}): StrictQuery<NoParams>) -> Response {
    carried_out("sessions sweep", async move { admin.service.sessions_sweep().await }).await
}

/// Lists the leases that are held, with their holders.
#[utoipa::path(get, path = "/admin/v1/leases", tag = "sessions",
    responses((status = 200, body = Answer<LeasesListed>, description = "The leases"), Refusals))]
async fn leases_list(State(admin): State<Admin>, StrictQuery(NoParams {}): StrictQuery<NoParams>) -> Response {
    answered("leases list", admin.service.leases_list()).await
}

/// Lists executions that are running or in the audit, latest start first.
#[utoipa::path(get, path = "/admin/v1/executions", tag = "executions", params(ExecutionsParams),
    responses((status = 200, body = Answer<ExecutionsListed>, description = "The executions"), Refusals))]
async fn executions_list(State(admin): State<Admin>, StrictQuery(params): StrictQuery<ExecutionsParams>) -> Response {
    let work = async { admin.service.executions_list(params.try_into()?).await };
    answered("executions list", work).await
}

/// Shows one execution, with its audit rows and its files.
#[utoipa::path(get, path = "/admin/v1/executions/{execution}", tag = "executions",
    params(("execution" = String, Path, description = "As context.execution_id of its answer")),
    responses((status = 200, body = Answer<ExecutionShown>, description = "The execution"), Refusals))]
async fn executions_show(
    State(admin): State<Admin>,
    Named(execution): Named<String>,
    StrictQuery(NoParams {}): StrictQuery<NoParams>,
) -> Response {
    answered("executions show", admin.service.executions_show(&execution)).await
}

/// Dumps what a bug report needs of an execution, without scripts, results, paths and keys.
#[utoipa::path(get, path = "/admin/v1/executions/{execution}/dump", tag = "executions",
    params(("execution" = String, Path, description = "As context.execution_id of its answer")),
    responses((status = 200, body = Answer<ExecutionDump>, description = "The dump"), Refusals))]
async fn executions_dump(
    State(admin): State<Admin>,
    Named(execution): Named<String>,
    StrictQuery(NoParams {}): StrictQuery<NoParams>,
) -> Response {
    answered("debug dump", admin.service.dump_execution(&execution)).await
}

/// Shows the script, calls and console lines of an execution of this host, while it runs and for a while afterwards.
/// They are held only in memory.
#[utoipa::path(get, path = "/admin/v1/executions/{execution}/trace", tag = "executions",
    params(("execution" = String, Path, description = "As context.execution_id of its answer")),
    responses((status = 200, body = Answer<ExecutionTraced>, description = "The trace"), Refusals))]
async fn executions_trace(
    State(admin): State<Admin>,
    Named(execution): Named<String>,
    StrictQuery(NoParams {}): StrictQuery<NoParams>,
) -> Response {
    answered("executions trace", async { Ok(admin.service.executions_trace(&execution)) }).await
}

/// Shows the page of an execution that this host is running. Answers when there is a picture newer than `after`, or
/// after ten seconds; not while the host stops. Viewing does not affect the page.
#[utoipa::path(get, path = "/admin/v1/executions/{execution}/view", tag = "executions",
    params(("execution" = String, Path, description = "As context.execution_id of its answer"), ViewParams),
    responses((status = 200, body = Answer<PageView>, description = "The page"), Refusals))]
async fn executions_view(
    State(admin): State<Admin>,
    Named(execution): Named<String>,
    StrictQuery(params): StrictQuery<ViewParams>,
) -> Response {
    // Not while the host stops: it would wait for this answer.
    let view = admin.closing.run_until_cancelled(admin.service.executions_view(&execution, params.after));
    let stopping = || Err(ErrorReport::new(ErrorCode::NotReady, "the host is stopping"));
    answered("executions view", async { view.await.unwrap_or_else(stopping) }).await
}

/// Lists the stored files of an execution's answer.
#[utoipa::path(get, path = "/admin/v1/executions/{execution}/files", tag = "files",
    params(("execution" = String, Path, description = "As context.execution_id of its answer")),
    responses((status = 200, body = Answer<FilesListed>, description = "The files"), Refusals))]
async fn files_list(
    State(admin): State<Admin>,
    Named(execution): Named<String>,
    StrictQuery(NoParams {}): StrictQuery<NoParams>,
) -> Response {
    answered("files list", admin.service.files_list(&execution)).await
}

/// Downloads one file.
#[utoipa::path(get, path = "/admin/v1/executions/{execution}/files/{file}", tag = "files",
    params(
        ("execution" = String, Path, description = "As context.execution_id of its answer"),
        ("file" = String, Path, description = "Its name, as the list has it"),
    ),
    responses((status = 200, body = Vec<u8>, content_type = "application/octet-stream", description = "The bytes"), Refusals))]
async fn files_get(
    State(admin): State<Admin>,
    Named((execution, file)): Named<(String, String)>,
    StrictQuery(NoParams {}): StrictQuery<NoParams>,
) -> Response {
    let Ok(Ok(place)) = timeout(Duration::from_millis(HTTP_BODY_MS_MAX), admin.files.acquire_owned()).await else {
        let error = ErrorReport::new(ErrorCode::CapacityExceeded, "too many files are being sent");
        return answered::<()>("files get", async { Err(error.with_hint("Ask again when those have been read.")) })
            .await;
    };
    let bytes = match admin.service.file(&execution, &file).await {
        Ok(bytes) => Bytes::from(bytes),
        Err(error) => return answered::<()>("files get", async { Err(error) }).await,
    };
    let length = bytes.len();
    let pieces = (0..length).step_by(PIECE_BYTES).map(move |start| {
        // The permit is released with the last chunk.
        let _ = &place;
        Ok::<_, Infallible>(bytes.slice(start..length.min(start + PIECE_BYTES)))
    });
    // The content may come from a page: no browser may render it with this host's origin.
    let headers = [
        (CONTENT_TYPE, "application/octet-stream".to_owned()),
        (CONTENT_LENGTH, length.to_string()),
        (CONTENT_DISPOSITION, format!("attachment; filename=\"{file}\"")),
        (X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
        (CACHE_CONTROL, "no-store".to_owned()),
    ];
    (headers, Body::from_stream(futures::stream::iter(pieces))).into_response()
}

/// Lists audit rows, oldest first.
#[utoipa::path(get, path = "/admin/v1/audit", tag = "audit", params(AuditParams),
    responses((status = 200, body = Answer<AuditShown>, description = "Rows of the audit"), Refusals))]
async fn audit_show(State(admin): State<Admin>, StrictQuery(params): StrictQuery<AuditParams>) -> Response {
    answered("audit show", async { admin.service.audit_show(params.try_into()?).await }).await
}

/// Verifies that no audit row was edited, removed or moved.
#[utoipa::path(get, path = "/admin/v1/audit/verify", tag = "audit", params(VerifyParams),
    responses((status = 200, body = Answer<Verdict>, description = "It is what was written"), Refusals))]
async fn audit_verify(State(admin): State<Admin>, StrictQuery(params): StrictQuery<VerifyParams>) -> Response {
    answered("audit verify", async { admin.service.audit_verify(params.known()?).await }).await
}

/// Lists the saved login states, with their session keys.
#[utoipa::path(get, path = "/admin/v1/logins", tag = "logins",
    responses((status = 200, body = Answer<LoginsListed>, description = "The login states"), Refusals))]
async fn logins_list(State(admin): State<Admin>, StrictQuery(NoParams {}): StrictQuery<NoParams>) -> Response {
    answered("logins list", admin.service.logins_list()).await
}

/// Removes a saved login state.
#[utoipa::path(delete, path = "/admin/v1/logins/{key}/{name}", tag = "logins",
    params(
        ("key" = String, Path, description = "The session key that it belongs to"),
        ("name" = String, Path, description = "Its name"),
    ),
    responses((status = 200, body = Answer<LoginRemoved>, description = "It is removed"), Refusals))]
async fn logins_remove(
    State(admin): State<Admin>,
    Named((key, name)): Named<(String, String)>,
    StrictQuery(NoParams {}): StrictQuery<NoParams>,
) -> Response {
    carried_out("logins remove", async move { admin.service.logins_remove(&name, &key).await }).await
}

/// Lists the secrets, with their origins.
#[utoipa::path(get, path = "/admin/v1/secrets", tag = "secrets",
    responses((status = 200, body = Answer<SecretsListed>, description = "The secrets"), Refusals))]
async fn secrets_list(State(admin): State<Admin>, StrictQuery(NoParams {}): StrictQuery<NoParams>) -> Response {
    answered("secrets list", admin.service.secrets_list()).await
}

/// Removes a secret.
#[utoipa::path(delete, path = "/admin/v1/secrets/{name}", tag = "secrets",
    params(("name" = String, Path, description = "Its name")),
    responses((status = 200, body = Answer<SecretRemoved>, description = "It is removed"), Refusals))]
async fn secrets_remove(
    State(admin): State<Admin>,
    Named(name): Named<String>,
    StrictQuery(NoParams {}): StrictQuery<NoParams>,
) -> Response {
    carried_out("secrets remove", async move { admin.service.secrets_remove(&name).await }).await
}

/// Returns this document.
#[utoipa::path(get, path = "/admin/v1/openapi.json", tag = "document",
    responses((status = 200, body = serde_json::Value, description = "OpenAPI 3.1"), Refusals))]
async fn openapi(StrictQuery(NoParams {}): StrictQuery<NoParams>) -> Response {
    json(StatusCode::OK, &Document::openapi())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_document_has_every_route_and_no_other() {
        let document = serde_json::to_value(Document::openapi()).unwrap();
        assert!(document["openapi"].as_str().unwrap().starts_with("3.1."), "{}", document["openapi"]);
        let paths = document["paths"].as_object().unwrap();
        let told: BTreeSet<_> = paths
            .iter()
            .flat_map(|(path, item)| {
                item.as_object().unwrap().keys().map(move |method| (method.as_str(), path.as_str()))
            })
            .collect();
        assert_eq!(told, ROUTES.iter().copied().collect());
        for (path, item) in paths {
            for (method, operation) in item.as_object().unwrap() {
                let word = operation["summary"].as_str().or(operation["description"].as_str());
                assert!(word.is_some_and(|word| word.ends_with('.')), "{method} {path}: {operation}");
            }
        }
    }
}
