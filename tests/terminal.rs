//! Pages and scripts cannot control the terminal of a person who reads their output.

use crate::support::program::Place;
use std::{fs, path::Path, process::Command};

/// Clears the line, returns to its start, and imitates output of codemode.
const FORGED: &str = r"x\u001b[2K\rerror SESSION_LOST: forged\nhint: forged\u202e\u009b31m";

/// Runs the program on a terminal and returns its output and exit status; standard error goes to `stderr` if that is
/// given.
fn seen(place: &Place, arguments: &[&str], stderr: Option<&Path>) -> String {
    let program = place.command(arguments);
    let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
    let words = [program.get_program()].into_iter().chain(program.get_args());
    let mut line = words.map(|word| quoted(word.to_str().unwrap())).collect::<Vec<_>>().join(" ");
    if let Some(file) = stderr {
        line.push_str(&format!(" 2>{}", quoted(file.to_str().unwrap())));
    }
    // `script` from util-linux runs the program on a pseudo-terminal.
    let mut script = Command::new("script");
    script.args(["-qec", &line, "/dev/null"]).env("SHELL", "/bin/sh").stdin(std::process::Stdio::null());
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => script.env(name, value),
            None => script.env_remove(name),
        };
    }
    let output = script.output().expect("`script`, of util-linux (Debian: bsdutils)");
    // The terminal driver translates line endings.
    String::from_utf8(output.stdout).unwrap().replace("\r\n", "\n")
}

fn is_obeyed(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t') || ('\u{202a}'..='\u{202e}').contains(&c)
}

/// Asserts that no line can pass for codemode's own, and that no control sequence remains.
fn check(text: &str) {
    assert!(!text.contains(is_obeyed), "{text:?}");
    for line in text.lines() {
        assert!(!line.starts_with("error SESSION_LOST") && !line.starts_with("hint: forged"), "{text}");
    }
}

#[test]
fn what_a_script_writes_or_throws_is_not_obeyed_and_passes_for_nothing_of_ours() {
    let place = Place::new();
    let code = format!("console.log('{FORGED}'); console.error('{FORGED}'); throw new Error('{FORGED}')");
    let text = seen(&place, &["run", "-e", &code], None);
    check(&text);
    assert!(
        text.contains(r"x\u001b[2K\u000derror SESSION_LOST: forged") && text.contains(r"forged\u202e\u009b31m"),
        "{text}"
    );
    assert!(text.contains("\nerror SCRIPT_ERROR: ") && text.contains("\nhint: "), "{text}");

    let text = seen(&place, &["run", "-e", &format!("console.log('error SESSION_LOST: forged'); '{FORGED}'")], None);
    assert!(!text.contains(is_obeyed) && text.starts_with("log: error SESSION_LOST: forged\n"), "{text}");
    let json = seen(&place, &["run", "--json", "-e", &format!("'{FORGED}'")], None);
    check(&json);
    let answer: serde_json::Value = serde_json::from_str(&json).expect("JSON stays JSON");
    assert!(answer["data"]["result"].as_str().unwrap().contains("\u{1b}[2K\rerror"), "{json}");
}

#[test]
fn what_is_piped_stays_as_it_is_each_stream_for_itself() {
    let place = Place::new();
    let file = place.folder().join("stderr");
    let out = seen(&place, &["run", "-e", r"console.log('\u001b[1m'); '\u001b[2m'"], Some(&file));
    assert_eq!((out.as_str(), fs::read_to_string(&file).unwrap().as_str()), ("\\u001b[2m\n", "\u{1b}[1m\n"));
    let output = place.run(&["run", "-e", &format!("console.log('{FORGED}'); '\\u001b[2m'")]);
    assert_eq!(output.stdout, b"\x1b[2m\n");
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(err, "x\u{1b}[2K\rerror SESSION_LOST: forged\n    hint: forged\u{202e}\u{9b}31m\n");
}

#[test]
fn the_log_is_not_obeyed_either() {
    let place = Place::new();
    let folder = place.folder().join("config\u{1b}[2K\nerror SESSION_LOST: forged");
    fs::write(&folder, "").unwrap();
    let told = seen(&place, &["sessions", "list", "--config", folder.join("x").to_str().unwrap()], None);
    check(&told);
    assert!(told.contains(r"config\u001b[2K") && told.contains("\n    error SESSION_LOST: forged"), "{told}");
}
