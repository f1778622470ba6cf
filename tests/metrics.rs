//! The numbers of a host, and the page that says what they tell, `spec/METRICS.md`: made of what a host really answers.
//!
//! `CODEMODE_BLESS=1 cargo test -- metrics` writes the page. Read the difference before it is committed.

use crate::support::{
    http::Serving,
    program::{PATIENCE, Place, need_browser, wait_until},
    root,
};
use regex::Regex;
use rustix::process::Signal;
use serde_json::json;
use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    fmt::Write as _,
    fs,
};

/// How the page begins.
const ABOUT: &str = "\
# Metrics

What `codemode serve` answers at `/metrics`, in the text of OpenMetrics. Counters and times count from the start of the
process; what is said of a state folder is the same in all hosts that use it. No label has a value that a caller or a page chooses.

A counter's sample ends with `_total`; a histogram has `_bucket`, `_sum` and `_count`.

This page is made by `tests/metrics.rs` of what a host answers.

| Name | Type | Labels | What it tells |
|---|---|---|---|
";

/// A metric, as the head of its samples tells.
#[derive(Default)]
struct Metric {
    kind: String,
    help: String,
    labels: BTreeSet<String>,
    samples: BTreeMap<String, f64>,
}

/// The metrics by their names; that samples stand below the head of their own is asserted.
fn read(text: &str) -> BTreeMap<String, Metric> {
    let mut metrics: BTreeMap<String, Metric> = BTreeMap::new();
    let label = Regex::new(r#"(\w+)=""#).unwrap();
    let mut current = String::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap();
            assert!(!metrics.contains_key(name), "{name} is there twice");
            current = name.to_owned();
            metrics.entry(current.clone()).or_default().help = help.trim_end_matches('.').to_owned();
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            metrics.get_mut(name).unwrap().kind = kind.to_owned();
        } else if !line.starts_with('#') {
            let (name, value) = line.rsplit_once(' ').unwrap();
            assert!(name.starts_with(&current), "{line} is below {current}");
            let metric = metrics.get_mut(&current).unwrap();
            metric
                .labels
                .extend(label.captures_iter(name).map(|found| found[1].to_owned()).filter(|name| name != "le"));
            metric.samples.insert(name.to_owned(), value.parse().unwrap());
        }
    }
    assert!(text.ends_with("# EOF\n"));
    metrics
}

#[test]
fn each_metric_is_told_of_in_the_table_and_counts_what_it_says() {
    need_browser();
    let place = Place::new();
    let mut serving = Serving::start(&place, &["--grace", "1s"]);
    let execute = |code: &str| serving.execute(&[], &json!({"code": code}));
    assert_eq!(execute("1")["ok"], true);
    assert_eq!(execute("throw 1")["error"]["code"], "SCRIPT_ERROR");
    let refused =
        execute("const s = await cdp.attachToTarget(); await cdp.send('Page.navigate', { url: 'file:///etc' }, s)");
    assert_eq!(refused["error"]["code"], "POLICY_REFUSED", "{refused}");
    let sample = |metrics: &BTreeMap<String, Metric>, name: &str| {
        let found = metrics.values().find_map(|metric| metric.samples.get(name));
        *found.unwrap_or_else(|| panic!("there is no {name}"))
    };
    let metrics = || read(&serving.ask("GET", "/metrics", &[], "").body);
    // What has ended holds nothing.
    let idle = metrics();
    let held = ["codemode_sandbox_memory_bytes", "codemode_executions_running", "codemode_leases", "codemode_browsers"];
    assert_eq!(held.map(|name| sample(&idle, name) as u64), [0; 4]);
    let held = "await browser.open('about:blank'); const kept = new Uint8Array(64 << 20).fill(1);
        console.warn('running'); await new Promise((r) => setTimeout(r, 1e8)); kept.length";
    let reuse = json!({"mode": "reuse", "key": "shop"});
    let holding = serving.begin(&[], &json!({"code": held, "session": reuse, "timeout_ms": 600_000}));
    let told = metrics();
    for (name, least, most) in [
        ("codemode_executions_total{outcome=\"OK\"}", 1.0, 1.0),
        ("codemode_executions_total{outcome=\"SCRIPT_ERROR\"}", 1.0, 1.0),
        ("codemode_executions_total{outcome=\"POLICY_REFUSED\"}", 1.0, 1.0),
        ("codemode_refusals_total{wall=\"policy\"}", 1.0, 1.0),
        ("codemode_calls_total{namespace=\"cdp\",outcome=\"POLICY_REFUSED\"}", 1.0, 1.0),
        ("codemode_executions_running", 1.0, 1.0),
        ("codemode_executions_waiting", 0.0, 0.0),
        ("codemode_sessions{state=\"live\"}", 1.0, 1.0),
        ("codemode_leases", 1.0, 1.0),
        ("codemode_browsers", 1.0, 1.0),
        ("codemode_browser_memory_bytes", 10e6, 10e9),
        ("codemode_sandbox_memory_bytes", 64e6, 256e6 * 1.1),
        ("codemode_execution_seconds_count", 3.0, 3.0),
        ("codemode_execution_cpu_seconds_count", 3.0, 3.0),
        ("codemode_turn_seconds_count", 4.0, 1e6),
        ("codemode_call_seconds_count", 2.0, 1e6),
        ("codemode_audit_rows", 6.0, 1e6),
    ] {
        let value = sample(&told, name);
        assert!((least..=most).contains(&value), "{name} is {value}");
    }
    let audit = place.run(&["audit", "verify", "--json"]);
    let audit: serde_json::Value = serde_json::from_slice(&audit.stdout).unwrap();
    let after = metrics();
    assert!(sample(&after, "codemode_audit_rows_written_total") >= audit["data"]["last"].as_f64().unwrap(), "{audit}");

    let page = told.iter().fold(ABOUT.to_owned(), |mut page, (name, Metric { kind, help, labels, .. })| {
        let labels: Vec<_> = labels.iter().map(|label| format!("`{label}`")).collect();
        let _ = writeln!(page, "| `{name}` | {kind} | {} | {help} |", labels.join(", "));
        page
    });
    let path = root().join("spec/METRICS.md");
    if env::var_os("CODEMODE_BLESS").is_some_and(|wanted| wanted == "1") {
        fs::write(&path, &page).unwrap();
    }
    let there = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(there, page, "CODEMODE_BLESS=1 cargo test -- metrics writes it");

    // What is said of the state folder is the same in another host, and goes with the browsers.
    place.run(&["sessions", "close", "shop"]);
    serving.program.signal(Signal::TERM);
    serving.program.ended(PATIENCE);
    holding.join().unwrap();
    let ended = |metrics: &BTreeMap<String, Metric>| {
        ["codemode_browsers", "codemode_leases"].map(|name| sample(metrics, name) as u64)
    };
    let other = Serving::start(&place, &[]);
    wait_until("no browser", PATIENCE, || ended(&read(&other.ask("GET", "/metrics", &[], "").body)) == [0, 0]);
}
