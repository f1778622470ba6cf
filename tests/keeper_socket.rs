//! The keeper's socket: admits only the holder of the lease, and leaves nothing of one holder to the next.

use crate::support::{
    holder::{KEY, call, connect, lease, page, sessions},
    leases::Leases,
    program::{PATIENCE, wait_until},
};
use codemode_chromium::CdpError;
use codemode_spec::{
    ErrorCode,
    limits::{KEEPER_CLIENTS_MAX, KEEPER_CONNECTIONS_MAX},
};
use futures::future::join_all;
use serde_json::{Value as Json, json};
use std::{fs, os::unix::fs::PermissionsExt as _, time::Instant};
use tokio::{io::AsyncWriteExt as _, net::UnixStream};

/// A host that was stopped between its lease check and its write sends a message without a lease; this client does not
/// check at all.
#[tokio::test]
async fn nothing_arrives_of_one_who_has_lost_the_lease() {
    let leases = Leases::new();
    let manager = sessions(&leases);
    let first = lease(&manager, "x-first").await;
    let connection = connect(&*first).await;
    let session = page(&connection).await;
    let url = |path: &str| json!({"url": format!("{}{path}", leases.site.url())});
    call(&connection, Some(&session), "Page.navigate", url("/while-held")).await.unwrap();
    leases.site.wait_for("/while-held");

    assert_eq!(leases.ask(&["sessions", "revoke", KEY, "--json"])["ok"], true);
    let late = call(&connection, Some(&session), "Page.navigate", url("/after-loss")).await;
    assert!(matches!(late, Err(CdpError::Closed { .. })), "{late:?}");
    let refused = first.connect().await.map(|_| ()).unwrap_err();
    assert_eq!(refused.code, ErrorCode::SessionLost, "{refused}");

    let second = lease(&manager, "x-second").await;
    let connection = connect(&*second).await;
    let session = page(&connection).await;
    call(&connection, Some(&session), "Page.navigate", url("/of-the-next")).await.unwrap();
    leases.site.wait_for("/of-the-next");
    assert!(!leases.site.was_visited("/after-loss"));
    second.close().await.unwrap();
    leases.wait_until_all_ended(PATIENCE);
}

/// The second holder connects while the first is still connected, as happens when a lease expires.
#[tokio::test]
async fn the_next_holder_finds_nothing_of_the_last_one() {
    let leases = Leases::new();
    let manager = sessions(&leases);
    let first = lease(&manager, "x-first").await;
    let connection = connect(&*first).await;
    let session = page(&connection).await;
    let context =
        call(&connection, None, "Target.createBrowserContext", json!({"disposeOnDetach": true})).await.unwrap();
    let own = json!({"url": "about:blank", "browserContextId": context["browserContextId"]});
    let target = call(&connection, None, "Target.createTarget", own).await.unwrap()["targetId"].clone();
    for (method, params) in [
        ("Page.enable", json!({})),
        ("Runtime.enable", json!({})),
        ("Page.addScriptToEvaluateOnNewDocument", json!({"source": "globalThis.left = 1"})),
        ("Runtime.addBinding", json!({"name": "leftBinding"})),
        ("Network.enable", json!({})),
        ("Network.setExtraHTTPHeaders", json!({"headers": {"X-Left": "1"}})),
        ("Emulation.setUserAgentOverride", json!({"userAgent": "left"})),
        ("Fetch.enable", json!({})),
    ] {
        call(&connection, Some(&session), method, params).await.unwrap_or_else(|error| panic!("{method}: {error}"));
    }
    assert_eq!(leases.ask(&["sessions", "revoke", KEY, "--json"])["ok"], true);

    let second = lease(&manager, "x-second").await;
    let next = connect(&*second).await;
    // The cleanup does not depend on the first client closing its connection.
    drop(connection);
    let targets = call(&next, None, "Target.getTargets", json!({})).await.unwrap();
    assert!(targets["targetInfos"].as_array().unwrap().iter().all(|info| info["targetId"] != target), "{targets}");
    let of_another = call(&next, Some(&session), "Runtime.evaluate", json!({"expression": "1"})).await;
    assert!(matches!(of_another, Err(CdpError::Protocol { code: -32001, .. })), "{of_another:?}");
    let session = page(&next).await;
    // The request would be paused forever if the first holder's `Fetch.enable` were still in force.
    let url = format!("{}/of-the-next", leases.site.url());
    call(&next, Some(&session), "Page.navigate", json!({ "url": url })).await.unwrap();
    let expression =
        "JSON.stringify([location.pathname, globalThis.left ?? null, typeof leftBinding, navigator.userAgent])";
    let seen = call(&next, Some(&session), "Runtime.evaluate", json!({ "expression": expression })).await.unwrap();
    let seen: Json = serde_json::from_str(seen["result"]["value"].as_str().unwrap()).unwrap();
    assert_eq!((&seen[0], &seen[1], &seen[2]), (&json!("/of-the-next"), &Json::Null, &json!("undefined")), "{seen}");
    assert_ne!(seen[3], "left");
    second.close().await.unwrap();
    leases.wait_until_all_ended(PATIENCE);
}

/// The keeper has not polled the store since the lease was lost.
#[tokio::test]
async fn the_next_holder_is_let_in_however_many_connections_the_last_one_had() {
    let leases = Leases::new();
    let manager = sessions(&leases);
    let first = lease(&manager, "x-first").await;
    let mut connections = Vec::new();
    for _ in 0..KEEPER_CLIENTS_MAX {
        connections.push(connect(&*first).await);
    }
    let full = first.connect().await.map(drop).unwrap_err();
    assert_eq!(full.code, ErrorCode::CapacityExceeded, "{full}");
    manager.revoke(&manager.find(KEY).await.unwrap()).await.unwrap();
    let second = lease(&manager, "x-second").await;
    let connection = connect(&*second).await;
    call(&connection, None, "Target.getTargets", json!({})).await.unwrap();
    second.close().await.unwrap();
    leases.wait_until_all_ended(PATIENCE);
}

/// None of the handshakes has been answered when the last one begins.
#[tokio::test]
async fn handshakes_at_the_same_time_get_no_more_connections_than_there_may_be() {
    let leases = Leases::new();
    let manager = sessions(&leases);
    let holder = lease(&manager, "x-holder").await;
    let connecting = join_all((0..KEEPER_CLIENTS_MAX * 3).map(|_| holder.connect()));
    let (admitted, refused): (Vec<_>, Vec<_>) = connecting.await.into_iter().partition(Result::is_ok);
    assert_eq!(admitted.len(), KEEPER_CLIENTS_MAX);
    for refused in refused {
        let refused = refused.map(drop).unwrap_err();
        assert_eq!(refused.code, ErrorCode::CapacityExceeded, "{refused}");
    }
    drop(admitted);
    // A connection counts until everything that it had in the browser has been removed.
    let (mut admitted, deadline) = (Vec::new(), Instant::now() + PATIENCE);
    while admitted.len() < KEEPER_CLIENTS_MAX {
        match holder.connect().await {
            Ok(channel) => admitted.push(channel),
            Err(full) => assert!(full.code == ErrorCode::CapacityExceeded && Instant::now() < deadline, "{full}"),
        }
    }
    holder.close().await.unwrap();
    leases.wait_until_all_ended(PATIENCE);
}

#[tokio::test]
async fn connections_that_never_say_what_they_want_are_bounded() {
    let leases = Leases::new();
    let manager = sessions(&leases);
    let holder = lease(&manager, "x-holder").await;
    let connection = connect(&*holder).await;
    let keeper = leases.session(KEY)["keeper_pid"].clone();
    let sockets = || {
        let files = fs::read_dir(format!("/proc/{keeper}/fd")).unwrap();
        let links = files.filter_map(|file| fs::read_link(file.unwrap().path()).ok());
        links.filter(|link| link.to_string_lossy().starts_with("socket:")).count()
    };
    // Without that of `connection`.
    let before = sockets() - 1;
    let socket = leases.state().join("run").join(format!("{}.sock", holder.facts().id));
    let mut silent = Vec::new();
    for _ in 0..KEEPER_CONNECTIONS_MAX + 36 {
        silent.push(UnixStream::connect(&socket).await.unwrap());
    }
    wait_until("the connections", PATIENCE, || sockets() >= before + KEEPER_CONNECTIONS_MAX);
    call(&connection, None, "Target.getTargets", json!({})).await.unwrap();
    assert_eq!(sockets(), before + KEEPER_CONNECTIONS_MAX, "further ones wait");
    drop(silent);
    let another = connect(&*holder).await;
    call(&another, None, "Target.getTargets", json!({})).await.unwrap();
    holder.close().await.unwrap();
    leases.wait_until_all_ended(PATIENCE);
}

/// A client without a lease, or with an invalid handshake, is disconnected, and the holder is not disturbed.
#[tokio::test]
async fn no_client_is_let_in_without_a_lease() {
    let leases = Leases::new();
    let manager = sessions(&leases);
    let holder = lease(&manager, "x-holder").await;
    let connection = connect(&*holder).await;
    let session = page(&connection).await;
    let folder = leases.state().join("run");
    let socket = folder.join(format!("{}.sock", holder.facts().id));
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&folder), mode(&socket)), (0o700, 0o600));

    let frame = |text: &str| [&u32::try_from(text.len()).unwrap().to_le_bytes()[..], text.as_bytes()].concat();
    let token = holder.facts().token;
    let with = |lease: &str, token: u64| {
        frame(&json!({"use": {"lease": lease, "token": token, "execution": "x-holder"}}).to_string())
    };
    for (what, handshake) in [
        ("an older token", with("key:shop", token - 1)),
        ("a token that no execution has yet", with("key:shop", token + 1)),
        ("another key", with("key:other", token)),
        ("no lease", with("shop", token)),
        ("no words", frame("{}")),
        ("no length", vec![0xff; 64]),
        ("a message of the protocol", b"{\"id\":1,\"method\":\"Browser.close\"}\0".to_vec()),
    ] {
        let mut stranger = UnixStream::connect(&socket).await.unwrap();
        stranger.write_all(&handshake).await.unwrap();
        stranger.shutdown().await.unwrap();
        let mut answer = Vec::new();
        let read = tokio::io::AsyncReadExt::read_to_end(&mut stranger, &mut answer);
        // The connection of a client that is disconnected within its handshake is reset.
        let _ = tokio::time::timeout(PATIENCE, read).await.unwrap();
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.is_empty() || answer.contains("refused"), "{what}: {answer}");
    }
    let sum = call(&connection, Some(&session), "Runtime.evaluate", json!({"expression": "1 + 1"})).await.unwrap();
    assert_eq!(sum["result"]["value"], 2);
    drop(connection);
    holder.close().await.unwrap();
    leases.wait_until_all_ended(PATIENCE);
    wait_until("the end of the socket", PATIENCE, || !socket.exists());
}
