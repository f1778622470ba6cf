//! The distribution files in `host/dist`: the systemd unit, the container, the npm package. Checks that need a program
//! which this machine lacks are skipped.

use crate::support::{
    program::{PATIENCE, Place, Running, wait_until},
    root,
};
use rustix::process::Signal;
use serde_json::{Value as Json, json};
use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_codemode");

fn dist(name: &str) -> String {
    fs::read_to_string(root().join("host/dist").join(name)).unwrap()
}

/// The path of an installed program.
fn found(program: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// The effective settings with these variables and arguments.
fn settings(place: &Place, variables: &[(&str, &str)], arguments: &[&str]) -> Json {
    let mut command = place.command(&["config", "show", "--json"]);
    let output = command.args(arguments).envs(variables.iter().copied()).output().unwrap();
    let answer: Json = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    assert_eq!(answer["ok"], true, "{answer}");
    let settings = answer["data"]["settings"].as_array().unwrap().iter();
    settings.map(|setting| (setting["name"].as_str().unwrap().to_owned(), setting["value"].clone())).collect()
}

#[test]
fn the_unit_starts_the_program_as_it_is_and_leaves_chromium_its_sandbox() {
    let place = Place::new();
    let unit = dist("codemode.service");
    let all = |name: &str| -> Vec<&str> {
        let prefix = format!("{name}=");
        unit.lines().filter_map(|line| line.strip_prefix(prefix.as_str())).collect()
    };
    let one = |name: &str| {
        let values = all(name);
        assert_eq!(values.len(), 1, "{name}: {values:?}");
        values[0]
    };
    let start: Vec<_> = one("ExecStart").split(' ').collect();
    assert_eq!(start[..2], ["/usr/local/bin/codemode", "serve"]);
    let variables: Vec<_> =
        all("Environment").iter().flat_map(|line| line.split(' ')).map(|pair| pair.split_once('=').unwrap()).collect();
    let settings = settings(&place, &variables, &start[2..]);
    assert_eq!(
        (&settings["state_dir"], &settings["browser.confine"], &settings["log.format"], &settings["serve.listen"]),
        (&json!("/var/lib/codemode"), &json!("require"), &json!("json"), &json!("127.0.0.1:8222"))
    );
    assert_eq!((one("User"), one("StateDirectory"), one("StateDirectoryMode")), ("codemode", "codemode", "0700"));
    // Keepers outlive the host; reload uses the host's signal; the stop timeout covers the grace period and the
    // browsers' end.
    assert_eq!((one("KillMode"), one("ExecReload")), ("process", "/bin/kill -HUP $MAINPID"));
    let patience_ms = one("TimeoutStopSec").parse::<u64>().unwrap() * 1_000;
    let most = codemode_spec::limits::SERVE_GRACE_MS_DEFAULT + codemode_spec::limits::DISPOSE_MS_MAX + 10_000;
    assert!(patience_ms >= most, "{patience_ms} ms are less than {most} ms");
    for (name, value) in [
        ("NoNewPrivileges", "yes"),
        ("CapabilityBoundingSet", ""),
        ("ProtectSystem", "strict"),
        ("ProtectHome", "yes"),
        ("PrivateTmp", "yes"),
        ("RestrictSUIDSGID", "yes"),
    ] {
        assert_eq!(one(name), value, "{name}");
    }
    // Without these, Chromium's sandbox or the engine would not work.
    let namespaces: Vec<_> = one("RestrictNamespaces").split(' ').collect();
    assert!(["user", "pid", "net"].iter().all(|kind| namespaces.contains(kind)), "{namespaces:?}");
    assert!(!unit.contains("@mount") || !one("SystemCallFilter").contains("@mount"), "it changes its root");
    assert!(all("MemoryDenyWriteExecute").is_empty() && all("PrivateUsers").is_empty());

    let Some(analyze) = found("systemd-analyze") else { return };
    let copy = place.folder().join("codemode.service");
    fs::write(&copy, unit.replace("/usr/local/bin/codemode", PROGRAM)).unwrap();
    let verified = Command::new(&analyze).arg("verify").arg(&copy).output().unwrap();
    assert!(verified.status.success() && verified.stderr.is_empty(), "{verified:?}");
}

#[test]
fn the_container_runs_the_program_as_an_ordinary_user_below_an_init() {
    let place = Place::new();
    let file = dist("Dockerfile");
    let instructions: Vec<_> = file.lines().filter_map(|line| line.split_once(' ')).collect();
    let all =
        |name: &str| instructions.iter().filter(|(other, _)| *other == name).map(|(_, rest)| *rest).collect::<Vec<_>>();
    let channel = fs::read_to_string(root().join("rust-toolchain.toml")).unwrap();
    let version = all("FROM")[0].strip_prefix("rust:").unwrap().split('-').next().unwrap();
    assert!(channel.contains(&format!("channel = \"{version}\"")), "{version} is not what the project is built with");
    assert_eq!(all("FROM").len(), 2, "what builds is not handed out");
    assert_eq!(all("USER"), ["codemode"]);
    let entry: Vec<String> = serde_json::from_str(all("ENTRYPOINT")[0]).unwrap();
    assert_eq!(entry, ["/usr/bin/tini", "--", "/usr/local/bin/codemode"]);
    assert!(file.contains(" tini ") && file.contains(" chromium "), "they are installed");
    let command: Vec<String> = serde_json::from_str(all("CMD")[0]).unwrap();
    assert_eq!(command[0], "serve");
    let variables: Vec<_> =
        all("ENV").iter().flat_map(|line| line.split(' ')).map(|pair| pair.split_once('=').unwrap()).collect();
    let settings = settings(&place, &variables, &command[1..].iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(
        (&settings["state_dir"], &settings["serve.listen"]),
        (&json!("/var/lib/codemode"), &json!("0.0.0.0:8222"))
    );
    assert_eq!(all("VOLUME"), ["/var/lib/codemode"]);
    // Without a token, the host refuses to start like this.
    let refused = place.command(&["serve"]).env("CODEMODE_LISTEN", "0.0.0.0:0").output().unwrap();
    assert!(!refused.status.success() && String::from_utf8_lossy(&refused.stderr).contains("there is no token"));
    let ignored = dist("Dockerfile.dockerignore");
    assert!(ignored.lines().any(|line| line == "target"), "{ignored}");
}

/// A command that runs the npm package with Node, with these folders on PATH and no other environment.
fn wrapper(place: &Place, node: &Path, path: &[&Path], arguments: &[&str]) -> Command {
    let of_program = place.command(arguments);
    let mut command = Command::new(node);
    command.env_clear().arg(root().join("host/dist/npm/codemode.js")).args(arguments).stdin(Stdio::null());
    command.envs(of_program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env("PATH", std::env::join_paths(path).unwrap());
    command
}

#[test]
fn the_npm_package_finds_the_program_or_says_how_to_install_it() {
    let package: Json = serde_json::from_str(&dist("npm/package.json")).unwrap();
    assert_eq!(package["version"], env!("CARGO_PKG_VERSION"));
    for name in ["dependencies", "optionalDependencies", "scripts"] {
        assert!(package[name].is_null(), "it installs and runs nothing: {name}");
    }
    let Some(node) = found("node") else { return };
    let place = Place::new();
    let (own, real) = (place.folder().join("own"), place.folder().join("real"));
    for folder in [&own, &real] {
        fs::create_dir(folder).unwrap();
    }
    // On PATH before the program, where npm links it.
    symlink(root().join("host/dist/npm/codemode.js"), own.join("codemode")).unwrap();
    symlink(PROGRAM, real.join("codemode")).unwrap();
    let words = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let version = format!("codemode {}\n", env!("CARGO_PKG_VERSION"));
    let on_path = wrapper(&place, &node, &[&own, &real], &["--version"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&on_path.stdout), version, "{on_path:?}");
    let named = wrapper(&place, &node, &[&own], &["--version"]).env("CODEMODE_BINARY", PROGRAM).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&named.stdout), version, "{named:?}");
    let missing = wrapper(&place, &node, &[&own], &["--version"]).output().unwrap();
    assert_eq!(missing.status.code(), Some(127));
    assert!(words(&missing).contains("not on PATH") && words(&missing).contains("cargo install"), "{missing:?}");
    let wrong = wrapper(&place, &node, &[&real], &["--version"]).env("CODEMODE_BINARY", "/nowhere/codemode").output();
    let wrong = wrong.unwrap();
    assert!(wrong.status.code() == Some(127) && words(&wrong).contains("/nowhere/codemode"), "{wrong:?}");
    // The package exits like the program.
    let thrown = wrapper(&place, &node, &[&real], &["run", "-e", "throw new Error('bad')"]).output().unwrap();
    assert!(thrown.status.code() == Some(1) && words(&thrown).starts_with("error SCRIPT_ERROR: "), "{thrown:?}");
    let unknown = wrapper(&place, &node, &[&real], &["fly"]).output().unwrap();
    assert_eq!(unknown.status.code(), Some(2), "{unknown:?}");
}

#[test]
fn the_npm_package_serves_mcp_and_ends_with_its_client() {
    let Some(node) = found("node") else { return };
    let place = Place::new();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "browser_execute", "arguments": {"code": "1 + 1"}, "_meta": meta}});
    for is_told in [false, true] {
        let mut command = wrapper(&place, &node, &[place.folder()], &["mcp"]);
        command.env("CODEMODE_BINARY", PROGRAM);
        let mut client = Running::start(command);
        client.send(&call);
        let answer = loop {
            let message = client.receive();
            if message["id"] == 1 {
                break message;
            }
        };
        assert_eq!(answer["result"]["structuredContent"]["data"]["result"], 2, "{answer}");
        let children = || fs::read_to_string(format!("/proc/{0}/task/{0}/children", client.pid())).unwrap_or_default();
        let children: Vec<_> = children().split_whitespace().map(str::to_owned).collect();
        assert_eq!(children.len(), 1, "the program");
        if is_told {
            client.signal(Signal::TERM);
        } else {
            client.hang_up();
        }
        assert_eq!(client.ended(PATIENCE).code(), Some(0));
        wait_until("the program's end", PATIENCE, || !Path::new(&format!("/proc/{}", children[0])).exists());
    }
}

#[test]
fn npx_starts_the_package_from_its_folder() {
    let (Some(npx), Some(node)) = (found("npx"), found("node")) else { return };
    let place = Place::new();
    let mut command = Command::new(npx);
    let path = std::env::join_paths([node.parent().unwrap(), Path::new("/usr/bin"), Path::new("/bin")]).unwrap();
    command.args(["--yes", "--offline", "--package"]).arg(root().join("host/dist/npm")).args(["codemode", "--version"]);
    command.env("PATH", path).env("CODEMODE_BINARY", PROGRAM).stdin(Stdio::null()).current_dir(place.folder());
    command.env("HOME", place.folder()).env("npm_config_cache", place.folder().join("npm"));
    let output = command.output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        format!("codemode {}\n", env!("CARGO_PKG_VERSION")),
        "{output:?}"
    );
}
