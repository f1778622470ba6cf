//! Attacks on the barriers ("walls") between a script and everything that it must not reach. Each attack is a script as
//! a model could send it, run by the program against a real Chromium. The targets are in `support/range.rs`.
//!
//! A case is a file in `attacks/`: a comment on what it tries, lines `// key: value`, and the script, which returns
//! what it obtained, or for several attempts an array of `{attempt, got}` and `{attempt, code}`. `attacks/prelude.js`
//! is prepended to every script.
//!
//! | key | value |
//! |---|---|
//! | `family` | cases of a family run together |
//! | `seen` | whether it succeeded on the commit before these walls existed |
//! | `expect` | the codes with which every attempt must be refused, as `A \| B`; `nothing` if it merely must not succeed |
//! | `walls` | the walls each of which must stop it alone: `table`, `confinement`, `network`, `relay` |
//! | `leak` | a regular expression that its answer must not match, in addition to the secret |
//! | `alone` | `yes`: run in a separate browser, since it changes more than its tab |
//! | `browser` | `whole`: with Chromium's internal pages, which codemode disables |
//! | `apart` | `yes`: in a separate network namespace, so that nothing leaves this machine |
//! | `env` | a variable of the host's environment, as `NAME=value`; may be repeated |
//! | `rules` | `deny victim`: the operator has denied the other browser's port |
//!
//! An attack succeeds if the answer contains a secret in any encoding or matches `leak`, or if it has an effect on the
//! site, the other browser, the proxy, or the folder that must stay empty. Whatever the script does, the host must
//! answer, and none of its processes and files may remain.
//!
//! Each case is tried with all walls, with only the command table, and without the table.

use crate::support::{
    browsing::{held, processes},
    program::{Place, need_browser, wait_until},
    range::{AttackSite, Canaries, OpenProxy, Secret, Stranger, escape},
    root,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use codemode_chromium::find;
use regex::Regex;
use rustix::process::{Pid, getpgid};
use serde_json::Value as Json;
use std::{
    collections::BTreeSet,
    fs::{self, File, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

/// The timeout of a family, sufficient on a slow machine.
const PATIENCE: Duration = Duration::from_secs(240);
/// The number of browsers in which the cases of one family run concurrently.
const BATCHES_AT_ONCE: usize = 2;
/// The timeout of one case.
const CASE_MS_MAX: u32 = 40_000;
/// How often a user opens a tab while a script has the browser.
const TAB_INTERVAL: Duration = Duration::from_millis(300);
/// How long a tab may take to load.
const TABS_SETTLED: Duration = Duration::from_secs(8);
/// Characters of an answer that a report shows.
const SHOWN_CHARS: usize = 400;
/// Makes a test build skip the command table, to test the other walls alone.
const WITHOUT_TABLE: &str = "CODEMODE_TEST_WITHOUT_TABLE";
const CONFINE: &str = "CODEMODE_CONFINE";
const SCRIPTS: &str = "tests/attacks";

macro_rules! attacks {
    ($($tried:ident as $mode:ident: $($family:ident)+;)+) => {
        $(mod $tried {
            use super::{Mode, attack};
            $(#[test]
            fn $family() {
                attack(stringify!($family), Mode::$mode);
            })+
        })+

        const TRIED: &[(Mode, &str)] = &[$($((Mode::$mode, stringify!($family))),+),+];
    };
}

attacks! {
    all_walls as AllWalls: addresses browsers events external files network pages permissions targets viewer;
    table_alone as TableAlone: addresses browsers events external files permissions targets viewer;
    without_the_table as WithoutTable: addresses browsers files network pages targets viewer;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Wall {
    Table,
    Confinement,
    Network,
    Relay,
}

/// The walls that are active.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Mode {
    AllWalls,
    TableAlone,
    WithoutTable,
}

impl Mode {
    const ALL: [Self; 3] = [Self::AllWalls, Self::TableAlone, Self::WithoutTable];

    fn tries(self, case: &Case) -> bool {
        match self {
            Self::AllWalls => true,
            Self::TableAlone => case.walls.contains(&Wall::Table),
            Self::WithoutTable => case.walls.iter().any(|wall| *wall != Wall::Table),
        }
    }

    fn set(self, command: &mut Command) {
        match self {
            Self::AllWalls => {}
            Self::TableAlone => drop(command.env(CONFINE, "off")),
            Self::WithoutTable => drop(command.env(WITHOUT_TABLE, "1").env(CONFINE, "require")),
        }
    }

    /// Whether a case must be refused with the codes that it names: these come from the table, if that is one of its
    /// walls.
    fn names_refusals(self, case: &Case) -> bool {
        self != Self::WithoutTable || !case.walls.contains(&Wall::Table)
    }
}

struct Case {
    name: String,
    family: String,
    /// The expected codes; `None` if it merely must not succeed.
    expect: Option<Vec<String>>,
    walls: Vec<Wall>,
    leak: Option<Regex>,
    alone: bool,
    has_own_pages: bool,
    apart: bool,
    env: Vec<(String, String)>,
    rules: bool,
    script: String,
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for file in fs::read_dir(root().join(SCRIPTS)).unwrap().flatten() {
        let name = file.file_name().into_string().unwrap();
        if name != "prelude.js" {
            let text = fs::read_to_string(file.path()).unwrap();
            cases.push(Case::parse(&name, &text).unwrap_or_else(|fault| panic!("{name}: {fault}")));
        }
    }
    cases.sort_by(|one, other| one.name.cmp(&other.name));
    cases
}

impl Case {
    fn parse(name: &str, text: &str) -> Result<Self, String> {
        let header = Regex::new(r"^// (\w+): ?(.*)$").unwrap();
        let comments = text.lines().take_while(|line| line.starts_with("// "));
        let headers: Vec<_> = comments
            .filter_map(|line| header.captures(line))
            .map(|found| (found[1].to_owned(), found[2].trim().to_owned()))
            .collect();
        let keys = ["family", "seen", "expect", "walls", "leak", "alone", "browser", "apart", "env", "rules"];
        if let Some((key, _)) = headers.iter().find(|(key, _)| !keys.contains(&key.as_str())) {
            return Err(format!("there is no key {key}"));
        }
        let value = |key: &str| headers.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str());
        let needed = |key: &str| value(key).ok_or(format!("{key} is missing"));
        let seen = needed("seen")?;
        if !(seen.starts_with("yes (on ") || seen.starts_with("no")) {
            return Err(format!("seen is `yes (on COMMIT)` or `no`, not {seen}"));
        }
        let wall = |name: &str| match name {
            "table" => Ok(Wall::Table),
            "confinement" => Ok(Wall::Confinement),
            "network" => Ok(Wall::Network),
            "relay" => Ok(Wall::Relay),
            _ => Err(format!("there is no wall {name}")),
        };
        let expect = needed("expect")?;
        let codes = expect.split('|').map(|code| code.trim().to_owned()).collect();
        let envs = headers.iter().filter(|(key, _)| key == "env").map(|(_, value)| {
            let (name, value) = value.split_once('=').ok_or("env is written NAME=value")?;
            Ok((name.to_owned(), value.to_owned()))
        });
        Ok(Self {
            name: name.trim_end_matches(".js").to_owned(),
            family: needed("family")?.to_owned(),
            expect: (expect != "nothing").then_some(codes),
            walls: needed("walls")?.split(',').map(|name| wall(name.trim())).collect::<Result<_, _>>()?,
            leak: value("leak").map(Regex::new).transpose().map_err(|error| error.to_string())?,
            alone: value("alone") == Some("yes"),
            has_own_pages: value("browser") == Some("whole"),
            apart: value("apart") == Some("yes"),
            env: envs.collect::<Result<_, String>>()?,
            rules: match value("rules") {
                None => false,
                Some("deny victim") => true,
                Some(other) => return Err(format!("there are no rules {other}")),
            },
            script: text.to_owned(),
        })
    }

    /// The parts of its answer that show a successful attack.
    fn faults(&self, result: &Json, secret: &Secret, mode: Mode) -> Vec<String> {
        let text = result.to_string();
        let mut faults = Vec::new();
        if let Some(form) = secret.found_in(&text) {
            faults.push(format!("the secret is in the answer {form}"));
        }
        if let Some(found) = self.leak.as_ref().and_then(|leak| leak.find(&text)) {
            faults.push(format!("the answer has {:?}", found.as_str()));
        }
        if result["late"] == true || (result["value"].is_null() && result["error"].is_null()) {
            faults.push(format!("it did not end within {CASE_MS_MAX} ms"));
        }
        let Some(codes) = self.expect.as_ref().filter(|_| mode.names_refusals(self)) else { return faults };
        let refused = |outcome: &Json| outcome["code"].as_str().is_some_and(|code| codes.iter().any(|c| c == code));
        if result["error"].is_null() {
            let attempts = result["value"].as_array().filter(|all| all.iter().all(|one| one["attempt"].is_string()));
            let went_through = attempts.map(|all| all.iter().filter(|one| !refused(one)).collect::<Vec<_>>());
            match went_through {
                Some(went_through) => {
                    faults.extend(went_through.iter().map(|one| format!("not refused: {}", short(one))))
                }
                None => faults.push(format!("not refused: {}", short(&result["value"]))),
            }
        } else if !refused(&result["error"]) {
            faults.push(format!("not refused with {codes:?}: {}", short(&result["error"])));
        }
        faults
    }
}

fn short(value: &Json) -> String {
    value.to_string().chars().take(SHOWN_CHARS).collect()
}

/// The targets of a family's cases.
struct Range {
    secret: Secret,
    site: AttackSite,
    canaries: Canaries,
    proxy: OpenProxy,
    stranger: Option<Stranger>,
    neighbour: Option<Neighbour>,
}

impl Range {
    fn new(cases: &[&Case]) -> Self {
        let (secret, site) = (Secret::new(), AttackSite::serve());
        let canaries = Canaries::new(&secret, &site.url());
        let names = |what: &str| cases.iter().any(|case| case.script.contains(what));
        let title = format!("<title>{}</title>", secret.text());
        let shown = format!("{}/echo?body={}", site.url(), escape(&title));
        Self {
            stranger: (names("{{victim_port}}") || cases.iter().any(|case| case.family == "external"))
                .then(|| Stranger::start(&shown, secret.text())),
            neighbour: (names("{{session_port}}") || names("{{cookies_file}}"))
                .then(|| Neighbour::start(&shown, &secret)),
            secret,
            site,
            canaries,
            proxy: OpenProxy::serve(),
        }
    }

    fn fill(&self, text: &str) -> String {
        let folder = self.canaries.folder().to_str().unwrap();
        let port = |port: Option<u16>| port.unwrap_or(1).to_string();
        let names = [
            ("{{site}}", self.site.url()),
            ("{{other}}", self.site.other_url()),
            ("{{canary_dir}}", folder.to_owned()),
            ("{{drop_dir}}", format!("{folder}/drop")),
            ("{{proxy}}", self.proxy.url()),
            ("{{victim_port}}", port(self.stranger.as_ref().map(Stranger::port))),
            ("{{session_port}}", port(self.neighbour.as_ref().and_then(|neighbour| neighbour.port))),
            ("{{cookies_file}}", self.neighbour.as_ref().map(|other| other.cookies.clone()).unwrap_or_default()),
            ("{{taken_base64}}", STANDARD.encode("<title>TAKEN</title>")),
        ];
        names.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
    }

    /// A script that runs several cases in sequence in one browser.
    fn script(&self, cases: &[&Case]) -> String {
        let mut script = fs::read_to_string(root().join(SCRIPTS).join("prelude.js")).unwrap();
        script.push_str("const attacks = {\n");
        script.push_str(&format!("{PROBE}: () => send('Page.disable').then(() => '{PROBED}'),\n"));
        for Case { name, script: code, .. } in cases {
            script.push_str(&format!("{name}: async () => {{\n{code}}},\n"));
        }
        script.push_str(&format!(
            "}};
const results = {{}};
for (const [name, attack] of Object.entries(attacks)) {{
  const ended = attack().then((value) => ({{ value: value ?? 'nothing' }}), (error) => ({{ error: {{ code: error.code ?? String(error), message: error.message }} }}));
  const start = Date.now();
  results[name] = await Promise.race([ended, pause({CASE_MS_MAX}).then(() => ({{ late: true }}))]);
  results[name].took_ms = Date.now() - start;
  if (Object.keys(attacks).length > 1) await leave();
}}
return results;"
        ));
        self.fill(&script)
    }

    /// The effects outside of answers since the last call.
    fn effects(&self, tabs: &[(String, String)]) -> Vec<String> {
        let mut effects = Vec::new();
        let mut add = |what: &str, seen: Vec<String>| {
            if !seen.is_empty() {
                effects.push(format!("{what}: {seen:?}"));
            }
        };
        add("the site heard", self.site.shouts());
        add("files were written", self.canaries.dropped());
        let ports = [self.stranger.as_ref().map(Stranger::port), self.neighbour.as_ref().and_then(|other| other.port)];
        for port in ports.into_iter().flatten() {
            add("the proxy was asked for another browser", self.proxy.asked_for(port));
        }
        if let Some(stranger) = &self.stranger {
            let is_users = |tab: &(String, String)| tabs.contains(tab) || tab.0 == USERS;
            let began = Instant::now();
            let mut strange = Vec::new();
            // A tab that was just opened will load; one that an attack holds will not.
            wait_until("the other browser's tabs", PATIENCE, || {
                strange = stranger.tabs().into_iter().filter(|tab| !is_users(tab)).collect();
                strange.is_empty() || began.elapsed() > TABS_SETTLED
            });
            add("tabs of the other browser", strange.iter().map(|tab| format!("{tab:?}")).collect());
        }
        effects
    }
}

/// The title of the tabs that the user opens.
const USERS: &str = "of the user";

/// The idle browser of another key, with a secret in a tab and in a cookie.
struct Neighbour {
    place: Place,
    port: Option<u16>,
    /// The file in which the host stores its cookies.
    cookies: String,
}

impl Neighbour {
    const KEY: &str = "neighbour";

    fn start(url: &str, secret: &Secret) -> Self {
        let place = Place::new();
        let cookie = secret.text();
        let code = format!(
            "const sessionId = await cdp.attachToTarget();
             await cdp.send('Page.navigate', {{ url: '{url}' }}, {{ sessionId }});
             await cdp.waitForEvent('Page.loadEventFired', {{ sessionId }});
             await cdp.send('Runtime.evaluate', {{ expression: 'document.cookie = \"login={cookie}\"' }}, {{ sessionId }});"
        );
        let output = place.run(&["run", "--json", "--session-key", Self::KEY, "-e", &code]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        let state = place.folder().join("state");
        let option = Regex::new(r"--remote-debugging-port=(\d+)").unwrap();
        let port = processes(&state).iter().find_map(|(_, line)| option.captures(line)?[1].parse().ok());
        let cookies = file_with(&state, secret.text()).expect("the host keeps the cookies").display().to_string();
        Self { place, port, cookies }
    }
}

/// The file of codemode that contains a text; Chromium's profile is left out.
fn file_with(folder: &Path, text: &str) -> Option<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().find_map(|entry| {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && !path.join("Default").exists() => file_with(&path, text),
            Ok(kind) if kind.is_file() => {
                fs::read_to_string(&path).is_ok_and(|found| found.contains(text)).then_some(path)
            }
            _ => None,
        }
    })
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.place.run(&["sessions", "close", Self::KEY, "--json"]);
    }
}

/// Runs a family's cases, first those that share a browser, in a few concurrent browsers.
fn attack(family: &str, mode: Mode) {
    need_browser();
    let cases = cases();
    let cases: Vec<_> = cases.iter().filter(|case| case.family == family && mode.tries(case)).collect();
    let range = Range::new(&cases);
    let (alone, together): (Vec<_>, Vec<_>) = cases.iter().copied().partition(|case| case.alone);
    let faults = Mutex::new(Vec::new());
    let batches = [together].into_iter().chain(alone.into_iter().map(|case| vec![case]));
    let batches = Mutex::new(batches.filter(|batch| !batch.is_empty()));
    let try_next = || {
        let Some(batch) = batches.lock().unwrap().next() else { return false };
        let (began, mut found) = (Instant::now(), Vec::new());
        try_together(&range, &batch, mode, &mut found);
        eprintln!("{mode:?} {family}: {:?} for {}", began.elapsed(), batch.len());
        faults.lock().unwrap().append(&mut found);
        true
    };
    // Cases mostly wait, so they run concurrently, unless the other browser must be inspected after each of them.
    let at_once = if range.stranger.is_some() { 1 } else { BATCHES_AT_ONCE };
    thread::scope(|scope| (0..at_once).for_each(|_| drop(scope.spawn(|| while try_next() {}))));
    let faults = faults.into_inner().unwrap();
    assert!(faults.is_empty(), "{family}, {mode:?}: {} faults\n{}", faults.len(), faults.join("\n"));
}

fn try_together(range: &Range, cases: &[&Case], mode: Mode, faults: &mut Vec<String>) {
    let place = Place::new();
    let state = place.folder().join("state");
    let names: Vec<_> = cases.iter().map(|case| case.name.as_str()).collect();
    let mut fault = |what: String| faults.push(format!("{}: {what}", names.join(", ")));

    let tabs = range.stranger.as_ref().map(Stranger::tabs).unwrap_or_default();
    let (answer, all) = run(range, cases, &place, mode);
    if let Some(form) = range.secret.found_in(&all) {
        fault(format!("the secret is in the answer {form}"));
    }
    for effect in range.effects(&tabs) {
        fault(effect);
    }
    // Downloads are retained for the script that requests them.
    let left: Vec<_> = held(&state).into_iter().filter(|left| !left.contains("/downloads/")).collect();
    if !left.is_empty() {
        fault(format!("this is left: {left:?}"));
    }
    // Chromium may crash on internal pages that are not meant to be opened. The answer was already checked for leaks.
    if mode == Mode::WithoutTable && answer["error"]["code"] == "BROWSER_GONE" {
        return;
    }
    if answer["ok"] != true {
        fault(format!("the host says {}", short(&answer["error"])));
        return;
    }
    let results = &answer["data"]["result"];
    for case in cases {
        // The time per case, to find slow ones.
        eprintln!("{mode:?} {}: {} ms", case.name, results[&case.name]["took_ms"]);
        let found = case.faults(&results[&case.name], &range.secret, mode);
        faults.extend(found.into_iter().map(|fault| format!("{}: {fault}", case.name)));
    }
    if mode == Mode::WithoutTable && results[PROBE]["value"] != PROBED {
        faults.push(format!("the table is there still: {}", short(&results[PROBE])));
    }
}

/// A harmless case that the table refuses, which shows whether the table is active.
const PROBE: &str = "table_probe";
const PROBED: &str = "there is no table";

/// Runs cases in one browser; returns the envelope, and all output of the program, including its files.
fn run(range: &Range, cases: &[&Case], place: &Place, mode: Mode) -> (Json, String) {
    let script = place.folder().join("attack.js");
    fs::write(&script, range.script(cases)).unwrap();
    write_rules(range, cases, place, mode);
    let output = place.folder().join("answer.json");
    let mut command = place.command(&["run", "--json", "--timeout", "400s", script.to_str().unwrap()]);
    if cases.iter().any(|case| case.apart) {
        command = apart(command);
    }
    mode.set(&mut command);
    let external = range.stranger.as_ref().filter(|_| cases.iter().any(|case| case.family == "external"));
    if let Some(stranger) = external {
        command.env("CODEMODE_CDP_URL", format!("http://127.0.0.1:{}", stranger.port()));
    }
    if cases.iter().any(|case| case.has_own_pages) {
        command.env("CODEMODE_BROWSER", whole_browser(place));
    }
    for (name, value) in cases.iter().flat_map(|case| &case.env) {
        command.env(name, range.fill(value));
    }
    command.stdin(Stdio::null()).stdout(File::create(&output).unwrap());
    command.stderr(File::create(place.folder().join("stderr")).unwrap());
    let mut child = command.spawn().unwrap();
    let url = range.fill("{{site}}/echo?body=") + &escape(&format!("<title>{USERS}</title>"));
    let mut opened = Instant::now();
    wait_until("the host's answer", PATIENCE, || {
        if let Some(stranger) = external.filter(|_| opened.elapsed() > TAB_INTERVAL) {
            stranger.open(&url);
            opened = Instant::now();
        }
        child.try_wait().unwrap().is_some()
    });

    let mut all = fs::read_to_string(&output).unwrap();
    let mut answer: Json = serde_json::from_str(&all).unwrap_or_else(|error| panic!("{error} in {all:?}"));
    all += &fs::read_to_string(place.folder().join("stderr")).unwrap();
    // Binary data is in files.
    for file in answer["data"]["files"].as_array().into_iter().flatten() {
        all += &String::from_utf8_lossy(&fs::read(file["file"].as_str().unwrap()).unwrap());
    }
    // A result that was truncated is stored whole in a file.
    if let Some(artifact) = answer["data"]["artifact"].as_str().map(Path::new) {
        let whole = fs::read_to_string(artifact).unwrap();
        fs::remove_dir_all(artifact.parent().unwrap()).unwrap();
        all += &whole;
        answer["data"]["result"] = serde_json::from_str(&whole).unwrap();
    }
    (answer, all)
}

/// A wrapper that starts the browser without `--disable-features`, so that its internal pages are available.
fn whole_browser(place: &Place) -> PathBuf {
    let folder = place.folder().join("program");
    fs::create_dir(&folder).unwrap();
    let (program, real) = (folder.join("browser"), find(None).expect("there is one").path);
    let script = format!(
        "#!/bin/sh\nfor argument; do\n    shift; case \"$argument\" in --disable-features=*) ;; *) set -- \"$@\" \"$argument\";; esac\n\
         done\nexec '{}' \"$@\"\n",
        real.display()
    );
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    program
}

/// Writes the operator's network rules.
fn write_rules(range: &Range, cases: &[&Case], place: &Place, mode: Mode) {
    let is_needed = |case: &&Case| case.rules || mode == Mode::WithoutTable && case.walls.contains(&Wall::Network);
    let port = range.stranger.as_ref().map(Stranger::port).filter(|_| cases.iter().any(is_needed));
    let Some(port) = port else { return };
    let folder = place.folder().join("config/codemode");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.toml"), format!("[network]\ndeny = [\"*:{port}\"]\n")).unwrap();
}

/// The command in a network namespace that has only loopback.
fn apart(command: Command) -> Command {
    let mut apart = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        apart.arg("--map-root-user");
    }
    apart.args(["--net", "sh", "-c", "ip link set lo up; exec \"$@\"", "sh"]);
    started_by(apart, &command)
}

/// Wraps a command in another program, which takes it as its last arguments.
fn started_by(mut program: Command, command: &Command) -> Command {
    program.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => program.env(name, value),
            None => program.env_remove(name),
        };
    }
    program
}

#[test]
fn every_case_is_tried_and_every_wall_has_its_cases() {
    let cases = cases();
    let tried: BTreeSet<(Mode, &str)> = TRIED.iter().copied().collect();
    let needed = Mode::ALL
        .iter()
        .flat_map(|mode| cases.iter().filter(|case| mode.tries(case)).map(|case| (*mode, case.family.as_str())));
    assert_eq!(tried, needed.collect());
    for wall in [Wall::Table, Wall::Confinement, Wall::Network, Wall::Relay] {
        assert!(cases.iter().any(|case| case.walls.contains(&wall)), "no case for {wall:?}");
    }
}

/// Tests the detection itself: leaks in an answer are found.
#[test]
fn secrets_are_found_in_every_form() {
    let secret = Secret::new();
    let hex: String = secret.text().bytes().map(|byte| format!("{byte:02X}")).collect();
    let forms = [
        (format!("file:\n{}", secret.text()), "as it is"),
        (secret.text().to_lowercase(), "as it is"),
        (STANDARD.encode(secret.text()), "in base64"),
        (STANDARD.encode(format!("x{}", secret.text())), "in base64"),
        (STANDARD.encode(format!("xy{}\nand more", secret.text())), "in base64"),
        (hex, "in hexadecimal"),
    ];
    for (text, form) in forms {
        assert_eq!(secret.found_in(&text), Some(form), "{text}");
    }
    assert_eq!(secret.found_in(Secret::new().text()), None);
}

/// No other process can connect to a browser that listens on no port.
#[test]
fn no_browser_of_ours_listens_on_a_port() {
    need_browser();
    let site = AttackSite::serve();
    let neighbour = Neighbour::start(&site.url(), &Secret::new());
    let state = neighbour.place.folder().join("state");
    // The proxy in the keeper gives no access to the browser: see `network::no_other_process_can_use_the_proxy`.
    let browsers = processes(&state).into_iter().filter(|(_, line)| !line.trim_end().ends_with(" keep"));
    let inodes: BTreeSet<_> = browsers.flat_map(|(pid, _)| sockets(pid)).collect();
    assert!(!inodes.is_empty(), "the browser's sockets are seen");
    let listening: Vec<_> = ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .filter_map(|table| fs::read_to_string(table).ok())
        .flat_map(|table| table.lines().skip(1).map(str::to_owned).collect::<Vec<_>>())
        .filter(|line| {
            let columns: Vec<_> = line.split_whitespace().collect();
            // State 0A is `LISTEN`.
            columns[3] == "0A" && inodes.contains(columns[9])
        })
        .collect();
    assert!(listening.is_empty(), "{listening:#?}");
}

/// The number of CAP_SYS_ADMIN.
const SYS_ADMIN: u32 = 21;

/// A field of a process's status.
fn status(pid: &str, field: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let found = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    found.unwrap_or_default().trim().to_owned()
}

/// Whether this process is root and can give a browser a user of its own.
fn is_root_with_all_rights() -> bool {
    let effective = u64::from_str_radix(&status("self", "CapEff"), 16).unwrap();
    rustix::process::geteuid().is_root() && effective & 1 << SYS_ADMIN != 0
}

/// Regression from 79f594e, where every browser started as root had `--no-sandbox`.
#[test]
fn no_page_of_roots_browser_runs_without_chromiums_sandbox() {
    need_browser();
    let site = AttackSite::serve();
    let neighbour = Neighbour::start(&site.url(), &Secret::new());
    let state = neighbour.place.folder().join("state");
    let browsers: Vec<_> =
        processes(&state).into_iter().filter(|(_, line)| line.contains("--user-data-dir=")).collect();
    assert!(!browsers.is_empty());
    assert!(browsers.iter().all(|(_, line)| !line.contains("--no-sandbox")), "{browsers:?}");
    let group = |pid: i32| getpgid(Pid::from_raw(pid)).ok();
    let groups: Vec<_> = browsers.iter().filter_map(|(pid, _)| group(*pid)).collect();
    let numbers = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let is_page = |pid: &String| {
        let line = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.contains("--type=renderer")
            && pid.parse().is_ok_and(|pid| group(pid).is_some_and(|own| groups.contains(&own)))
    };
    let pages: Vec<_> = numbers.filter(is_page).collect();
    assert!(!pages.is_empty(), "the browser's pages are seen");
    for pid in pages {
        // Chromium's system call filter, which it installs only with its own sandbox.
        assert_eq!(status(&pid, "Seccomp"), "2");
        assert!(!is_root_with_all_rights() || !status(&pid, "Uid").split_whitespace().any(|uid| uid == "0"));
    }
}

/// As in a container that runs as root without root's capabilities.
#[test]
fn an_answer_says_that_chromium_runs_without_its_sandbox_and_who_requires_it_is_told_what_is_missing() {
    need_browser();
    if !is_root_with_all_rights() {
        eprintln!(
            "not tried here: only root's browsers can lack a user of their own, and only root can give up rights"
        );
        return;
    }
    let place = Place::new();
    let run = |confine: &str| {
        let mut program = Command::new("setpriv");
        program.args(["--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin"]);
        let command = place.command(&["run", "--json", "-e", "await cdp.attachToTarget(); 1"]);
        let mut command = started_by(program, &command);
        let output = command.env(CONFINE, confine).stdin(Stdio::null()).output().expect("setpriv of util-linux");
        let text = String::from_utf8(output.stdout).unwrap();
        let answer: Json = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text:?}"));
        answer
    };
    let answer = run("try");
    assert_eq!(answer["data"]["result"], 1, "{answer}");
    let warnings: Vec<_> = answer["meta"]["warnings"].as_array().unwrap().iter().filter_map(Json::as_str).collect();
    let [warning] = *warnings else { panic!("{answer}") };
    assert!(warning.starts_with("Chromium runs without its own sandbox"), "{warning}");
    assert!(warning.contains("CAP_SYS_ADMIN"), "{warning}");

    let error = run("require")["error"].take();
    assert_eq!(error["code"], "BROWSER_LAUNCH_FAILED", "{error}");
    assert!(error["message"].as_str().unwrap().contains("it gets no user of its own"), "{error}");
    assert!(error["hint"].as_str().unwrap().contains("CAP_SYS_ADMIN"), "{error}");
    let state = place.folder().join("state");
    wait_until("nothing of either", PATIENCE, || held(&state).is_empty());
}

/// The inodes of a process's sockets.
fn sockets(pid: i32) -> Vec<String> {
    let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let names = files.filter_map(|file| Some(fs::read_link(file.path()).ok()?.display().to_string()));
    names.filter_map(|name| Some(name.strip_prefix("socket:[")?.trim_end_matches(']').to_owned())).collect()
}
