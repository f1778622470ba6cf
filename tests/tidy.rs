//! Structural rules: the dependencies and words that parts of the project must not contain, and forbidden habits.

use crate::support::root;
use regex::Regex;
use std::{collections::BTreeMap, fs, path::Path};

/// Each crate, with the crates of this project that it may depend on.
const CRATES: &[(&str, &[&str])] = &[
    ("spec", &[]),
    ("guest", &["spec"]),
    ("guest/wasm", &[]),
    ("providers/api", &["spec"]),
    ("providers/chromium", &["spec"]),
    ("providers/page", &["chromium", "provider", "spec"]),
    ("providers/cdp", &["page", "provider", "spec"]),
    ("providers/verbs", &["page", "provider", "spec"]),
    ("providers/browser", &["page", "provider", "spec", "verbs"]),
    ("providers/secret", &["provider", "spec"]),
    ("host", &["browser", "cdp", "chromium", "guest-wasm", "page", "provider", "secret", "spec"]),
];
/// External crates, with the only crates that may depend on them.
const CONFINED: &[(&str, &[&str])] = &[
    ("wasmtime", &["host"]),
    ("wasmtime-wasi", &["host"]),
    ("wasmtime-wizer", &["host"]),
    ("boa_engine", &["guest"]),
    ("boa_gc", &["guest"]),
    ("chromiumoxide_cdp", &["providers/chromium"]),
    ("chromiumoxide_types", &["providers/chromium"]),
    ("tokio-tungstenite", &["providers/chromium"]),
    ("oxc", &["host"]),
    ("rmcp", &["host"]),
    ("rusqlite", &["host"]),
    ("clap", &["host"]),
    ("ring", &["host"]),
    ("aho-corasick", &["host"]),
];
/// Folders, with a pattern that their sources must not contain.
const UNKNOWN: &[(&str, &str)] = &[
    ("host/src/surface", r"\b(wasmtime|engine|sandbox::|session|exec)::|\bcodemode_(cdp|chromium|page|secret|verbs)\b"),
    ("host/src/session", r"\b(wasmtime|engine|program|result|surface)::"),
    ("host/src/session/rules", r"\bstore::|\b(Clock|Liveness)\b|std::(fs|time|io|process)\b|\basync\b"),
    (
        "host/src/network",
        r"\bwasmtime\b|crate::(engine|exec|program|service|session|surface)\b|codemode_(chromium|cdp|provider)",
    ),
    ("host/src/secrets", r"crate::(engine|exec|program|service|session|surface)\b|codemode_(browser|cdp|page|secret)"),
    (
        "host/src/history",
        r"crate::(engine|exec|program|result|service|session|surface)\b|codemode_(browser|cdp|page|secret)",
    ),
    ("host/src/logins", r"crate::(engine|exec|program|service|session|surface)\b|codemode_(browser|cdp|page|secret)"),
    ("host/src/result", r"\bwasmtime\b"),
    ("host/src/program", r"\bwasmtime\b"),
    ("host/src/exec", r"\bwasmtime\b"),
    ("host/src/service", r"\bwasmtime\b|\b(clap|toml)\b|\benv::var|/proc\b"),
    ("providers", r"\bcodemode_host\b"),
    ("providers/chromium/src", r"\bcodemode_(page|cdp|verbs|browser)\b"),
    ("providers/page/src", r"\bcodemode_(cdp|verbs|browser)\b|\bcdp\.\w"),
    ("providers/verbs/src", r"\bcodemode_(cdp|browser)\b|\bcdp\.\w"),
    ("providers/browser/src", r"\bcodemode_(cdp|chromium)\b"),
    ("providers/secret/src", r"\bcodemode_(browser|cdp|chromium|page|verbs)\b"),
    ("spec/src", r"\bcdp\.\w"),
    ("host/src/session", r"\bcdp\.\w"),
    ("host/src/service", r"\bcdp\.\w"),
    ("host/src/surface", r"\bcdp\.\w"),
    ("host/src/engine", r"\bcdp\.\w"),
    ("host/src/exec", r"\bcdp\.\w"),
    ("guest/src", r"\bcdp\.\w"),
    ("providers/cdp/src", r"\bcodemode_chromium\b|\bSessions\b"),
    ("spec/src", r"\bboa_"),
    ("host/src", r"\bboa_"),
];
/// The only places of the host with SQL: the store of sessions, and the history, on which nothing depends.
const SQL: [&str; 2] = ["host/src/session/store/sqlite/", "host/src/history/sqlite.rs"];
/// The only files with unsafe code, each of which explains why.
const UNSAFE: &[&str] = &[
    "guest/src/exports.rs",
    "host/src/allocator.rs",
    "host/src/engine/artifact.rs",
    "host/src/engine/sandbox.rs",
    "host/src/surface/cli/inherited.rs",
];
/// The only file of the host that depends on which interpreter the guest has, and on its messages.
const QUIRKS: &str = "host/src/exec/quirks.rs";
/// This file, which contains the forbidden words.
const OWN: &str = "tests/tidy.rs";
/// What must not be committed.
const UNFINISHED: &str = r"\b(todo|unimplemented|dbg)!|#\[ignore|#!?\[allow\(";
const LINES_MAX: usize = 600;
/// The larger bound for test files, which contain tables of expectations.
const TEST_LINES_MAX: usize = 900;

#[test]
fn crates_know_only_what_they_may() {
    let files = files();
    let faults = unknown_crates(&files);
    assert!(faults.is_empty(), "{faults:#?}");
    let planted = [
        ("spec/Cargo.toml", "[dependencies]", "codemode-guest.workspace = true"),
        ("guest/Cargo.toml", "[dependencies]", "codemode-provider.workspace = true"),
        ("providers/cdp/Cargo.toml", "[dependencies]", "codemode-chromium = { path = \"../chromium\" }"),
        ("providers/page/Cargo.toml", "[dependencies]", "rusqlite.workspace = true"),
        ("host/Cargo.toml", "[dependencies]", "boa_engine.workspace = true"),
        ("providers/api/Cargo.toml", "[dependencies]", "wasmtime = \"48\""),
        ("Cargo.toml", "[workspace]", "members = [\"spec\", \"somewhere/else\"]"),
    ];
    for (path, section, line) in planted {
        assert_eq!(unknown_crates(&planted_below(&files, path, section, line)).len(), 1, "{path}: {line}");
    }
    let fine = planted_below(&files, "host/Cargo.toml", "[dev-dependencies]", "boa_engine.workspace = true");
    assert_eq!(unknown_crates(&fine), Vec::<String>::new());
}

fn unknown_crates(files: &BTreeMap<String, String>) -> Vec<String> {
    let mut faults = Vec::new();
    for (krate, allowed) in CRATES {
        for (dependency, section) in &dependencies(&files[&format!("{krate}/Cargo.toml")]) {
            if let Some(name) =
                dependency.strip_prefix("codemode-").filter(|name| section != "dev" && !allowed.contains(name))
            {
                faults.push(format!("{krate} depends on codemode-{name}"));
            }
            let confined = CONFINED.iter().find(|(name, _)| name == dependency);
            if let Some((name, _)) = confined.filter(|(_, crates)| !crates.contains(krate) && section != "dev") {
                faults.push(format!("{krate} depends on {name}"));
            }
        }
    }
    let members = files["Cargo.toml"].lines().find(|line| line.starts_with("members")).unwrap();
    for member in members.split('"').skip(1).step_by(2) {
        if !CRATES.iter().any(|(krate, _)| *krate == member) {
            faults.push(format!("{member} is a new crate: say in tests/tidy.rs what it may know"));
        }
    }
    faults
}

/// The features that disable protections for tests must not be enabled in the program.
#[test]
fn features_for_tests_are_for_tests_only() {
    let files = files();
    let faults = features_in_programs(&files);
    assert!(faults.is_empty(), "{faults:#?}");
    let page = "codemode-page = { workspace = true, features = [\"test-walls\"] }";
    let planted = [
        ("host/Cargo.toml", "[dependencies]", page),
        ("Cargo.toml", "[workspace.dependencies]", page),
        ("providers/page/Cargo.toml", "[features]", "default = [\"test-walls\"]"),
        ("providers/cdp/Cargo.toml", "[lints]", "default = [\"a\"]"),
    ];
    for (path, section, line) in planted {
        let faults = features_in_programs(&planted_below(&files, path, section, line));
        assert!(!faults.is_empty(), "{path}: {line}");
    }
    let look = r#"let without = env::var_os("CODEMODE_TEST_WITHOUT_TABLE").is_some();"#;
    assert_eq!(features_in_programs(&with_line("providers/page/src/policy.rs", look)).len(), 1);
    let guarded = format!("#[cfg(feature = \"test-walls\")]\n{look}");
    assert_eq!(features_in_programs(&with_line("providers/page/src/policy.rs", &guarded)).len(), 0);
}

fn features_in_programs(files: &BTreeMap<String, String>) -> Vec<String> {
    let mut faults = Vec::new();
    for (path, text) in files.iter().filter(|(path, _)| path.ends_with("Cargo.toml")) {
        let mut section = "";
        for line in text.lines() {
            section = line.strip_prefix('[').unwrap_or(section);
            let is_declared = section == "features]" && line == "test-walls = []";
            if line.contains("test-walls") && !(is_declared || section == "dev-dependencies]") {
                faults.push(format!("{path}: [{section} {line}"));
            }
        }
        faults
            .extend(text.lines().filter(|line| line.starts_with("default = [")).map(|line| format!("{path}: {line}")));
    }
    for word in ["CODEMODE_TEST_WITHOUT_TABLE", "CODEMODE_TEST_STOP_BEFORE"] {
        let asking = files.iter().filter(|(path, text)| path.contains("src/") && text.contains(word));
        for (path, text) in asking.filter(|(path, _)| path.ends_with(".rs")) {
            let mut lines = text.lines().collect::<Vec<_>>().into_iter().rev().skip_while(|line| !line.contains(word));
            if !lines.any(|line| line == "#[cfg(feature = \"test-walls\")]") {
                faults.push(format!("{path} asks for {word} in every build"));
            }
        }
    }
    faults
}

/// The files, with a line inserted into one of them below the last line with this beginning.
fn planted_below(files: &BTreeMap<String, String>, path: &str, below: &str, line: &str) -> BTreeMap<String, String> {
    let mut planted = files.clone();
    let text = planted.get_mut(path).unwrap();
    match text.find(&format!("{below}\n")) {
        Some(at) => text.insert_str(at + below.len() + 1, &format!("{line}\n")),
        None => text.push_str(&format!("\n{below}\n{line}\n")),
    }
    planted
}

#[test]
fn folders_do_not_name_what_they_do_not_know() {
    let faults = unknown_words(&sources());
    assert!(faults.is_empty(), "{faults:#?}");
    let planted = [
        ("host/src/session/keeper_socket.rs", "use crate::engine::Sandbox;"),
        ("host/src/session/store/sqlite/tables.rs", "use crate::{result::Transform, surface::cli};"),
        ("host/src/session/rules/queue.rs", "use crate::session::store::StoreError;"),
        ("host/src/session/rules/lease.rs", "pub fn standing(lease: &Lease, clock: &dyn Clock) -> Standing {"),
        ("host/src/session/rules/session.rs", "pub async fn fate() {"),
        ("host/src/session/leased_session.rs", r#".with_hint("Call cdp.startSession({replace: true}).")"#),
        ("host/src/service/doctor.rs", r#"execute(service, "await cdp.send(\"Browser.getVersion\")")"#),
        ("host/src/service.rs", "use clap::Args;"),
        ("host/src/service/doctor.rs", r#"fs::read_to_string("/proc/sys/kernel/osrelease")"#),
        ("host/src/service/settings.rs", r#"env::var_os("CODEMODE_STATE_DIR")"#),
        ("host/src/engine/sandbox.rs", r#"format!("await cdp.events() before")"#),
        ("spec/src/error.rs", r#"DialogOpen = "DIALOG_OPEN", 409, false, "Call cdp.send(…)."; "#),
    ];
    for (path, line) in planted {
        assert_eq!(unknown_words(&with_line(path, line)).len(), 1, "{path}: {line}");
    }
    assert_eq!(
        unknown_words(&with_line("host/src/session/keeper_socket.rs", "// engine::Sandbox, but in a comment")).len(),
        0
    );
}

fn unknown_words(sources: &BTreeMap<String, String>) -> Vec<String> {
    let mut faults = Vec::new();
    for (folder, word) in UNKNOWN {
        let word = Regex::new(word).unwrap();
        for (path, text) in sources.iter().filter(|(path, _)| is_of(folder, path)) {
            faults.extend(found(path, text, &word));
        }
    }
    faults
}

/// Whether a file is in a folder, or is the module file of that folder.
fn is_of(folder: &str, path: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/') || rest == ".rs")
}

/// A second database would be another folder next to this one; SQL elsewhere would have to be written again for it.
#[test]
fn sql_stands_in_its_places() {
    let faults = sql_elsewhere(&sources());
    assert!(faults.is_empty(), "{faults:#?}");
    let planted = [
        ("host/src/session/store/operations/leases.rs", "use rusqlite::params;"),
        ("host/src/session/manager.rs", r#"let sql = "UPDATE lease SET execution = NULL";"#),
        ("host/src/service.rs", r#"rows("SELECT name FROM lease")"#),
    ];
    for (path, line) in planted {
        assert_eq!(sql_elsewhere(&with_line(path, line)).len(), 1, "{path}: {line}");
    }
    for path in [&format!("{}tables.rs", SQL[0]), SQL[1]] {
        assert_eq!(sql_elsewhere(&with_line(path, "use rusqlite::params;")).len(), 0);
    }
}

fn sql_elsewhere(sources: &BTreeMap<String, String>) -> Vec<String> {
    let word = Regex::new(r"\brusqlite|\b(SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE TABLE|PRAGMA) \w").unwrap();
    let is_elsewhere = |path: &str| path.starts_with("host/src/") && !SQL.iter().any(|place| path.starts_with(place));
    let elsewhere = sources.iter().filter(|(path, _)| is_elsewhere(path));
    elsewhere.flat_map(|(path, text)| found(path, text, &word)).collect()
}

/// The engine runs any guest, so a change of the interpreter affects one file.
#[test]
fn the_interpreter_is_known_in_one_file() {
    let faults = interpreter_elsewhere(&sources());
    assert!(faults.is_empty(), "{faults:#?}");
    let planted = [
        ("host/src/engine/sandbox.rs", "    // Boa does not look for variables there."),
        ("host/src/engine/mod.rs", "const PANICS: &[&str] = &[\"capacity overflow\"];"),
        ("host/src/engine/sandbox.rs", "    \"vm/opcode/get/property.rs\","),
        ("host/src/exec/outcome.rs", "    if thrown.message == \"access of uninitialized binding\" {"),
        ("host/src/exec/outcome.rs", "    message.replace(&format!(\" at line {line}, col {column}\"), \"\")"),
        ("host/src/exec.rs", "/// What the interpreter says."),
    ];
    for (path, line) in planted {
        assert_eq!(interpreter_elsewhere(&with_line(path, line)).len(), 1, "{path}: {line}");
        assert_eq!(interpreter_elsewhere(&with_line(QUIRKS, line)).len(), 0, "{line}");
    }
}

/// Mentions of the interpreter outside that file, including comments.
fn interpreter_elsewhere(sources: &BTreeMap<String, String>) -> Vec<String> {
    let words =
        r"(?i)\bboa\b|\binterpreter\b|uninitialized binding|cannot destructure|vm/opcode|capacity overflow|, col \{";
    let word = Regex::new(words).unwrap();
    let elsewhere = sources.iter().filter(|(path, _)| path.starts_with("host/src/") && *path != QUIRKS);
    let lines = elsewhere.flat_map(|(path, text)| text.lines().map(move |line| (path, line)));
    lines.filter(|(_, line)| word.is_match(line)).map(|(path, line)| format!("{path}: {}", line.trim())).collect()
}

/// A source tree with one file of one line.
fn with_line(path: &str, line: &str) -> BTreeMap<String, String> {
    BTreeMap::from([(path.to_owned(), format!("{line}\n"))])
}

#[test]
fn unsafe_code_stands_only_where_it_must() {
    let sources = sources();
    let faults = unsafe_elsewhere(&sources);
    assert!(faults.is_empty(), "{faults:#?}");
    for path in UNSAFE {
        assert!(sources[*path].contains("reason = \""), "{path} says why it is unsafe");
    }
    assert_eq!(unsafe_elsewhere(&with_line("host/src/exec.rs", "    unsafe { pointer.read() }")).len(), 1);
    assert_eq!(unsafe_elsewhere(&with_line("tests/cli.rs", "unsafe fn f() {}")).len(), 1);
    assert_eq!(unsafe_elsewhere(&with_line(UNSAFE[0], "unsafe fn f() {}")).len(), 0);
    assert_eq!(unsafe_elsewhere(&with_line("tests/cli.rs", "const POLICY: &str = \"'unsafe-inline'\";")).len(), 0);
}

fn unsafe_elsewhere(sources: &BTreeMap<String, String>) -> Vec<String> {
    // Without keywords of content security policies, as `unsafe-inline`.
    let word = Regex::new(r"\bunsafe\b([^-]|$)").unwrap();
    let elsewhere = sources.iter().filter(|(path, _)| !UNSAFE.contains(&path.as_str()) && *path != OWN);
    elsewhere.flat_map(|(path, text)| found(path, text, &word)).collect()
}

#[test]
fn nothing_is_left_unfinished() {
    let faults = unfinished(&sources());
    assert!(faults.is_empty(), "{faults:#?}");
    for line in [
        "    todo!()",
        "unimplemented!(\"later\")",
        "dbg!(x);",
        "#[ignore]",
        "#[ignore = \"slow\"]",
        "#![allow(dead_code)]",
    ] {
        assert_eq!(unfinished(&with_line("host/src/exec.rs", line)).len(), 1, "{line}");
    }
    assert_eq!(unfinished(&with_line("host/src/exec.rs", "// todo!() in a comment")).len(), 0);
}

fn unfinished(sources: &BTreeMap<String, String>) -> Vec<String> {
    let word = Regex::new(UNFINISHED).unwrap();
    sources.iter().filter(|(path, _)| *path != OWN).flat_map(|(path, text)| found(path, text, &word)).collect()
}

/// A test that waits for a duration is slow on a fast machine and fails on a slow one.
#[test]
fn tests_wait_for_conditions() {
    let faults = sleeping(&sources());
    assert!(faults.is_empty(), "{faults:#?}");
    let sleeps = "fn a_test() {\n    thread::sleep(SECOND);\n}";
    for path in ["tests/cli.rs", "host/src/session/rules/tests.rs", "providers/cdp/tests/cdp/basics.rs"] {
        assert_eq!(sleeping(&with_line(path, sleeps)).len(), 1, "{path}");
        assert_eq!(sleeping(&with_line(path, "    tokio::time::sleep_until(later).await;")).len(), 1, "{path}");
        assert_eq!(sleeping(&with_line(path, &sleeps.replace("a_test", "wait_until"))).len(), 0, "{path}");
    }
    assert_eq!(sleeping(&with_line("host/src/exec.rs", sleeps)).len(), 0);
}

fn sleeping(sources: &BTreeMap<String, String>) -> Vec<String> {
    let word = Regex::new(r"\bsleep(_until)?\(").unwrap();
    let function = Regex::new(r"\bfn (\w+)").unwrap();
    let mut faults = Vec::new();
    for (path, text) in sources {
        // The simulation sleeps in simulated time.
        let is_exempt = path.starts_with("tests/bench/") || [OWN, "tests/lease_sim.rs"].contains(&path.as_str());
        if !is_test(path) || is_exempt {
            continue;
        }
        let mut current = String::new();
        for (index, line) in text.lines().enumerate() {
            if let Some(found) = function.captures(line) {
                found[1].clone_into(&mut current);
            }
            // Polling helpers, one per suite, may sleep between two checks of their condition.
            if word.is_match(line) && !current.ends_with("until") && !current.starts_with("wait") {
                faults.push(format!("{path}:{}: {}", index + 1, line.trim()));
            }
        }
    }
    faults
}

/// Whether a file contains only tests.
fn is_test(path: &str) -> bool {
    path.split('/').any(|part| part == "tests" || part == "tests.rs")
}

#[test]
fn no_file_knows_the_machine_it_was_written_on() {
    let faults = machine_paths(&files());
    assert!(faults.is_empty(), "{faults:#?}");
    // Concatenated, so that this file does not match itself.
    for folder in ["root", "home/someone", "Users", "work", "workspace"] {
        for (path, before) in [("README.md", "cd "), ("host/src/exec.rs", "let path = \""), (".ci/run", "PATH=")] {
            let line = format!("{before}/{folder}/project");
            assert_eq!(machine_paths(&with_line(path, &line)).len(), 1, "{line}");
        }
    }
    assert_eq!(machine_paths(&with_line("README.md", "see https://a.test/home/page and tests/work/x")).len(), 0);
}

fn machine_paths(files: &BTreeMap<String, String>) -> Vec<String> {
    let folders = ["root", "home", "Users", "work", "workspace"].map(|folder| format!("/{folder}/[A-Za-z.]"));
    let word = Regex::new(&format!(r#"(?:^|[\s"'`=(])(?:{})"#, folders.join("|"))).unwrap();
    files.iter().flat_map(|(path, text)| found(path, text, &word)).collect()
}

#[test]
fn files_are_as_long_as_one_noun() {
    let faults = too_long(&sources());
    assert!(faults.is_empty(), "{faults:#?}");
    for (path, most) in [("host/src/exec.rs", LINES_MAX), ("host/src/result/tests/shaping.rs", TEST_LINES_MAX)] {
        let lines = |count: usize| BTreeMap::from([(path.to_owned(), "x\n".repeat(count))]);
        assert_eq!((too_long(&lines(most)).len(), too_long(&lines(most + 1)).len()), (0, 1), "{path}");
    }
}

fn too_long(sources: &BTreeMap<String, String>) -> Vec<String> {
    let long = sources.iter().filter_map(|(path, text)| {
        let (lines, most) = (text.lines().count(), if is_test(path) { TEST_LINES_MAX } else { LINES_MAX });
        (lines > most).then(|| format!("{path} has {lines} lines; {most} are enough for one noun"))
    });
    long.collect()
}

#[test]
fn the_top_level_is_what_a_newcomer_expects() {
    let names = fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(unexpected(names), Vec::<String>::new());
    let planted = ["README.md", "target", ".ci", "notes.txt", "host"].map(str::to_owned);
    assert_eq!(unexpected(planted.into_iter()), ["notes.txt"]);
}

fn unexpected(names: impl Iterator<Item = String>) -> Vec<String> {
    let expected = [
        "Cargo.lock",
        "Cargo.toml",
        "LICENSE",
        "README.md",
        "guest",
        "host",
        "providers",
        "rust-toolchain.toml",
        "rustfmt.toml",
        "spec",
        "tests",
    ];
    names.filter(|name| !name.starts_with('.') && name != "target" && !expected.contains(&name.as_str())).collect()
}

/// The lines of a text that match a pattern; comments in Rust files are ignored.
fn found(path: &str, text: &str, word: &Regex) -> Vec<String> {
    let is_rust = path.ends_with(".rs");
    let code = |line: &'_ str| !is_rust || !line.trim_start().starts_with("//");
    let lines = text.lines().enumerate().filter(|(_, line)| code(line) && word.is_match(line));
    lines.map(|(index, line)| format!("{path}:{}: {}", index + 1, line.trim())).collect()
}

/// The dependencies of a crate: name, and section (`dev`, `build` or empty).
fn dependencies(manifest: &str) -> Vec<(String, String)> {
    let own = manifest.lines().find_map(|line| line.strip_prefix("name = \"codemode-")).unwrap();
    let own = format!("codemode-{}", own.trim_end_matches('"'));
    let mut names = Vec::new();
    let mut dependencies_of = None;
    for line in manifest.lines() {
        if let Some(section) = line.strip_prefix('[') {
            let kind = section.trim_end_matches(']').strip_suffix("dependencies");
            dependencies_of = kind.map(|kind| kind.trim_end_matches('-').to_owned());
        } else if let (Some(section), Some(name)) = (&dependencies_of, line.split(['.', ' ', '=']).next())
            && !name.is_empty()
            && !name.starts_with('#')
            && name != own
        {
            names.push((name.to_owned(), section.clone()));
        }
    }
    assert_eq!(names.is_empty(), !manifest.contains("dependencies]"), "{own} depends on nothing at all?");
    names
}

/// All Rust files, by path from the project's root.
pub(crate) fn sources() -> BTreeMap<String, String> {
    files().into_iter().filter(|(path, _)| path.ends_with(".rs")).collect()
}

/// All text files of the project.
fn files() -> BTreeMap<String, String> {
    fn walk(folder: &Path, prefix: &str, files: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let name = entry.file_name().into_string().unwrap();
            let path = format!("{prefix}{name}");
            if entry.file_type().unwrap().is_dir() {
                // `.git` is a file in a linked worktree, and not part of the project either.
                if name != ".git" && name != "target" {
                    walk(&entry.path(), &format!("{path}/"), files);
                }
            } else if name != ".git"
                && let Ok(text) = fs::read_to_string(entry.path())
            {
                files.insert(path, text);
            }
        }
    }
    let mut files = BTreeMap::new();
    walk(&root(), "", &mut files);
    assert!(files.len() > 100, "the project's files are found");
    files
}
