//! Tests of the confinement, with a browser that has no other restriction.

use crate::support::{PATIENCE, Profiles, command, evaluate, page, until};
use codemode_chromium::{Browser, ConfineMode, Confinement, Connection, LaunchOptions, can_confine};
use serde_json::json;
use std::{
    env, fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

/// A file that every user of the machine can read.
fn open_to_all() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let file = folder.path().join("canary.txt");
    fs::write(&file, "a canary").unwrap();
    (folder, file)
}

async fn launch(profiles: &Profiles, confinement: Confinement) -> (Browser, Connection, String) {
    let options = LaunchOptions { confinement, ..profiles.options().await };
    let browser = Browser::launch(options).await.unwrap_or_else(|report| panic!("{report} {}", report.details));
    let connection = browser.connect().await.unwrap();
    let (_, session) = page(&connection, "about:blank").await;
    (browser, connection, session)
}

/// The text of a file as a page shows it; `None` if access is denied.
async fn read(connection: &Connection, session: &str, file: &Path) -> Option<String> {
    let url = format!("file://{}", file.display());
    let went = connection.call(command("Page.navigate", json!({ "url": url }), Some(session))).await.unwrap();
    if let Some(error) = went["errorText"].as_str() {
        assert_eq!(error, "net::ERR_ACCESS_DENIED");
        return None;
    }
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        let text = evaluate(connection, session, "document.readyState == 'complete' && document.body?.innerText").await;
        if let Some(text) = text.as_str() {
            return Some(text.to_owned());
        }
        assert!(tokio::time::Instant::now() < deadline, "the file does not load");
    }
}

#[tokio::test]
async fn a_browser_reads_no_files_but_its_own() {
    assert_eq!(can_confine(), Ok(()), "this machine cannot show it");
    let (profiles, (folder, file)) = (Profiles::new(), open_to_all());
    let required = Confinement { mode: ConfineMode::Require, readable: Vec::new() };
    let (browser, connection, session) = launch(&profiles, required.clone()).await;
    assert_eq!(read(&connection, &session, &file).await, None);
    assert_eq!(read(&connection, &session, Path::new("/proc/self/root/etc/shells")).await, None);
    assert_eq!(browser.shortfalls(), <[String; 0]>::default());
    browser.close().await.unwrap();

    // With the folder allowed, and with no confinement, the read succeeds: so it was the confinement that denied it.
    let readable = vec![folder.path().to_owned()];
    for confinement in
        [Confinement { readable, ..required }, Confinement { mode: ConfineMode::Off, readable: Vec::new() }]
    {
        let (browser, connection, session) = launch(&profiles, confinement).await;
        assert_eq!(read(&connection, &session, &file).await.as_deref(), Some("a canary"));
        browser.close().await.unwrap();
    }
    profiles.assert_nothing_left();
}

#[tokio::test]
async fn chromium_has_its_own_sandbox_and_root_gives_it_a_user_of_its_own() {
    let profiles = Profiles::new();
    let (browser, connection, _) = launch(&profiles, Confinement::default()).await;
    let status = fs::read_to_string(format!("/proc/{}/status", browser.pid())).unwrap();
    let uid = status.lines().find_map(|line| line.strip_prefix("Uid:")?.split_whitespace().nth(1)).unwrap();
    assert_ne!(uid, "0");
    let (_, session) = page(&connection, "chrome://sandbox").await;
    let deadline = tokio::time::Instant::now() + PATIENCE;
    loop {
        let text = evaluate(&connection, &session, "document.body?.innerText ?? ''").await;
        if text.as_str().is_some_and(|text| text.contains("You are adequately sandboxed.")) {
            break;
        }
        assert!(tokio::time::Instant::now() < deadline, "{text}");
    }
    browser.close().await.unwrap();
    profiles.assert_nothing_left();
}

#[tokio::test]
async fn a_browser_that_crashes_is_not_started_again_with_less_protection() {
    let (profiles, folder) = (Profiles::new(), tempfile::tempdir().unwrap());
    let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let (program, starts) = (folder.path().join("crashes"), folder.path().join("starts"));
    fs::write(&program, format!("#!/bin/sh\nid -u >> {}\nexit 1\n", starts.display())).unwrap();
    fs::write(&starts, "").unwrap();
    for (path, mode) in [(folder.path(), 0o755), (&*program, 0o755), (&*starts, 0o666)] {
        set(path, mode);
    }
    let confinement = Confinement { mode: ConfineMode::Off, readable: Vec::new() };
    let options = LaunchOptions { executable: program, confinement, ..profiles.options().await };
    Browser::launch(options).await.unwrap_err();
    let users = fs::read_to_string(starts).unwrap();
    assert_eq!(users.lines().count(), 1, "{users}");
    assert_ne!(users.trim(), "0", "it was not started as root");
}

#[tokio::test]
async fn the_environment_of_the_host_stays_with_the_host() {
    assert!(env::var_os("CARGO_MANIFEST_DIR").is_some(), "a variable that no browser needs");
    let profiles = Profiles::new();
    let (browser, ..) = launch(&profiles, Confinement::default()).await;
    let mut names = Vec::new();
    until("the environment", || {
        let environment = fs::read(format!("/proc/{}/environ", browser.pid())).unwrap_or_default();
        let environment = String::from_utf8_lossy(&environment).into_owned();
        names = environment.split('\0').filter_map(|line| Some(line.split_once('=')?.0.to_owned())).collect();
        !names.is_empty()
    })
    .await;
    assert!(
        names.iter().any(|name| name == "HOME") && !names.iter().any(|name| name.starts_with("CARGO")),
        "{names:?}"
    );
    browser.close().await.unwrap();
}
