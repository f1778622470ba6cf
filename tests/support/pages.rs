//! The site of the verbs' cases: the pages of `tests/site`, each of which is difficult in one way, the login of the
//! demo's site, and a few dynamic paths.
//!
//! It is served twice, as `{{site}}` and as `{{other}}`, in scripts and in pages: a page of one in a frame of the other
//! runs in a separate process. `{{closed}}` is a port that refuses connections. `http://NAME.{{foreign}}` is a program
//! of `tests/foreign`, which has `/mirror` as well.

use super::{foreign, root};
use axum::{
    Form, Router,
    body::{Body, Bytes},
    extract::{Path, Query, State},
    http::{HeaderMap, Method, StatusCode, Uri, header},
    response::{Html, IntoResponse as _, Response},
    routing::{any, get, post},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use codemode_host::site;
use futures::StreamExt as _;
use serde_json::json;
use std::{
    collections::HashMap,
    convert::Infallible,
    fmt::Write as _,
    fs,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::{
    net::{TcpListener, TcpSocket},
    sync::Semaphore,
};
use tokio_util::task::AbortOnDropHandle;

/// The size of `/download`.
const DOWNLOAD_BYTES: usize = 20 << 20;
/// The number of items that `/search` finds, and of items per page.
const THINGS: usize = 23;
const THINGS_PER_PAGE: usize = 10;
/// The minimum size of `/large`.
const LARGE_PAGE_BYTES: usize = 5 << 20;
/// The number of rows per answer of `/more`, and in total.
const MORE: usize = 20;
const ROWS: usize = 100;

/// The site on two ports, and the third-party programs on a third one. Dropping it stops all.
pub struct Pages {
    origins: Origins,
    /// Bound but not listening, so that no other server gets the port of `{{closed}}`.
    _closed: TcpSocket,
    _serving: [AbortOnDropHandle<()>; 3],
}

#[derive(Clone)]
struct Origins {
    site: String,
    other: String,
    closed: String,
    /// Host and port, to be appended to the name of a program.
    foreign: String,
    /// By name, a permit for each release of a held answer.
    released: Arc<Mutex<HashMap<String, Arc<Semaphore>>>>,
}

type Fields = HashMap<String, String>;

impl Pages {
    pub async fn serve() -> Self {
        let mut listeners = Vec::new();
        for _ in 0..3 {
            listeners.push(TcpListener::bind(("127.0.0.1", 0)).await.expect("a port"));
        }
        let [site, other, programs] = <[_; 3]>::try_from(listeners).expect("three ports");
        let port = |listener: &TcpListener| listener.local_addr().expect("an address").port();
        let closed = TcpSocket::new_v4().expect("a socket");
        closed.bind(([127, 0, 0, 1], 0).into()).expect("a port");
        let origins = Origins {
            site: format!("http://127.0.0.1:{}", port(&site)),
            other: format!("http://localhost:{}", port(&other)),
            closed: format!("http://{}", closed.local_addr().expect("an address")),
            foreign: format!("localhost:{}", port(&programs)),
            released: Arc::default(),
        };
        let router = router(origins.clone());
        let serve = |listener: TcpListener, router: Router| {
            let serving = tokio::spawn(async move { axum::serve(listener, router).await.expect("it serves") });
            AbortOnDropHandle::new(serving)
        };
        let serving = [
            serve(site, router.clone()),
            serve(other, router),
            serve(programs, foreign::router().route("/mirror", any(mirror))),
        ];
        Self { origins, _closed: closed, _serving: serving }
    }

    /// Replaces the placeholders in a text by the origins.
    pub fn place(&self, text: &str) -> String {
        self.origins.place(text)
    }
}

impl Origins {
    fn place(&self, text: &str) -> String {
        let places = [
            ("{{site}}", &self.site),
            ("{{other}}", &self.other),
            ("{{closed}}", &self.closed),
            ("{{foreign}}", &self.foreign),
        ];
        places.iter().fold(text.to_owned(), |text, (mark, origin)| text.replace(mark, origin))
    }

    fn gate(&self, name: &str) -> Arc<Semaphore> {
        let mut gates = self.released.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(gates.entry(name.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(0))))
    }

    /// Waits for a request of `/release/NAME`; each request releases one wait.
    async fn released(&self, name: &str) {
        self.gate(name).acquire().await.expect("gates stay open").forget();
    }
}

fn router(origins: Origins) -> Router {
    Router::new()
        .route("/hold/{name}", any(hold))
        .route("/half/{name}", get(half))
        .route("/release/{name}", any(release))
        .route("/status/{code}", any(status))
        .route("/redirect", any(redirect))
        .route("/around", any(|| async { (StatusCode::FOUND, [(header::LOCATION, "/around")]) }))
        .route("/mirror", any(mirror))
        .route("/attachment/{name}", get(attachment))
        .route("/octets", get(|| async { ([(header::CONTENT_TYPE, "application/octet-stream")], "octets") }))
        .route("/trickle/{name}", get(trickle))
        .route("/endless", get(endless))
        .route("/large", get(large))
        .route("/more", get(more))
        .route("/cookie", get(cookie))
        .route("/private", get(private))
        .route("/echo", any(|body: String| async { body }))
        .route("/things", get(things))
        .route("/search", get(search))
        .route("/order", get(order).post(order))
        .route("/uploaded", post(uploaded))
        .route("/download", get(download))
        .route("/{name}", get(page))
        .with_state(origins)
        .merge(site::router())
}

fn document(title: &str, body: &str) -> Html<String> {
    Html(format!("<!doctype html><meta charset=utf-8><title>{title}</title>\n{body}\n"))
}

/// A file of `tests/site`.
async fn page(State(origins): State<Origins>, Path(name): Path<String>) -> Response {
    // The name is one path segment, so it cannot leave the folder.
    match fs::read_to_string(root().join("tests/site").join(format!("{name}.html"))) {
        Ok(text) => Html(origins.place(&text)).into_response(),
        Err(_) => (StatusCode::NOT_FOUND, document("Not found", "<h1>Not found</h1>")).into_response(),
    }
}

/// Holds the answer until it is released.
async fn hold(State(origins): State<Origins>, Path(name): Path<String>) -> Html<String> {
    origins.released(&name).await;
    document(&format!("Held {name}"), &format!("<p id=held>{name}</p>"))
}

/// Sends half of a page at once, and the other half when it is released.
async fn half(State(origins): State<Origins>, Path(name): Path<String>) -> Response {
    let rest = async move {
        origins.released(&name).await;
        Ok::<_, Infallible>("<p id=rest>the rest</p>")
    };
    let begin =
        "<!doctype html><title>Half</title><button id=first onclick=\"this.textContent = 'clicked'\">first</button>";
    // Enough bytes for a browser to render the first half.
    let begin = format!("{begin}<!-- {} -->", " ".repeat(4_096));
    let parts =
        futures::stream::iter([Ok(begin.into())]).chain(futures::stream::once(rest).map(|part| part.map(Bytes::from)));
    ([(header::CONTENT_TYPE, "text/html")], Body::from_stream(parts)).into_response()
}

async fn release(State(origins): State<Origins>, Path(name): Path<String>) -> &'static str {
    origins.gate(&name).add_permits(1);
    "released"
}

async fn status(Path(code): Path<u16>) -> Response {
    let code = StatusCode::from_u16(code).expect("a status");
    if code == StatusCode::NO_CONTENT {
        return code.into_response();
    }
    (code, document(&format!("Status {}", code.as_u16()), "")).into_response()
}

async fn redirect(Query(query): Query<Fields>) -> Response {
    let code = query.get("code").map_or(StatusCode::FOUND, |code| code.parse().expect("a status"));
    (code, [(header::LOCATION, query["to"].clone())]).into_response()
}

/// Answers with the request: method, path, headers and body.
async fn mirror(method: Method, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let headers: HashMap<&str, String> =
        headers.iter().map(|(name, value)| (name.as_str(), String::from_utf8_lossy(value.as_bytes()).into())).collect();
    let told = json!({
        "method": method.as_str(), "path": uri.to_string(), "headers": headers, "body": String::from_utf8_lossy(&body),
    });
    ([(header::CONTENT_TYPE, "application/json")], told.to_string()).into_response()
}

/// A small attachment with this name.
async fn attachment(Path(name): Path<String>) -> Response {
    let disposition = format!("attachment; filename=\"{name}\"");
    ([(header::CONTENT_TYPE, "text/csv".to_owned()), (header::CONTENT_DISPOSITION, disposition)], "a,b\n1,2\n")
        .into_response()
}

/// A file whose second half is sent when it is released.
async fn trickle(State(origins): State<Origins>, Path(name): Path<String>) -> Response {
    let rest = async move {
        origins.released(&name).await;
        Ok::<_, Infallible>(Bytes::from_static(&[2; 1_000]))
    };
    let parts = futures::stream::iter([Ok(Bytes::from_static(&[1; 1_000]))]).chain(futures::stream::once(rest));
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"trickle.bin\""),
        (header::CONTENT_LENGTH, "2000"),
    ];
    (headers, Body::from_stream(parts)).into_response()
}

/// A body that does not end.
async fn endless() -> Response {
    let part = Ok::<_, Infallible>(Bytes::from_static(&[b'x'; 65_536]));
    Body::from_stream(futures::stream::repeat_with(move || part.clone())).into_response()
}

/// A page as large as some are, with a button at its end.
async fn large() -> Html<String> {
    let mut body = String::from("<h1>Large</h1><ol>");
    for row in 0.. {
        let _ = write!(body, "<li id=row{row}>Row {row} {}</li>", "of a page that is much too long ".repeat(40));
        if body.len() > LARGE_PAGE_BYTES {
            let _ = write!(body, "</ol><button onclick=\"this.textContent = 'clicked'\">last {row}</button>");
            break;
        }
    }
    document("Large", &body)
}

/// The next rows of a list that is loaded as it is scrolled.
async fn more(Query(query): Query<Fields>) -> Response {
    let from: usize = query.get("from").and_then(|from| from.parse().ok()).unwrap_or_default();
    let rows: Vec<String> = (from..ROWS.min(from + MORE)).map(|row| format!("Row {row}")).collect();
    ([(header::CONTENT_TYPE, "application/json")], json!(rows).to_string()).into_response()
}

async fn cookie(headers: HeaderMap) -> Response {
    let sent = headers.get(header::COOKIE).and_then(|cookies| cookies.to_str().ok()).unwrap_or("none").to_owned();
    ([(header::SET_COOKIE, "taste=sweet; Path=/; HttpOnly")], document("Cookie", &format!("<p>{sent}</p>")))
        .into_response()
}

/// Requires HTTP authentication.
async fn private(headers: HeaderMap) -> Response {
    let wanted = format!("Basic {}", STANDARD.encode(format!("{}:{}", site::USER, site::PASSWORD)));
    if headers.get(header::AUTHORIZATION).is_some_and(|given| given.as_bytes() == wanted.as_bytes()) {
        return document("Private", "<p>for ada</p>").into_response();
    }
    let ask = [(header::WWW_AUTHENTICATE, "Basic realm=\"private\"")];
    (StatusCode::UNAUTHORIZED, ask, document("Unauthorized", "")).into_response()
}

async fn things() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], r#"{"things":["lamp","chair"],"count":2}"#).into_response()
}

/// Items whose name contains `q`, in pages of ten.
async fn search(Query(query): Query<Fields>) -> Html<String> {
    let wanted = query.get("q").map_or("", String::as_str);
    let page: usize = query.get("page").and_then(|page| page.parse().ok()).unwrap_or(1);
    let kinds = ["lamp", "chair"];
    let all: Vec<_> = (1..=2 * THINGS).map(|n| (format!("{} {n}", kinds[n % 2]), n * 5)).collect();
    let found: Vec<_> = all.iter().filter(|(name, _)| !wanted.is_empty() && name.contains(wanted)).collect();
    let mut body = format!(
        "<form><label>Search <input name=q value=\"{wanted}\"></label><button>Go</button></form>\n\
         <p id=count>{} found</p><table><thead><tr><th>Name<th>Price</thead><tbody>",
        found.len()
    );
    for (name, price) in found.iter().skip((page - 1) * THINGS_PER_PAGE).take(THINGS_PER_PAGE) {
        let _ = writeln!(body, "<tr><td><a href=\"/thing\">{name}</a><td>{price}.00");
    }
    body.push_str("</tbody></table>");
    if found.len() > page * THINGS_PER_PAGE {
        let _ = write!(body, "<a rel=next href=\"/search?q={wanted}&page={}\">Next page</a>", page + 1);
    }
    document("Search", &body)
}

/// A form on two pages, each validated before the next one.
async fn order(Form(fields): Form<Fields>) -> Html<String> {
    let field = |name: &str| fields.get(name).map_or("", |value| value.trim());
    let input = |name: &str, label: &str, fault: Option<&str>| {
        let fault = fault.map(|fault| format!("<p class=error role=alert>{label}: {fault}</p>")).unwrap_or_default();
        format!("{fault}<label>{label} <input name={name} value=\"{}\"></label>\n", field(name))
    };
    let kept = |name: &str| format!("<input type=hidden name={name} value=\"{}\">", field(name));
    let unless = |is_right: bool, fault: &'static str| Some(fault).filter(|_| !is_right);
    let form = |fields: &[String], button: &str| {
        format!("<form method=post action=/order>{}<button>{button}</button></form>", fields.concat())
    };
    let step = field("step");
    let name = unless(!field("name").is_empty(), "must be given").filter(|_| !step.is_empty());
    let count = field("count").parse::<u32>().is_ok_and(|count| (1..=9).contains(&count));
    let count = unless(count, "must be 1 to 9").filter(|_| !step.is_empty());
    if step.is_empty() || name.is_some() || count.is_some() {
        let hidden = "<input type=hidden name=step value=goods>".to_owned();
        let fields = [hidden, input("name", "Name", name), input("count", "Count", count)];
        return document("Order: goods", &form(&fields, "Continue"));
    }
    let zip = field("zip").len() == 5 && field("zip").bytes().all(|digit| digit.is_ascii_digit());
    let zip = unless(zip, "must have five digits").filter(|_| step == "address");
    let accepts = unless(field("terms") == "on", "must be accepted").filter(|_| step == "address");
    if step == "goods" || zip.is_some() || accepts.is_some() {
        let hidden = "<input type=hidden name=step value=address>".to_owned();
        let terms = accepts.map(|fault| format!("<p class=error role=alert>Terms: {fault}</p>")).unwrap_or_default()
            + "<label><input type=checkbox name=terms> Terms</label>";
        let fields = [hidden, kept("name"), kept("count"), input("zip", "Zip", zip), terms];
        return document("Order: address", &form(&fields, "Order"));
    }
    let told = format!("<p id=told>{} of {} to {}</p>", field("count"), field("name"), field("zip"));
    document("Order: done", &told)
}

/// Name, type, size and checksum of each file of a form.
async fn uploaded(headers: HeaderMap, body: Bytes) -> Html<String> {
    let kind = headers[header::CONTENT_TYPE].to_str().expect("a text");
    let (_, boundary) = kind.split_once("boundary=").expect("a form with files");
    let mut list = String::from("<ul>");
    for part in parts(&body, format!("--{boundary}").as_bytes()) {
        let Some(end) = find(part, b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&part[..end]);
        let Some((_, name)) = head.split_once("filename=\"") else { continue };
        let name = name.split('"').next().unwrap_or_default();
        let kind = head.lines().find_map(|line| line.strip_prefix("Content-Type: ")).unwrap_or_default();
        // The line break before the next boundary is not part of the file.
        let bytes = part[end + 4..].strip_suffix(b"\r\n").expect("a line's end");
        let sum = &blake3::hash(bytes).to_hex()[..16];
        let _ = write!(list, "<li>{name} {kind} {} {sum}</li>", bytes.len());
    }
    document("Uploaded", &(list + "</ul>"))
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

fn parts<'b>(mut body: &'b [u8], boundary: &[u8]) -> Vec<&'b [u8]> {
    let mut parts = Vec::new();
    while let Some(at) = find(body, boundary) {
        parts.push(&body[..at]);
        body = &body[at + boundary.len()..];
    }
    parts
}

async fn download() -> Response {
    let bytes: Vec<u8> = (0..DOWNLOAD_BYTES).map(|index| (index % 251) as u8).collect();
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"twenty.bin\""),
    ];
    (headers, bytes).into_response()
}
