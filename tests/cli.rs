//! The command line: output, exit codes, signals.

use crate::support::program::{PATIENCE, Place, Running, need_browser};
use rustix::process::Signal;
use serde_json::{Value as Json, json};
use std::{
    io::{Read as _, Write as _},
    process::{Output, Stdio},
};

fn seen(output: &Output) -> (i32, &str, &str) {
    let text = |bytes| std::str::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

/// The one line of `--json`.
fn envelope(output: &Output) -> Json {
    let (_, out, _) = seen(output);
    assert_eq!(out.matches('\n').count(), 1, "one line: {out}");
    serde_json::from_str(out).unwrap()
}

#[test]
fn results_are_data_and_the_rest_is_said_beside_them() {
    let place = Place::new();
    let cases: [(&str, &str, &str); 5] = [
        ("1 + 1", "2\n", ""),
        ("'a string\\nas it is'", "a string\nas it is\n", ""),
        ("({ a: [1] })", "{\n  \"a\": [\n    1\n  ]\n}\n", ""),
        ("console.log('log'); console.error('oh'); undefined", "undefined\n", "log\nerror: oh\n"),
        ("null", "null\n", ""),
    ];
    for (code, out, err) in cases {
        assert_eq!(seen(&place.run(&["run", "-e", code])), (0, out, err), "{code}");
    }
    let script = place.folder().join("script.ts");
    std::fs::write(&script, "const n: number = 20;\nn + 1").unwrap();
    assert_eq!(seen(&place.run(&["run", script.to_str().unwrap()])), (0, "21\n", ""));

    let mut child = place.command(&["run", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"'from standard input'").unwrap();
    assert_eq!(seen(&child.wait_with_output().unwrap()).1, "from standard input\n");
}

#[test]
fn json_is_one_line_of_the_same_envelope() {
    let place = Place::new();
    let good = envelope(&place.run(&["run", "--json", "-e", "console.log('l'); ({ n: null, d: new Date(0) })"]));
    assert_eq!((&good["ok"], &good["command"]), (&json!(true), &json!("browser_execute")));
    let date = json!({"$type": "date", "value": "1970-01-01T00:00:00.000Z"});
    assert_eq!(good["data"]["result"], json!({"n": null, "d": date}));
    assert_eq!(good["data"]["logs"], json!([{"level": "log", "text": "l"}]));
    assert!(good["context"]["execution_id"].is_string() && good["meta"]["duration_ms"].is_u64(), "{good}");

    let output = place.run(&["run", "--json", "-e", "throw new Error('bad')"]);
    let bad = envelope(&output);
    assert_eq!(
        (output.status.code(), &bad["ok"], &bad["error"]["code"]),
        (Some(1), &json!(false), &json!("SCRIPT_ERROR"))
    );
    assert!(bad["error"]["hint"].is_string() && bad["error"]["retryable"] == false, "{bad}");
}

#[test]
fn how_much_of_a_result_is_told_can_be_set_for_a_call_and_for_all() {
    let place = Place::new();
    let file = place.folder().join("config.toml");
    let file = file.to_str().unwrap();
    let kept = |arguments: &[&str]| {
        let output = place.run(&[&["run", "--json", "--config", file, "-e", "'x'.repeat(50000)"], arguments].concat());
        let answer = envelope(&output);
        let told = answer["data"]["result"].to_string().chars().count();
        assert_eq!(answer["meta"]["truncated"], told < 50_002, "{answer}");
        told
    };
    std::fs::write(file, "").unwrap();
    assert_eq!(kept(&[]), 24_000);
    assert_eq!(kept(&["--result-chars", "1000"]), 1_000);
    assert_eq!(kept(&["--result-chars", "60000"]), 50_002, "with its quotes");
    std::fs::write(file, "[result]\nchars = 4e4\n").unwrap();
    assert_eq!(kept(&[]), 40_000);
    assert_eq!(kept(&["--result-chars", "200"]), 200);
    for chars in ["199", "240001", "many"] {
        let output = place.run(&["run", "-e", "1", "--result-chars", chars]);
        assert_eq!(output.status.code(), Some(2), "{chars}: {output:?}");
    }
    for chars in ["199", "240001"] {
        std::fs::write(file, format!("[result]\nchars = {chars}\n")).unwrap();
        let answer = envelope(&place.run(&["run", "--json", "--config", file, "-e", "1"]));
        assert_eq!(answer["error"]["code"], "INVALID_ARGUMENT", "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains("result.chars"), "{answer}");
    }
}

#[test]
fn failures_exit_with_1_and_wrong_command_lines_with_2() {
    let place = Place::new();
    for (code, beginning) in [("throw new Error('bad')", "error SCRIPT_ERROR: "), ("let = = 1", "error SYNTAX_ERROR: ")]
    {
        let output = place.run(&["run", "-e", code]);
        let (exit, out, err) = seen(&output);
        assert_eq!((exit, out), (1, ""), "{err}");
        assert!(err.starts_with(beginning) && err.contains("\nhint: "), "{err}");
    }
    let output = place.run(&["run", "/no/such/file.js"]);
    assert!(seen(&output).2.starts_with("error IO_ERROR: "), "{output:?}");
    let timeout = place.run(&["run", "--timeout", "50ms", "-e", "await new Promise((r) => setTimeout(r, 1e6))"]);
    assert!(seen(&timeout).2.starts_with("error TIME_EXCEEDED: "), "{timeout:?}");
    let wrong: [&[&str]; 5] =
        [&[], &["run"], &["run", "-e", "1", "file"], &["run", "--timeout", "5", "-e", "1"], &["fly"]];
    for arguments in wrong {
        let output = place.run(arguments);
        let (exit, out, err) = seen(&output);
        assert_eq!((exit, out), (2, ""), "{arguments:?}");
        assert!(!err.is_empty());
    }
    let sessions: [(&[&str], &str); 5] = [
        (&["--session-mode", "reuse"], "--session-key <KEY>"),
        (&["--session-mode", "dynamic"], "--session-key <KEY>"),
        (&["--session-key", ""], "--session-key <KEY>"),
        (&["--session-key", "a b"], "--session-key <KEY>"),
        (&["--session-mode", "one-shot", "--session-key", "shop"], "--session-mode one-shot"),
    ];
    for (arguments, named) in sessions {
        let output = place.run(&[&["run", "-e", "1"], arguments].concat());
        let (exit, out, err) = seen(&output);
        assert_eq!((exit, out), (2, ""), "{arguments:?}: {err}");
        assert!(err.contains(named), "{arguments:?}: {err}");
    }
}

#[test]
fn an_interrupt_cancels_and_a_closed_output_is_no_panic() {
    let place = Place::new();
    let mut command = place.command(&["run", "--json", "-e", "await new Promise((r) => setTimeout(r, 1e8))"]);
    command.env("CODEMODE_LOG", "off");
    let mut program = Running::start(command);
    // The answer is the same whether the signal arrives before or while the script runs.
    program.wait_until_it_handles(Signal::INT);
    program.signal(Signal::INT);
    assert_eq!(program.receive()["error"]["code"], "CANCELLED");
    assert_eq!(program.ended(PATIENCE).code(), Some(1));

    let mut command = place.command(&["run", "-e", "'x'.repeat(20000)"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!((child.wait().unwrap().code(), err.as_str()), (Some(0), ""));
}

/// Administration commands open at most the store: they do not load the sandbox, and create no folders that they do not
/// need.
#[test]
fn commands_that_execute_nothing_make_no_image() {
    let place = Place::new();
    let (images, state) = (place.folder().join("images"), place.folder().join("state"));
    let run = |arguments: &[&str]| {
        let output = place.command(arguments).env("CODEMODE_IMAGE_DIR", &images).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {output:?}");
    };
    run(&["types"]);
    assert!(!state.exists());
    for arguments in [["sessions", "list"], ["sessions", "sweep"], ["audit", "show"], ["audit", "verify"]] {
        run(&arguments);
    }
    assert!(state.exists() && !images.exists());
}

#[test]
fn types_are_typescript() {
    let output = Place::new().run(&["types"]);
    let (exit, out, _) = seen(&output);
    assert!(exit == 0 && out.contains("declare const cdp: {") && out.contains("waitForEvent("), "{out}");
}

#[test]
fn the_doctor_finds_all_well_or_names_the_remedy() {
    need_browser();
    let place = Place::new();
    let output = place.run(&["doctor", "--json"]);
    let healthy = envelope(&output);
    assert_eq!((output.status.code(), &healthy["ok"]), (Some(0), &json!(true)), "{healthy}");
    let checks = healthy["data"]["checks"].as_array().unwrap();
    assert!(checks.iter().all(|check| check["status"] == "ok" || check["remedy"].is_string()), "{healthy}");
    assert!(place.processes().is_empty());

    let output = place.run(&["doctor", "--json", "--browser", "/no/such/browser"]);
    let ill = envelope(&output);
    assert_eq!((output.status.code(), &ill["error"]["code"]), (Some(1), &json!("NOT_READY")), "{ill}");
    let browser = ill["data"]["checks"].as_array().unwrap().iter().find(|check| check["name"] == "browser").unwrap();
    assert!(browser["status"] == "failed" && browser["remedy"].is_string(), "{ill}");
    let output = place.run(&["doctor", "--browser", "/no/such/browser"]);
    assert!(seen(&output).1.contains("\nFAILED  browser: ") && seen(&output).1.contains("\n        -> "), "{output:?}");
}

#[test]
fn the_demo_logs_in() {
    need_browser();
    let place = Place::new();
    let output = place.run(&["demo", "--json"]);
    let demo = envelope(&output);
    assert_eq!(output.status.code(), Some(0), "{demo}");
    let answer = &demo["data"]["answer"];
    let account = json!({"user": "ada", "plan": "analytical", "title": "Account of ada", "sessionCookie": true});
    assert_eq!(answer["data"]["result"], account);
    assert!(place.processes().is_empty());

    let output = place.run(&["demo"]);
    let (_, out, _) = seen(&output);
    for part in ["--- script\nconst site = \"http://127.0.0.1:", "--- answer\n{\n  \"user\": \"ada\"", "--- timings\n"]
    {
        assert!(out.contains(part), "{part} is missing in {out}");
    }
}

#[test]
fn data_of_an_answer_is_put_into_a_folder() {
    need_browser();
    let place = Place::new();
    let folder = place.folder().join("out");
    let code = "
        const { sessionId } = await cdp.attachToTarget();
        const { data: shot } = await cdp.send('Page.captureScreenshot', {}, { sessionId });
        const { data: pdf } = await cdp.send('Page.printToPDF', {}, { sessionId });
        console.log('again: data:application/pdf;base64,' + pdf.slice(0, 800));
        ({ shot, pdf, page: `<a href=\"data:application/pdf;base64,${pdf}\">`, long: 'x'.repeat(50_000) })";
    let output = place.run(&["run", "-e", code, "--output", folder.to_str().unwrap()]);
    let (status, out, err) = seen(&output);
    assert_eq!(status, 0, "{err}");
    let words: Json = serde_json::from_str(out).unwrap();
    let file = |number: u8| format!("[file {number}: application/pdf, ");
    assert!(words["shot"].as_str().unwrap().starts_with("[image 1: image/png, "), "{words}");
    assert!(words["pdf"].as_str().unwrap().starts_with(&file(1)), "{words}");
    assert!(words["page"].as_str().unwrap().starts_with(&format!("<a href=\"{}", file(2))), "{words}");
    assert!(err.contains("again: [log 1: application/pdf, 600 bytes]"), "{err}");
    let names = ["image-1.png", "file-1.pdf", "file-2.pdf", "log-1.pdf", "result.json"];
    for name in names {
        assert!(err.contains(&format!("saved: {}\n", folder.join(name).display())), "{name}: {err}");
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), names.len());
    let read = |name: &str| std::fs::read(folder.join(name)).unwrap();
    assert!(read("image-1.png").starts_with(b"\x89PNG"));
    let pdf = read("file-1.pdf");
    assert!(pdf.starts_with(b"%PDF-") && pdf.trim_ascii_end().ends_with(b"%%EOF") && read("file-2.pdf") == pdf);
    assert_eq!(read("log-1.pdf"), pdf[..600]);

    // A failure to save files is an error, but the answer is still printed.
    let file = place.folder().join("a file");
    std::fs::write(&file, "").unwrap();
    let envelope = envelope(&place.run(&["run", "--json", "-e", code, "--output", file.to_str().unwrap()]));
    assert_eq!((&envelope["ok"], &envelope["error"]["code"]), (&json!(false), &json!("IO_ERROR")));
    assert_eq!(envelope["data"]["files"].as_array().map(Vec::len), Some(3), "{}", envelope["data"]["files"]);
    assert_eq!(envelope["data"]["files"][2]["path"], "/logs");
}

#[test]
fn a_dump_tells_of_an_execution_and_holds_no_secret() {
    need_browser();
    let place = Place::new();
    let secret = "hush-hush";
    let code = format!("await cdp.send('Target.getTargets'); console.log('{secret}'); '{secret}'.repeat(5000)");
    let key = "ada@hush.test";
    let ran = envelope(&place.run(&["run", "--json", "-e", &code, "--session-key", key]));
    let execution = ran["context"]["execution_id"].as_str().unwrap();
    let output = place.run(&["debug", "dump", execution, "--json"]);
    let dump = envelope(&output);
    let data = &dump["data"];
    assert_eq!((&dump["ok"], &data["version"]), (&json!(true), &json!(env!("CARGO_PKG_VERSION"))));
    assert_eq!((&data["audit"], &data["files"][0]["name"]), (&json!("intact"), &json!("result.json")));
    assert!(data["browser"].as_str().unwrap().contains("Chrom"), "{data}");
    let rows = data["rows"].as_array().unwrap();
    let kinds: Vec<_> = rows.iter().map(|row| row["kind"].as_str().unwrap()).collect();
    for kind in ["execution.started", "lease.acquired", "execution.ended"] {
        assert!(kinds.contains(&kind), "{kind}: {kinds:?}");
    }
    assert!(rows.iter().any(|row| row["key"] == "key-1"), "{data}");
    let printed = seen(&output).1;
    let folder = place.folder().to_string_lossy().into_owned();
    for hidden in [secret, key, "getTargets'", &*folder] {
        assert!(!printed.contains(hidden), "{hidden}: {printed}");
    }
    let words = place.run(&["debug", "dump", execution]);
    assert!(seen(&words).1.contains("execution.started") && !seen(&words).1.contains(key), "{words:?}");
    let unknown = place.run(&["debug", "dump", "x-0"]);
    assert!(unknown.status.code() == Some(1) && seen(&unknown).2.contains("knows no execution"), "{unknown:?}");
    place.run(&["sessions", "close", key]);
}
