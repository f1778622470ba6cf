//! The settings: where each is from, what a host takes over while it runs, and the page that has them all, `spec/CONFIG.md`.
//!
//! `CODEMODE_BLESS=1 cargo test -- config` writes the page. Read the difference before it is committed.

use crate::support::{
    http::Serving,
    program::{PATIENCE, Place, wait_until},
    root,
};
use rustix::process::Signal;
use serde_json::{Value as Json, json};
use std::{
    env,
    fmt::Write as _,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Stdio},
};

const OLD: &str = "old-0123456789abcdef0123456789abcdef";
const NEW: &str = "new-fedcba9876543210fedcba9876543210";
/// How the page begins.
const ABOUT: &str = "\
# Settings

A setting is said by a flag, by an environment variable, or in the file of defaults at the place of its name: `session.key` is
`key` in the table `[session]`. A flag goes before a variable, and that before the file. `codemode config show --origin` shows each
as it is, and where that is from. On `SIGHUP`, and within seconds of a change of either file, `codemode serve` reads the file of
defaults and the file of tokens again, takes over what is marked here, and logs which of the others have changed and need a restart.

This page is made by `tests/config.rs` of what `codemode config show --json` answers.

| Name | Flag | Variable | In the file | Default | Taken over | What it is |
|---|---|---|---|---|---|---|
";

/// What the command answers.
fn answer(mut command: Command) -> Json {
    let output = command.stdin(Stdio::null()).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

fn setting<'a>(answer: &'a Json, name: &str) -> &'a Json {
    let settings = answer["data"]["settings"].as_array().unwrap_or_else(|| panic!("{answer}"));
    settings.iter().find(|setting| setting["name"] == name).unwrap_or_else(|| panic!("no {name} in {answer}"))
}

fn write_private(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

#[test]
fn each_setting_says_where_it_is_from_and_no_secret_is_shown() {
    let place = Place::new();
    let file = place.folder().join("config.toml");
    fs::write(
        &file,
        "[session]\nmode = \"reuse\"\nkey = \"shop\"\n[browser]\nconfine = \"off\"\nheaded = true\n\
         [executions]\nconcurrent = 3\nqueued = 4\n[serve]\nallowed_hosts = [\"a.test\"]\n",
    )
    .unwrap();
    let file = file.to_str().unwrap();
    let mut command = place.command(&["config", "show", "--json", "--config", file, "--confine", "require"]);
    command.args(["--cdp-header", "Authorization: hush", "--listen", "127.0.0.1:1"]);
    command.env("CODEMODE_CONCURRENT", "5").env("CODEMODE_CONFINE", "try").env("CODEMODE_CDP_URL", "http://hush@h:1");
    command.env("CODEMODE_TOKEN", OLD).env("CODEMODE_ALLOWED_ORIGIN", "http://a,http://b");
    let shown = answer(command);
    for (name, value, origin, source) in [
        ("session.key", json!("shop"), "file", json!(file)),
        ("session.ttl_ms", json!(600_000), "default", Json::Null),
        ("browser.headed", json!(true), "file", json!(file)),
        ("browser.confine", json!("require"), "flag", json!("--confine")),
        ("executions.concurrent", json!(5), "variable", json!("CODEMODE_CONCURRENT")),
        ("executions.queued", json!(4), "file", json!(file)),
        ("config", json!(file), "flag", json!("--config")),
        ("browser.cdp_url", json!("(secret)"), "variable", json!("CODEMODE_CDP_URL")),
        ("browser.cdp_headers", json!("(secret)"), "flag", json!("--cdp-header")),
        ("serve.token", json!("(secret)"), "variable", json!("CODEMODE_TOKEN")),
        ("serve.listen", json!("127.0.0.1:1"), "flag", json!("--listen")),
        ("serve.allowed_hosts", json!(["a.test"]), "file", json!(file)),
        ("serve.allowed_origins", json!(["http://a", "http://b"]), "variable", json!("CODEMODE_ALLOWED_ORIGIN")),
        ("serve.grace_ms", json!(10_000), "default", Json::Null),
    ] {
        let found = setting(&shown, name);
        assert_eq!((&found["value"], &found["origin"], &found["source"]), (&value, &json!(origin), &source), "{name}");
    }
    assert!(!shown.to_string().contains("hush") && !shown.to_string().contains(OLD), "{shown}");

    let words = place.run(&["config", "show", "--origin", "--config", file]);
    let words = String::from_utf8(words.stdout).unwrap();
    let line = |name: &str| words.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{words}"));
    assert!(
        line("session.key ").contains("\"shop\"") && line("session.key ").ends_with(&format!("file {file}")),
        "{words}"
    );
    assert!(line("serve.listen ").ends_with("default"), "{words}");
    let words = place.run(&["config", "show"]);
    assert!(String::from_utf8(words.stdout).unwrap().contains("serve.listen"));

    let refused = place.run(&["config", "show", "--json", "--cdp-header", "hush"]);
    let words = format!("{refused:?}");
    assert!(
        !refused.status.success() && words.contains("a header is written as") && !words.contains("hush"),
        "{words}"
    );

    // What the file must not say is told of the file, and of no flag.
    for (text, word) in [
        ("[session]\nmode = \"reuse\"\n", "session.key"),
        ("[serve]\ntoken = \"hush\"\n", "there is no setting serve.token"),
        ("[browser]\ncdp_headers = \"Authorization: hush\"\n", "browser.cdp_headers"),
        ("[browser]\ncdp_url = [\"http://hush@h\"]\n", "browser.cdp_url"),
        ("[browser]\ncdp_headers = [\"hush\"]\n", "a header is written as"),
        ("[sesion]\nkey = \"a\"\n", "there is no setting sesion"),
        ("session = 1\n", "session"),
        ("[serve]\ngrace_ms = 1e9\n", "serve.grace_ms"),
        ("[log]\nformat = \"xml\"\n", "xml"),
        ("[", "the file of defaults"),
    ] {
        let wrong = place.folder().join("wrong.toml");
        fs::write(&wrong, text).unwrap();
        let refused = answer(place.command(&["config", "show", "--json", "--config", wrong.to_str().unwrap()]));
        assert_eq!(refused["error"]["code"], "INVALID_ARGUMENT", "{text}: {refused}");
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.contains("wrong.toml is wrong") && message.contains(word), "{text}: {message}");
        assert!(!message.contains("hush"), "{message}");
    }
    for flags in [&["--confine", "maybe"][..], &["--concurrent", "many"], &["--listen", "here"]] {
        let refused = place.run(&[&["config", "show"], flags].concat());
        assert_eq!(refused.status.code(), Some(2), "{flags:?}: {refused:?}");
    }
}

#[test]
fn the_page_has_every_setting() {
    let place = Place::new();
    let mut command = place.command(&["config", "show", "--json"]);
    command.env_remove("CODEMODE_IMAGE_DIR");
    let shown = answer(command);
    let code = |text: &Json| text.as_str().map(|text| format!("`{text}`")).unwrap_or_default();
    let yes = |wanted: &Json| if *wanted == true { "yes" } else { "" };
    let page = shown["data"]["settings"].as_array().unwrap().iter().fold(ABOUT.to_owned(), |mut page, setting| {
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {} | {} | {} |",
            code(&setting["name"]),
            code(&setting["flag"]),
            code(&setting["variable"]),
            yes(&setting["in_file"]),
            setting["default"].as_str().unwrap_or_default(),
            yes(&setting["reloads"]),
            setting["about"].as_str().unwrap(),
        );
        page
    });
    let path = root().join("spec/CONFIG.md");
    if env::var_os("CODEMODE_BLESS").is_some_and(|wanted| wanted == "1") {
        fs::write(&path, &page).unwrap();
    }
    let there = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(there, page, "CODEMODE_BLESS=1 cargo test -- config writes it");
}

#[test]
fn a_host_sees_that_its_files_have_changed() {
    let place = Place::new();
    // The usual place, where nothing is yet.
    let config = place.folder().join("config/codemode/config.toml");
    let (tokens, log) = (place.folder().join("tokens.toml"), place.folder().join("log"));
    let logged = || fs::read_to_string(&log).unwrap();
    let times = |word: &str| logged().matches(word).count();
    write_private(&tokens, &format!("[ci]\ntoken = \"{OLD}\"\n"));
    let mut command = place.command(&["serve", "--listen", "127.0.0.1:0", "--log", "info", "--grace", "1s"]);
    command.arg("--token-file").arg(&tokens).stderr(fs::File::create(&log).unwrap());
    let mut serving = Serving::of(command);
    let (old, new) = (format!("Bearer {OLD}"), format!("Bearer {NEW}"));
    let (old, new) = ([("authorization", old.as_str())], [("authorization", new.as_str())]);
    let status = |headers: &[(&str, &str)]| serving.ask("GET", "/metrics", headers, "").status;
    let length = |headers: &[(&str, &str)]| {
        let answer = serving.execute(headers, &json!({"code": "'x'.repeat(50_000)"}));
        answer["data"]["result"].as_str().unwrap_or_else(|| panic!("{answer}")).len()
    };
    assert!(length(&old) > 20_000);
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    fs::write(&config, "[result]\nchars = 1000\n").unwrap();
    wait_until("the new settings", PATIENCE, || length(&old) < 1_100);
    // As an editor does that writes beside the file first.
    let beside = place.folder().join("beside");
    write_private(&beside, &format!("[ops]\ntoken = \"{NEW}\"\n"));
    fs::rename(&beside, &tokens).unwrap();
    wait_until("the new token", PATIENCE, || status(&new) == 200);
    assert_eq!(status(&old), 401);
    // What is wrong changes nothing, is told once, and is seen to be right again.
    fs::write(&config, "[result]\nchars = 1\n").unwrap();
    wait_until("a fault", PATIENCE, || times("result.chars must be between") == 1);
    assert!(length(&new) < 1_100);
    let reloaded = times("the settings were reloaded");
    fs::write(&config, "[result]\nchars = 3000\n[network]\ndeny = [\"a.test\"]\n").unwrap();
    wait_until("the settings", PATIENCE, || (2_000..3_300).contains(&length(&new)));
    wait_until("what needs a restart", PATIENCE, || times("need a restart") == 1);
    assert_eq!((times("result.chars must be between"), times("the settings were reloaded")), (1, reloaded + 1));
    assert_eq!((status(&new), status(&old)), (200, 401));
    // A file that goes says nothing any more.
    fs::remove_file(&config).unwrap();
    wait_until("the defaults", PATIENCE, || length(&new) > 20_000);
    assert!(!logged().contains(OLD) && !logged().contains(NEW), "{}", logged());
    serving.program.signal(Signal::TERM);
    assert!(serving.program.ended(PATIENCE).success());
}

#[test]
fn a_hangup_has_a_host_take_over_what_it_can_and_say_what_it_cannot() {
    let place = Place::new();
    let (config, tokens, log) =
        (place.folder().join("config.toml"), place.folder().join("tokens.toml"), place.folder().join("log"));
    let logged = || fs::read_to_string(&log).unwrap();
    let told = |word: &str| wait_until(word, PATIENCE, || logged().contains(word));
    fs::write(&config, "[result]\nchars = 1000\n").unwrap();
    write_private(&tokens, &format!("[ci]\ntoken = \"{OLD}\"\n"));
    let mut command =
        place.command(&["serve", "--listen", "127.0.0.1:0", "--log-format", "json", "--log", "info", "--grace", "1s"]);
    command.arg("--config").arg(&config).arg("--token-file").arg(&tokens).stderr(fs::File::create(&log).unwrap());
    let mut serving = Serving::of(command);
    let (old, new) = (format!("Bearer {OLD}"), format!("Bearer {NEW}"));
    let (old, new) = ([("authorization", old.as_str())], [("authorization", new.as_str())]);
    let status = |headers: &[(&str, &str)]| serving.ask("GET", "/metrics", headers, "").status;
    let length = |headers: &[(&str, &str)]| {
        let answer = serving.execute(headers, &json!({"code": "'x'.repeat(10_000)"}));
        answer["data"]["result"].as_str().unwrap_or_else(|| panic!("{answer}")).len()
    };
    assert_eq!((status(&old), status(&new)), (200, 401));
    assert!(length(&old) < 1_100);
    let running =
        json!({"code": "console.warn('running'); await new Promise((r) => setTimeout(r, 1e8))", "timeout_ms": 600_000});
    let running = serving.begin(&old, &running);

    write_private(&tokens, &format!("[other]\ntoken = \"{NEW}\"\n"));
    fs::write(&config, "[result]\nchars = 3000\n[network]\ndeny = [\"a.test\"]\n").unwrap();
    serving.program.signal(Signal::HUP);
    told("need a restart");
    wait_until("the new token", PATIENCE, || status(&new) == 200);
    assert_eq!(status(&old), 401);
    assert!((2_000..3_300).contains(&length(&new)));
    let events: Vec<Json> = logged().lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let of = |message: &str| {
        let found =
            events.iter().find(|event| event["fields"]["message"].as_str().is_some_and(|it| it.contains(message)));
        found.unwrap_or_else(|| panic!("{message}: {}", logged()))["fields"].clone()
    };
    assert_eq!(of("need a restart")["settings"], "network.deny");
    assert_eq!(
        (&of("were reloaded")["callers"], &of("were reloaded")["since_start"]),
        (&json!(1), &json!("result.chars"))
    );

    // What is wrong changes nothing.
    for (file, text, word) in [
        (&tokens, "[other]\ntoken = \"short\"\n", "the token has 5 characters"),
        (&tokens, "", "names no caller"),
        (&config, "[result]\nchars = 1\n", "result.chars must be between"),
    ] {
        let before = fs::read_to_string(file).unwrap();
        fs::write(file, text).unwrap();
        serving.program.signal(Signal::HUP);
        told(word);
        assert_eq!((status(&new), status(&old), status(&[])), (200, 401, 401), "{word}");
        fs::write(file, before).unwrap();
    }
    assert!((2_000..3_300).contains(&length(&new)));
    assert!(!logged().contains(OLD) && !logged().contains(NEW), "{}", logged());
    // The first line is for people.
    let no_json: Vec<_> = logged()
        .lines()
        .skip(1)
        .filter(|line| serde_json::from_str::<Json>(line).is_err())
        .map(str::to_owned)
        .collect();
    assert_eq!(no_json, Vec::<String>::new());

    serving.program.signal(Signal::TERM);
    assert!(serving.program.ended(PATIENCE).success());
    running.join().unwrap();
}
