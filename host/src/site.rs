//! A small web site for the demo and the tests: a login with a session cookie, and pages that each have one difficulty.
//! The pages' files are in `host/demo`.

use axum::{
    Form, Router,
    extract::{Query, State},
    http::{HeaderMap, StatusCode, header},
    response::{Html, IntoResponse, Redirect, Response},
    routing::{get, post},
};
use base64::{Engine as _, prelude::BASE64_STANDARD as STANDARD};
use serde::Deserialize;
use std::{fmt::Write as _, io, sync::Arc, time::Duration};
use tokio::{net::TcpListener, task::JoinHandle};

/// The only user who can log in.
pub const USER: &str = "ada";
/// The password of [`USER`].
pub const PASSWORD: &str = "lovelace";

const LOGIN: &str = include_str!("../demo/login.html");
const ACCOUNT: &str = include_str!("../demo/account.html");
const DIALOG: &str = include_str!("../demo/dialog.html");
const STYLE: &str = include_str!("../demo/style.css");
/// The longest delay of `/slow`, in milliseconds.
const SLOW_MS_MAX: u64 = 60_000;
/// The largest number of items on `/big`.
const BIG_ITEMS_MAX: usize = 100_000;

/// The running site, on a port of this machine. Dropping it stops the server.
#[derive(Debug)]
pub struct Site {
    url: String,
    server: JoinHandle<()>,
}

impl Site {
    /// The base URL, such as `http://127.0.0.1:40123`.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// Serves the site on a free port of the loopback interface.
///
/// # Errors
/// When no port can be bound.
pub async fn serve() -> io::Result<Site> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let url = format!("http://{}", listener.local_addr()?);
    let server = tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, router()).await {
            tracing::error!(%error, "the demo site ended");
        }
    });
    Ok(Site { url, server })
}

/// The expected value of the session cookie; each site has a random one.
type Session = Arc<str>;

/// The routes of the site.
pub fn router() -> Router {
    let session: Session = format!("{:032x}", rand::random::<u128>()).into();
    Router::new()
        .route("/", get(Redirect::to("/account")))
        .route("/login", get(login_page).post(login))
        .route("/logout", post(logout))
        .route("/account", get(account))
        .route("/invoices", get(invoices))
        .route("/slow", get(slow))
        .route("/dialog", get(Html(DIALOG)))
        .route("/big", get(big))
        .route("/style.css", get(([(header::CONTENT_TYPE, "text/css")], STYLE)))
        .with_state(session)
}

#[derive(Deserialize)]
struct Credentials {
    user: String,
    password: String,
}

async fn login_page() -> Html<String> {
    Html(LOGIN.replace("{{message}}", ""))
}

async fn login(State(session): State<Session>, Form(credentials): Form<Credentials>) -> Response {
    if credentials.user != USER || credentials.password != PASSWORD {
        let message = r#"<p class="error" id="error">User and password do not match.</p>"#;
        return (StatusCode::UNAUTHORIZED, Html(LOGIN.replace("{{message}}", message))).into_response();
    }
    let cookie = format!("session={session}; HttpOnly; SameSite=Lax; Path=/");
    ([(header::SET_COOKIE, cookie)], Redirect::to("/account")).into_response()
}

async fn logout() -> Response {
    ([(header::SET_COOKIE, "session=; Max-Age=0; Path=/")], Redirect::to("/login")).into_response()
}

async fn account(State(session): State<Session>, headers: HeaderMap) -> Response {
    let cookies = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    let logged_in = cookies
        .flat_map(|cookies| cookies.split(';'))
        .filter_map(|cookie| cookie.trim().strip_prefix("session="))
        .any(|value| value == &*session);
    if !logged_in {
        return Redirect::to("/login").into_response();
    }
    Html(ACCOUNT.replace("{{user}}", USER)).into_response()
}

/// A page behind HTTP authentication, whose credentials the browser itself sends.
async fn invoices(headers: HeaderMap) -> Response {
    let expected = format!("Basic {}", STANDARD.encode(format!("{USER}:{PASSWORD}")));
    if headers.get(header::AUTHORIZATION).is_some_and(|given| *given == *expected) {
        return Html(format!("<!doctype html><title>Invoices</title><p>Invoices of {USER}</p>")).into_response();
    }
    let asks = [(header::WWW_AUTHENTICATE, "Basic realm=\"invoices\"")];
    (StatusCode::UNAUTHORIZED, asks, Html("<!doctype html><title>Unauthorized</title>")).into_response()
}

#[derive(Deserialize)]
struct Slow {
    #[serde(default)]
    ms: u64,
}

async fn slow(Query(Slow { ms }): Query<Slow>) -> Html<String> {
    let ms = ms.min(SLOW_MS_MAX);
    tokio::time::sleep(Duration::from_millis(ms)).await;
    Html(format!("<!doctype html><title>Slow</title><p id=\"took\">{ms}</p>"))
}

#[derive(Deserialize)]
struct Big {
    #[serde(default = "Big::items")]
    items: usize,
}

impl Big {
    fn items() -> usize {
        1_000
    }
}

async fn big(Query(Big { items }): Query<Big>) -> Html<String> {
    let mut page = String::from("<!doctype html><title>Big</title><ol>\n");
    for item in 0..items.min(BIG_ITEMS_MAX) {
        // Writing to a string cannot fail.
        let _ = writeln!(page, "<li id=\"item-{item}\">Item {item} of a long list</li>");
    }
    page.push_str("</ol>\n");
    Html(page)
}
