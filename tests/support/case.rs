//! Case files: scripts, each with its expected outcome in header comments.
//!
//! A file contains any number of cases. Each starts with a line `// --- title`, followed by lines `//! key: value`; the
//! rest, up to the next case, is the script byte for byte, without its final line break. Lines `//!| text` continue the
//! value above. In a script, `«1000 "ab"»` stands for `ab` repeated a thousand times.
//!
//! | key | value |
//! |---|---|
//! | `result` | the result in the form of `Value::to_json` |
//! | `error`, `message`, `hint` | code and texts of the error |
//! | `details.path` | a detail of the error, as JSON; `absent` if the error must not have it |
//! | `console` | the lines as a JSON array, those of a level other than `log` as `level: text`; `[]` by default |
//! | `warnings` | a JSON array; `[]` by default |
//! | `calls` | the number of calls that the script made |
//! | `timeout_ms`, `cpu_ms`, `seed` | fields of the request; times are the maximum by default |
//! | `as` | `crlf` or `bom`: how the script is encoded |
//! | `bytes_max` | the maximum size of result and console as JSON |
//! | `key` | in `verbs`: the session key of the browser, for a browser that no other case uses |
//!
//! In the groups `browser` and `verbs`, executions have the namespaces `cdp` and `browser`. In `browser` each case has
//! its own browser; the cases of a file in `verbs` share one, which is reset before each case, unless they name a key.
//! `{{site}}` in a script is the URL of the demo's site, or in `verbs` of the site in `support/pages.rs`, which is also
//! served at `{{other}}`; `http://NAME.{{foreign}}` is a program of `tests/foreign`. The group `examples` has one file
//! per verb of `browser`, named after it: a script that a reader can run unchanged, with its full result. There
//! `{{site}}` is the demo's site.
//!
//! A text between slashes is a regular expression, also within an array; any other text must be equal. Every case has a
//! `result` or an `error`.
//!
//! `CODEMODE_BLESS=1 cargo test -- cases::GROUP` writes the actual outcome into the headers of failed cases; headers
//! that still match stay as they are. Review the diff before committing it.

use super::{
    browsing::{Browsing, GONE},
    lab::{self, Lab},
    program::need_browser,
};
use codemode_host::exec::{Execution, Observer, Request};
use codemode_spec::{
    limits::{
        CONSOLE_BYTES_KEPT, CPU_MS_MAX, ERROR_DETAILS_CHARS_MAX, ERROR_TEXT_CHARS_MAX, WALL_MS_MAX, WARNINGS_MAX,
    },
    message::{ConsoleLine, Level},
};
use regex::Regex;
use serde_json::{Value as Json, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    ffi::OsStr,
    fmt::Write as _,
    fs,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

const KEYS: &[&str] = &[
    "result",
    "error",
    "message",
    "hint",
    "console",
    "warnings",
    "calls",
    "bytes_max",
    "timeout_ms",
    "cpu_ms",
    "seed",
    "as",
    "key",
];
/// How many characters of a script or a value are shown when a case fails.
const SHOWN_CHARS: usize = 1_000;

/// A script and its expected outcome.
struct Case {
    title: String,
    line: usize,
    script: String,
    expected: Vec<(String, String)>,
}

/// The folder of the case files.
pub fn folder() -> PathBuf {
    super::root().join("tests/cases")
}

/// The group of the examples.
pub const EXAMPLES: &str = "examples";

/// An example of a verb: a case with one script and its whole result.
pub struct Example {
    pub title: String,
    pub script: String,
    pub result: Json,
}

/// The examples, by verb.
pub fn examples() -> BTreeMap<String, Example> {
    let files = fs::read_dir(folder().join(EXAMPLES)).expect("the folder of the examples").flatten();
    let examples = files.map(|file| {
        let name = file.path().file_stem().and_then(OsStr::to_str).expect("a plain name").to_owned();
        let (_, case) = read_example(&name);
        let result = case.value("result").and_then(|result| serde_json::from_str(result).ok());
        let result = result.unwrap_or_else(|| panic!("{EXAMPLES}/{name}.js: its result is written out"));
        let is_shown = case.expected.len() == 1 && case.script.lines().count() <= 15;
        assert!(is_shown, "{EXAMPLES}/{name}.js: an example has a result, nothing else, and at most 15 lines");
        (name, Example { title: case.title, script: case.script, result })
    });
    examples.collect()
}

fn read_example(name: &str) -> (String, Case) {
    let path = folder().join(EXAMPLES).join(format!("{name}.js"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut cases = parse(&text).unwrap_or_else(|fault| panic!("{EXAMPLES}/{name}.js:{fault}"));
    assert_eq!(cases.len(), 1, "{EXAMPLES}/{name}.js is one example");
    (text, cases.remove(0))
}

/// Runs all examples in sequence in a shared browser, which is reset before each. Fails with all examples that have
/// another outcome or do not call their verb.
pub fn run_examples() {
    need_browser();
    let examples = examples();
    let failures = lab::block_on(async {
        let browsing = Browsing::on_pages().await;
        let mut failures = Vec::new();
        for name in examples.keys() {
            failures.extend(run_example(&browsing, name).await);
        }
        browsing.close_sessions().await;
        browsing.assert_gone(GONE).await;
        failures
    });
    assert!(failures.is_empty(), "{} of {} failed\n\n{}", failures.len(), examples.len(), failures.join("\n"));
}

async fn run_example(browsing: &Browsing, name: &str) -> Option<String> {
    let (text, case) = read_example(name);
    let called = Arc::new(Called::default());
    let request = browsing.prepare(case.request(), None).await;
    let execution = browsing.lab.observed(request, called.clone()).await;
    let mut faults = case.faults(&execution);
    if blesses() && !faults.is_empty() {
        let path = folder().join(EXAMPLES).join(format!("{name}.js"));
        fs::write(path, case.blessed(&text, &execution)).expect("the file can be written");
        faults.clear();
    }
    let called = called.0.lock().unwrap_or_else(PoisonError::into_inner);
    if !called.contains(name) {
        faults.push(format!("it does not call {name}, but {called:?}"));
    }
    (!faults.is_empty()).then(|| case.report(EXAMPLES, name, &faults))
}

/// Records the methods that a script called.
#[derive(Default)]
struct Called(Mutex<BTreeSet<String>>);

impl Observer for Called {
    fn call(&self, _: &str, method: &str, _: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(method.to_owned());
    }
}

/// Whether actual outcomes are written into the files.
fn blesses() -> bool {
    env::var_os("CODEMODE_BLESS").is_some_and(|wanted| wanted == "1")
}

/// Runs the cases of a file and fails with all mismatches. After each case the host must still answer; if the cases are
/// hostile, executions that run at the same time must still finish within their own timeout.
pub fn run_file(group: &str, name: &str) {
    let path = folder().join(group).join(format!("{name}.js"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{group}/{name}.js: {error}"));
    let cases = parse(&text).unwrap_or_else(|fault| panic!("{group}/{name}.js:{fault}"));
    if matches!(group, "browser" | "verbs") {
        need_browser();
    }
    let blesses = blesses();
    let mut blessed = text.clone();
    let failures = lab::block_on(async {
        let browsing = match group {
            "browser" => Some(Browsing::new().await),
            "verbs" => Some(Browsing::on_pages().await),
            _ => None,
        };
        let lab = browsing.as_ref().map_or(Lab::shared(), |browsing| &browsing.lab);
        let neighbour = matches!(group, "hostile" | "bounds").then(|| lab.neighbour());
        let mut failures = Vec::new();
        for case in &cases {
            let mut request = case.request();
            if let Some(browsing) = &browsing {
                request = browsing.prepare(request, case.value("key")).await;
            }
            let execution = lab.execute(request).await;
            let mut faults = case.faults(&execution);
            if blesses && !faults.is_empty() {
                blessed = case.blessed(&blessed, &execution);
                faults = Vec::new();
            }
            let after = lab.execute(Request::new("1 + 1")).await;
            if after.outcome.as_ref().map(|shaped| &shaped.result) != Ok(&json!(2)) {
                faults.push(format!("afterwards the host answers {:?}", after.outcome));
            }
            if let Some(browsing) = browsing.as_ref().filter(|browsing| !browsing.lends()) {
                let held = browsing.held();
                if !held.is_empty() {
                    faults.push(format!("afterwards this is left: {held:?}"));
                }
            }
            if !faults.is_empty() {
                failures.push(case.report(group, name, &faults));
            }
        }
        if let Some(neighbour) = neighbour {
            neighbour.end().await;
        }
        if let Some(browsing) = browsing {
            browsing.close_sessions().await;
            browsing.assert_gone(GONE).await;
        }
        failures
    });
    if blessed != text {
        fs::write(&path, blessed).unwrap();
    }
    assert!(failures.is_empty(), "{} of {} cases failed\n\n{}", failures.len(), cases.len(), failures.join("\n"));
}

fn parse(text: &str) -> Result<Vec<Case>, String> {
    let mut cases: Vec<Case> = Vec::new();
    let mut in_header = false;
    for (index, line) in text.split('\n').enumerate() {
        let line_number = index + 1;
        let wrong = |what: &str| Err(format!("{line_number}: {what}"));
        if let Some(title) = line.strip_prefix("// --- ") {
            let (title, expected, script) = (title.trim().to_owned(), Vec::new(), String::new());
            if cases.iter().any(|case| case.title == title) {
                return wrong("another case has this title");
            }
            cases.push(Case { title, line: line_number, script, expected });
            in_header = true;
            continue;
        }
        let Some(case) = cases.last_mut() else {
            if !line.is_empty() && !line.starts_with("//") {
                return wrong("only comments stand before the first case");
            }
            continue;
        };
        if let (true, Some(more)) = (in_header, line.strip_prefix("//!|")) {
            let Some((_, value)) = case.expected.last_mut() else { return wrong("there is nothing to continue") };
            value.push('\n');
            value.push_str(more.strip_prefix(' ').unwrap_or(more));
        } else if let (true, Some(header)) = (in_header, line.strip_prefix("//! ")) {
            let Some((key, value)) = header.split_once(':') else { return wrong("a header is written `key: value`") };
            if !KEYS.contains(&key) && !key.starts_with("details.") {
                return wrong(&format!("there is no key {key}"));
            }
            case.expected.push((key.to_owned(), value.strip_prefix(' ').unwrap_or(value).to_owned()));
        } else {
            in_header = false;
            case.script.push_str(line);
            case.script.push('\n');
        }
    }
    for case in &mut cases {
        // The blank line before the next case, and the line break of the last line.
        case.script.truncate(case.script.trim_end_matches('\n').len());
        case.script = expand(&case.script).map_err(|fault| format!("{}: {fault}", case.line))?;
        if case.value("result").is_none() == case.value("error").is_none() {
            return Err(format!("{}: a case has a result or an error", case.line));
        }
        match case.value("as") {
            None => {}
            Some("crlf") => case.script = case.script.replace('\n', "\r\n"),
            Some("bom") => case.script.insert(0, '\u{FEFF}'),
            Some(other) => return Err(format!("{}: a script cannot be sent as {other}", case.line)),
        }
    }
    if cases.is_empty() { Err("1: there is no case".to_owned()) } else { Ok(cases) }
}

/// Expands the repetitions in a script.
fn expand(script: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = script;
    while let Some((before, after)) = rest.split_once('«') {
        let (repetition, after) = after.split_once('»').ok_or("a « has no »")?;
        let (count, text) = repetition.split_once(' ').ok_or("a repetition is written «count \"text\"»")?;
        let count: usize = count.parse().map_err(|error| format!("{count}: {error}"))?;
        let text: String = serde_json::from_str(text).map_err(|error| format!("{text}: {error}"))?;
        out.push_str(before);
        out.push_str(&text.repeat(count));
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

impl Case {
    fn value(&self, wanted: &str) -> Option<&str> {
        self.expected.iter().find(|(key, _)| key == wanted).map(|(_, value)| value.as_str())
    }

    fn number(&self, key: &str) -> Option<u64> {
        self.value(key).map(|value| value.parse().unwrap_or_else(|_| panic!("line {}: {key} is a number", self.line)))
    }

    fn request(&self) -> Request {
        let mut request = Request::new(self.script.clone());
        request.timeout = Duration::from_millis(self.number("timeout_ms").unwrap_or(WALL_MS_MAX));
        request.cpu = Duration::from_millis(self.number("cpu_ms").unwrap_or(CPU_MS_MAX));
        request.seed = self.number("seed").map(|seed| [seed as u8; 32]);
        request
    }

    fn faults(&self, execution: &Execution) -> Vec<String> {
        let mut faults = bounds_exceeded(execution);
        match (&execution.outcome, self.value("result")) {
            (Ok(shaped), Some(result)) => compare_json("result", result, Some(&shaped.result), &mut faults),
            (Ok(shaped), None) => faults.push(format!("it returned {}", shown(&shaped.result.to_string()))),
            (Err(error), _) => {
                compare_text("error", self.value("error").unwrap_or("none"), error.code.as_str(), &mut faults);
                if let Some(message) = self.value("message") {
                    compare_text("message", message, &error.message, &mut faults);
                } else if self.value("error").is_none() {
                    faults.push(format!("it says: {}", shown(&error.message)));
                }
                if let Some(hint) = self.value("hint") {
                    compare_text("hint", hint, &error.hint, &mut faults);
                }
                for (key, expected) in &self.expected {
                    let Some(path) = key.strip_prefix("details.") else { continue };
                    let fact = error.details.pointer(&format!("/{}", path.replace('.', "/")));
                    compare_json(key, expected, fact, &mut faults);
                }
            }
        }
        compare_texts("console", self.value("console").unwrap_or("[]"), &console(execution), &mut faults);
        compare_texts("warnings", self.value("warnings").unwrap_or("[]"), &execution.warnings, &mut faults);
        if let Some(calls) = self.number("calls").filter(|calls| *calls != execution.calls) {
            faults.push(format!("calls: expected {calls}, it made {}", execution.calls));
        }
        if let (Ok(shaped), Some(bytes_max)) = (&execution.outcome, self.number("bytes_max")) {
            let bytes = json!([shaped.result, console(execution)]).to_string().len();
            if bytes as u64 > bytes_max {
                faults.push(format!("it answers {bytes} bytes"));
            }
        }
        faults
    }

    /// The text of the file with this case's headers replaced by the actual outcome.
    fn blessed(&self, text: &str, execution: &Execution) -> String {
        let title = format!("// --- {}", self.title);
        let is_header = |line: &&str| line.starts_with("//! ") || line.starts_with("//!|");
        let mut lines: Vec<&str> = text.split('\n').collect();
        let begin = lines.iter().position(|line| line.trim_end() == title).expect("the case stands in the file") + 1;
        let end = begin + lines[begin..].iter().take_while(|line| is_header(line)).count();
        let headers: Vec<String> = self.seen(execution).into_iter().map(|(key, value)| header(&key, &value)).collect();
        lines.splice(begin..end, headers.iter().flat_map(|header| header.split('\n')));
        lines.join("\n")
    }

    /// The headers that match this execution: unchanged where they match already, otherwise with the actual outcome.
    fn seen(&self, execution: &Execution) -> Vec<(String, String)> {
        let mut seen: Vec<(String, String)> = Vec::new();
        let mut say = |key: &str, value: String, fits: bool| {
            let kept = self.value(key).filter(|_| fits).map_or(value, str::to_owned);
            seen.push((key.to_owned(), kept));
        };
        let fits = |compare: &dyn Fn(&mut Vec<String>)| {
            let mut faults = Vec::new();
            compare(&mut faults);
            faults.is_empty()
        };
        match &execution.outcome {
            Ok(shaped) => {
                let expected = self.value("result").unwrap_or_default();
                let is_right = fits(&|faults| compare_json("result", expected, Some(&shaped.result), faults));
                say("result", shaped.result.to_string(), is_right);
            }
            Err(error) => {
                let code = error.code.as_str();
                say("error", code.to_owned(), matches(self.value("error").unwrap_or_default(), code));
                for (key, actual) in [("message", &error.message), ("hint", &error.hint)] {
                    if let Some(expected) = self.value(key) {
                        say(key, actual.clone(), matches(expected, actual));
                    }
                }
                for (key, expected) in &self.expected {
                    let Some(path) = key.strip_prefix("details.") else { continue };
                    let fact = error.details.pointer(&format!("/{}", path.replace('.', "/")));
                    let is_right = fits(&|faults| compare_json(key, expected, fact, faults));
                    say(key, fact.map_or_else(|| "absent".to_owned(), Json::to_string), is_right);
                }
            }
        }
        for (key, actual) in [("console", &console(execution)), ("warnings", &execution.warnings)] {
            let expected = self.value(key).unwrap_or("[]");
            let is_right = fits(&|faults| compare_texts(key, expected, actual, faults));
            if !is_right || self.value(key).is_some() {
                say(key, json!(actual).to_string(), is_right);
            }
        }
        if self.value("calls").is_some() {
            say("calls", execution.calls.to_string(), false);
        }
        for key in ["bytes_max", "timeout_ms", "cpu_ms", "seed", "as", "key"] {
            if let Some(value) = self.value(key) {
                say(key, value.to_owned(), true);
            }
        }
        seen
    }

    fn report(&self, group: &str, name: &str, faults: &[String]) -> String {
        let Self { title, line, script, .. } = self;
        let mut report = format!("tests/cases/{group}/{name}.js:{line}: {title}\n");
        for fault in faults {
            let _ = writeln!(report, "  {}", fault.replace('\n', "\n  "));
        }
        let _ = writeln!(report, "  script: {}", shown(script).replace('\n', "\n  |       "));
        report
    }
}

/// Formats a header for a file.
fn header(key: &str, value: &str) -> String {
    let mut lines = value.split('\n');
    let first = format!("//! {key}: {}", lines.next().unwrap_or_default());
    lines.fold(first, |text, line| if line.is_empty() { text + "\n//!|" } else { format!("{text}\n//!| {line}") })
}

/// The console lines in the notation of case files.
fn console(execution: &Execution) -> Vec<String> {
    let line = |line: &ConsoleLine| match line.level {
        Level::Log => line.text.clone(),
        level => format!("{}: {}", json!(level).as_str().unwrap_or_default(), line.text),
    };
    execution.console.iter().map(line).collect()
}

/// Checks the bounds that hold for every answer.
fn bounds_exceeded(execution: &Execution) -> Vec<String> {
    let mut faults = Vec::new();
    if let Err(error) = &execution.outcome {
        if error.hint.is_empty() || error.message.is_empty() {
            faults.push(format!("an error without words: {error:?}"));
        }
        let (hint, details) = (error.hint.chars().count(), error.details.to_string().chars().count());
        if hint > ERROR_TEXT_CHARS_MAX + 1 || details > 2 * ERROR_DETAILS_CHARS_MAX {
            faults.push(format!("the hint has {hint} characters, the details have {details}"));
        }
        // A syntax error adds its code frame, a stack trace its positions.
        if error.message.chars().count() > ERROR_TEXT_CHARS_MAX + 1_000 {
            faults.push(format!("the message has {} characters", error.message.chars().count()));
        }
    }
    let kept: usize = execution.console.iter().map(|line| line.text.len()).sum();
    if kept > CONSOLE_BYTES_KEPT {
        faults.push(format!("{kept} bytes of console text are kept"));
    }
    if execution.warnings.len() > WARNINGS_MAX {
        faults.push(format!("there are {} warnings", execution.warnings.len()));
    }
    faults
}

fn pattern(expected: &str) -> Option<Regex> {
    let pattern = expected.strip_prefix('/')?.strip_suffix('/')?;
    Some(Regex::new(&format!("(?s){pattern}")).unwrap_or_else(|error| panic!("{error}")))
}

fn matches(expected: &str, actual: &str) -> bool {
    pattern(expected).map_or(expected == actual, |pattern| pattern.is_match(actual))
}

fn compare_text(what: &str, expected: &str, actual: &str, faults: &mut Vec<String>) {
    if !matches(expected, actual) {
        faults.push(format!("{what}: expected {}\n{what}: but got  {}", shown(expected), shown(actual)));
    }
}

fn compare_json(what: &str, expected: &str, actual: Option<&Json>, faults: &mut Vec<String>) {
    let Some(actual) = actual else {
        if expected != "absent" {
            faults.push(format!("{what}: expected {}, it is absent", shown(expected)));
        }
        return;
    };
    let text = actual.as_str().map_or_else(|| actual.to_string(), str::to_owned);
    let equal = match pattern(expected) {
        Some(pattern) => pattern.is_match(&text),
        None => serde_json::from_str::<Json>(expected).is_ok_and(|expected| expected == *actual),
    };
    if !equal {
        faults.push(format!("{what}: expected {}\n{what}: but got  {}", shown(expected), shown(&actual.to_string())));
    }
}

fn compare_texts(what: &str, expected: &str, actual: &[String], faults: &mut Vec<String>) {
    let equal = match pattern(expected) {
        Some(pattern) => pattern.is_match(&actual.join("\n")),
        None => serde_json::from_str::<Vec<String>>(expected).is_ok_and(|expected| {
            expected.len() == actual.len() && expected.iter().zip(actual).all(|(one, other)| matches(one, other))
        }),
    };
    if !equal {
        let actual = json!(actual).to_string();
        faults.push(format!("{what}: expected {}\n{what}: but got  {}", shown(expected), shown(&actual)));
    }
}

fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
    }
}

mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_as_it_says() {
        let text = "// About.\n// --- one\n//! error: X\n//! message: a\n//!| b\n//!|\n//!|  c\n```js\n//! not: a header\n\n\n\
                    // --- two\n//! result: «\n//! as: crlf\na\n«3 \"[\\n\"»\n";
        let cases = parse(text).unwrap_or_else(|fault| panic!("{fault}"));
        assert_eq!(cases.len(), 2);
        assert_eq!((cases[0].title.as_str(), cases[0].line), ("one", 2));
        assert_eq!(cases[0].value("message"), Some("a\nb\n\n c"));
        assert_eq!(cases[0].script, "```js\n//! not: a header");
        assert_eq!(cases[1].script, "a\r\n[\r\n[\r\n[\r\n");
        for wrong in [
            "",
            "1 + 1",
            "// --- a\n1",
            "// --- a\n//! result: 1\n//! error: X\n1",
            "// --- a\n//! x: 1\n",
            "// --- a\n//! result: 1\n1\n// --- a\n//! result: 1\n1",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_wrong_expectation_fails() {
        let right = "// --- t\n//! result: 3\n//! console: [\"a\", \"/^warn: b/\"]\n\
                     console.log('a'); console.warn('bc'); 1 + 2";
        let wrong = [
            ("result: 3", "result: 4"),
            ("result: 3", "error: SCRIPT_ERROR"),
            ("\"a\"", "\"b\""),
            ("warn: b/", "warn: c/"),
            ("1 + 2", "Promise.reject(1); 3"),
            ("1 + 2", "throw 3"),
            ("3\n", "3\n//! calls: 1\n"),
        ];
        let faults = |text: &str| {
            let case = parse(text).unwrap_or_else(|fault| panic!("{fault}")).remove(0);
            case.faults(&lab::block_on(Lab::shared().execute(case.request())))
        };
        assert_eq!(faults(right), Vec::<String>::new());
        for (part, by) in wrong {
            assert_ne!(faults(&right.replace(part, by)), Vec::<String>::new(), "{by}");
        }
    }

    #[test]
    fn what_was_seen_is_written_where_something_else_stood() {
        let blessed = |text: &str| {
            let mut blessed = text.to_owned();
            for case in parse(text).unwrap_or_else(|fault| panic!("{fault}")) {
                let execution = lab::block_on(Lab::shared().execute(case.request()));
                blessed = case.blessed(&blessed, &execution);
            }
            blessed
        };
        let wrong = "// About.\n// --- a value\n//! error: X\n//! message: y\n//! seed: 3\nconsole.warn('b'); [1, 'a']\n\n\
                     // --- an error\n//! result: 1\nthrow new Error('a\\nb')\n// --- a message\n//! error: SCRIPT_ERROR\n\
                     //! message: no\n//! hint: /./\nthrow new Error('a\\nb')\n";
        let right = "// About.\n// --- a value\n//! result: [1,\"a\"]\n//! console: [\"warn: b\"]\n//! seed: 3\n\
                     console.warn('b'); [1, 'a']\n\n// --- an error\n//! error: SCRIPT_ERROR\nthrow new Error('a\\nb')\n\
                     // --- a message\n//! error: SCRIPT_ERROR\n//! message: Error: a\n//!| b\n//! hint: /./\n\
                     throw new Error('a\\nb')\n";
        assert_eq!(blessed(wrong), right);
        assert_eq!(blessed(right), right, "what is right stays as it is");
    }
}
