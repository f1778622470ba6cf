//! The demo's site.

use codemode_host::site;
use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
};

/// Sends a request with these headers and this body; returns the answer.
fn ask(url: &str, request: &str, headers: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap();
    let length = body.len();
    let lines = format!(
        "{request} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/x-www-form-urlencoded\r\n\
         Content-Length: {length}\r\n{headers}\r\n{body}"
    );
    stream.write_all(lines.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.to_lowercase()
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_logged_in_user_sees_the_account() {
    let site = site::serve().await.unwrap();
    let other = site::serve().await.unwrap();
    let ask = |request, headers: &str, body| tokio::task::block_in_place(|| ask(site.url(), request, headers, body));

    assert!(ask("GET /account", "", "").contains("\r\nlocation: /login\r\n"));
    let refused = ask("POST /login", "", "user=ada&password=byron");
    assert!(refused.starts_with("http/1.1 401 ") && !refused.contains("set-cookie"), "{refused}");
    let accepted = ask("POST /login", "", "user=ada&password=lovelace");
    assert!(accepted.contains("\r\nlocation: /account\r\n") && accepted.contains("; httponly;"), "{accepted}");
    let cookie = accepted.split("set-cookie: ").nth(1).unwrap().split(';').next().unwrap();
    let cookie = format!("Cookie: theme=dark; {cookie}\r\n");
    assert!(ask("GET /account", &cookie, "").contains("welcome, <span id=\"user\">ada</span>"));
    let elsewhere = tokio::task::block_in_place(|| self::ask(other.url(), "GET /account", &cookie, ""));
    assert!(elsewhere.contains("\r\nlocation: /login\r\n"), "a session is of one site: {elsewhere}");

    let invoices = ask("GET /invoices", "", "");
    assert!(invoices.starts_with("http/1.1 401 ") && invoices.contains("www-authenticate: basic"), "{invoices}");
    assert!(ask("GET /invoices", "Authorization: Basic YWRhOmJ5cm9u\r\n", "").starts_with("http/1.1 401 "));
    let invoices = ask("GET /invoices", "Authorization: Basic YWRhOmxvdmVsYWNl\r\n", "");
    assert!(invoices.contains("invoices of ada"), "{invoices}");

    let url = site.url().strip_prefix("http://").unwrap().to_owned();
    drop(site);
    tokio::time::timeout(std::time::Duration::from_secs(5), async {
        while tokio::net::TcpStream::connect(&url).await.is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await
    .expect("a dropped site is gone");
}
