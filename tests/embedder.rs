//! The example of an embedder's host, tested by an MCP client, and the library API that it uses.

use crate::support::{
    image_dir,
    lab::{self, Lab},
    program::{PATIENCE, Running},
    root,
};
use codemode_host::{
    exec::NoObserver,
    result::Identity,
    service::{ExecuteRequest, Service, SessionMode, SessionRequest, Settings},
};
use codemode_provider::{
    closure,
    testkit::{FakeProvider, FakeService, Journal, Moment},
};
use codemode_spec::{ErrorCode, manifest::RESERVED_NAMES};
use serde_json::{Value as Json, json};
use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, process::Command, sync::Arc};
use tokio_util::sync::CancellationToken;

const LINES_MAX: usize = 40;

/// Settings with an embedder's state folder and the shared image, which need not be compiled again.
fn settings(folder: &Path) -> Settings {
    Settings { state_dir: Some(folder.join("state")), image_dir: Some(image_dir()), ..Settings::default() }
}

#[test]
fn no_namespace_can_take_the_place_of_a_global() {
    let globals = lab::block_on(Lab::shared().result("Object.getOwnPropertyNames(globalThis)"));
    let namespaces = ["fake", "tools"].map(Json::from);
    let globals: Vec<_> = globals.as_array().unwrap().iter().filter(|name| !namespaces.contains(name)).collect();
    assert!(globals.len() > 80, "{globals:?}");
    let free: Vec<_> = globals.iter().filter(|name| !RESERVED_NAMES.contains(&name.as_str().unwrap())).collect();
    assert_eq!(free, <[&&Json; 0]>::default());
}

#[test]
fn the_example_serves_its_namespace_and_its_transform() {
    let example = Path::new(env!("CARGO_BIN_EXE_codemode")).with_file_name("examples").join("embedder");
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let images = state.join("images");
    fs::create_dir_all(&images).unwrap();
    // The shared image, so that it is not compiled again.
    lab::engine();
    for entry in fs::read_dir(image_dir()).unwrap().flatten() {
        fs::copy(entry.path(), images.join(entry.file_name())).unwrap();
    }
    for folder in [&state, &images] {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).unwrap();
    }
    let mut command = Command::new(example);
    command.arg(&state);
    let mut program = Running::start(command);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let mut ask = |method: &str, mut params: Json| {
        params["_meta"] = meta.clone();
        program.send(&json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}));
        program.receive()["result"].take()
    };
    let tools = ask("tools/list", json!({}));
    let described = tools["tools"][0]["description"].as_str().unwrap();
    assert!(described.contains("now(place: string): Promise<number>;") && !described.contains("cdp"), "{described}");
    let mut run = |code: &str| {
        let called = ask("tools/call", json!({"name": "browser_execute", "arguments": {"code": code}}));
        called["structuredContent"].clone()
    };
    let told = run("[await weather.now('Oslo'), await weather.now('Cairo')]");
    assert_eq!(told["data"]["result"], json!({"from": "the weather desk", "report": [-4, 31]}), "{told}");
    let unknown = run("await weather.now('Atlantis')");
    assert_eq!(unknown["error"]["message"], "nobody measures in Atlantis", "{unknown}");
    assert_eq!(run("await weather.now(7)")["error"]["code"], "INVALID_ARGUMENT");
    program.hang_up();
    assert!(program.ended(PATIENCE).success());
}

#[test]
fn the_example_is_short() {
    let text = fs::read_to_string(root().join("host/examples/embedder.rs")).unwrap();
    assert!(text.lines().count() < LINES_MAX, "{} lines", text.lines().count());
}

#[test]
fn a_service_takes_namespaces_services_and_a_transform() {
    let (folder, journal) = (tempfile::tempdir().unwrap(), Journal::default());
    let fake = FakeProvider::new("fake").with_journal(&journal);
    let service = Service::builder(settings(folder.path()))
        .provider(fake)
        .service(FakeService::new("shared", &journal))
        .transform(Identity)
        .without_browser()
        .build()
        .unwrap();
    let answer = lab::block_on(async {
        let run =
            |code: &str| service.execute(ExecuteRequest::new(code), Arc::new(NoObserver), CancellationToken::new());
        let answer = run("(await fake.echo('x'.repeat(50000))).length + (await fake.echo('y'.repeat(50000)))").await;
        assert_eq!(answer.data.unwrap()["result"].as_str().map(str::len), Some(50_005), "nothing is cut");
        let session = Some(SessionRequest { mode: SessionMode::Reuse, key: Some("shop".into()), ..Default::default() });
        let request = ExecuteRequest { session, ..ExecuteRequest::new("1") };
        let refused = service.execute(request, Arc::new(NoObserver), CancellationToken::new()).await;
        assert_eq!(refused.error.unwrap().code, ErrorCode::InvalidArgument, "a session of no browser is no session");
        run("typeof cdp").await
    });
    assert_eq!(answer.data.unwrap()["result"], "undefined", "without the browser there is no namespace of it");
    for name in ["fake", "shared"] {
        assert_eq!(journal.count(name, &Moment::Created), 2, "{name}");
        assert_eq!(journal.disposals(name), 2, "{name}");
    }
}

/// Administration reads the store to which executions write, opened once by the same object.
#[test]
fn a_service_administers_what_it_executes() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::builder(settings(folder.path())).without_browser().build().unwrap();
    assert!(!folder.path().join("state").exists(), "nothing is opened before its first use");
    lab::block_on(async {
        assert!(service.sessions_list(true).await.unwrap().sessions.is_empty());
        let unknown = service.sessions_show("nowhere").await.unwrap_err();
        assert_eq!(unknown.code, ErrorCode::NotFound);
        let answer = service.execute(ExecuteRequest::new("1"), Arc::new(NoObserver), CancellationToken::new()).await;
        let execution = answer.context.execution_id;
        let rows = service.audit_show(Default::default()).await.unwrap().rows;
        let kinds: Vec<_> = rows.iter().map(|row| (row.kind.as_str(), row.execution.clone())).collect();
        assert_eq!(kinds, [("execution.started", execution.clone()), ("execution.ended", execution)]);
        assert_eq!(service.audit_verify(None).await.unwrap().rows, 2);
        assert_eq!(service.sessions_sweep().await.unwrap().sessions, Vec::<String>::new());
    });
}

#[test]
fn a_service_gives_the_files_of_its_answers_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let service = Service::builder(settings(folder.path())).without_browser().build().unwrap();
    lab::block_on(async {
        let code = "new Uint8Array(2000).fill(7)";
        let answer = service.execute(ExecuteRequest::new(code), Arc::new(NoObserver), CancellationToken::new()).await;
        let execution = answer.context.execution_id.unwrap();
        let data = answer.data.unwrap();
        assert_eq!(data["result"], "[file 1: application/octet-stream, 2,000 bytes]");
        let path = Path::new(data["files"][0]["file"].as_str().unwrap());
        let name = path.file_name().unwrap().to_str().unwrap();
        assert_eq!(service.file(&execution, name).await.unwrap(), vec![7; 2000]);
        // Files elsewhere in the state folder, or outside of it, are not files of an answer.
        let state = folder.path().join("state");
        fs::write(state.join("secret"), "").unwrap();
        for (execution, name) in [
            (&*execution, "file-2.bin"),
            (&execution, ""),
            (&execution, "../../secret"),
            (&execution, ".."),
            ("..", "secret"),
            ("../..", "secret"),
            ("", "secret"),
            (&execution, path.to_str().unwrap()),
            ("x-0", name),
        ] {
            let error = service.file(execution, name).await.unwrap_err();
            assert_eq!(error.code, ErrorCode::NotFound, "{execution} {name}: {error}");
        }
        std::os::unix::fs::symlink(state.join("secret"), path.with_file_name("link")).unwrap();
        assert!(service.file(&execution, "link").await.is_err());
    });
}

#[test]
fn what_cannot_be_offered_together_is_refused_when_it_is_put_together() {
    let build = |settings, name: &str| Service::builder(settings).provider(closure(name, "For tests.")).build();
    let taken = build(Settings::default(), "cdp").map(drop).unwrap_err();
    assert!(taken.code == ErrorCode::InvalidArgument && taken.message.contains("\"cdp\""), "{taken}");
    let wrong = Settings { result_chars: 1, ..Settings::default() };
    let wrong = build(wrong, "own").map(drop).unwrap_err();
    assert!(wrong.code == ErrorCode::InvalidArgument && wrong.message.contains("result_chars"), "{wrong}");
    assert!(build(Settings::default(), "own").is_ok());
}

/// Administration must not load the sandbox.
#[test]
fn administration_makes_no_image() {
    let folder = tempfile::tempdir().unwrap();
    let images = folder.path().join("images");
    let settings = Settings { image_dir: Some(images.clone()), ..settings(folder.path()) };
    let service = Service::builder(settings).build().unwrap();
    lab::block_on(async {
        service.sessions_list(false).await.unwrap();
        service.audit_verify(None).await.unwrap();
    });
    assert!(!images.exists());
}
