//! Browser sessions as users run them: short-lived processes, and a browser that outlives them.

use crate::support::{
    browsing, lab,
    leases::{Leases, envelope_of},
    program::{PATIENCE, Place, Running, need_browser, wait_until},
    server::Server,
};
use codemode_cdp::CdpProvider;
use codemode_host::{
    session::{SessionManager, SessionSettings},
    site::{self, Site},
    state_dir::StateDir,
};
use codemode_provider::{
    BrowserOrder, Ending, ExecutionId, Promotion, ServiceProvider,
    testkit::{self, TestExecution},
};
use codemode_spec::{
    ErrorCode,
    session::{SessionMode, SessionRequest},
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value as Json, json};
use std::{
    fs,
    process::{Command, Output, Stdio},
    sync::{Arc, mpsc},
    thread,
};
use tokio_util::sync::CancellationToken;

const LOGIN: &str = include_str!("support/login.js");
/// Reads which user is logged in, from the account page; the login page means none.
const WHO: &str = "
const sessionId = await cdp.attachToTarget();
await cdp.send('Page.navigate', { url: `${site}/account` }, { sessionId });
await cdp.waitForEvent('Page.loadEventFired', { sessionId });
const expression = \"location.pathname === '/account' ? document.querySelector('#user').textContent : null\";
(await cdp.send('Runtime.evaluate', { expression, returnByValue: true }, { sessionId })).result.value";

/// A state folder whose sessions are closed at the end of the test, and the demo's site.
struct Shop {
    place: Place,
    site: Site,
    _runtime: tokio::runtime::Runtime,
}

impl Shop {
    fn open() -> Self {
        need_browser();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let site = runtime.block_on(site::serve()).unwrap();
        Self { place: Place::new(), site, _runtime: runtime }
    }

    fn script(&self, code: &str) -> String {
        format!("const site = {};\n{code}", json!(self.site.url()))
    }

    /// Runs `codemode run` with these options to its end.
    fn run(&self, options: &[&str], code: &str) -> Json {
        let script = self.script(code);
        let arguments = [&["run", "--json", "-e", &script], options].concat();
        envelope(&self.place.run(&arguments))
    }

    /// Runs `codemode run`, which must succeed; returns the result.
    fn result(&self, options: &[&str], code: &str) -> Json {
        let mut envelope = self.run(options, code);
        assert_eq!(envelope["ok"], true, "{envelope}");
        envelope["data"]["result"].take()
    }

    /// Starts `codemode run` in the background.
    fn start(&self, options: &[&str], code: &str) -> Running {
        let script = self.script(code);
        Running::start(self.place.command(&[&["run", "--json", "-e", &script], options].concat()))
    }

    /// Runs an operator's command, which must succeed; returns its data.
    fn operator(&self, arguments: &[&str]) -> Json {
        let mut envelope = envelope(&self.place.run(&[arguments, &["--json"]].concat()));
        assert_eq!(envelope["ok"], true, "{arguments:?}: {envelope}");
        envelope["data"].take()
    }

    fn sessions(&self) -> Vec<Json> {
        self.operator(&["sessions", "list"])["sessions"].as_array().unwrap().clone()
    }

    fn pid(&self, key: &str, whose: &str) -> Pid {
        let session = self.operator(&["sessions", "show", key]);
        let pid = session["session"][whose].as_i64().unwrap_or_else(|| panic!("{session}"));
        Pid::from_raw(i32::try_from(pid).unwrap()).unwrap()
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        for session in self.sessions() {
            self.operator(&["sessions", "close", session["id"].as_str().unwrap()]);
        }
        if !std::thread::panicking() {
            wait_until("the end of all browsers", PATIENCE, || self.place.processes().is_empty());
        }
    }
}

fn envelope(output: &Output) -> Json {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

fn warnings(envelope: &Json) -> String {
    envelope["meta"]["warnings"].to_string()
}

const REUSE: &[&str] = &["--session-key", "shop"];
const DYNAMIC: &[&str] = &["--session-mode", "dynamic", "--session-key", "shop"];

#[test]
fn a_login_over_two_processes() {
    let shop = Shop::open();
    assert_eq!(shop.result(REUSE, LOGIN)["user"], "ada");
    let second = shop.run(REUSE, WHO);
    assert_eq!(second["data"]["result"], "ada", "{second}");
    assert_eq!(warnings(&second), "[]");
    assert_eq!(second["context"]["lease"]["token"], 2, "{second}");
    let [session] = shop.sessions().try_into().unwrap();
    assert_eq!((&session["key"], &session["state"], &session["lease"]), (&json!("shop"), &json!("live"), &Json::Null));
    assert_eq!(session["urls"], json!([format!("{}/account", shop.site.url())]));
    assert!(session["memory_kib"].as_u64().unwrap() > 10_000, "{session}");
    assert_eq!(shop.run(&[], WHO)["data"]["result"], Json::Null, "without the key no user is logged in");
    assert_eq!(shop.sessions().len(), 1, "the one-shot browser is gone");
    let verdict = shop.operator(&["audit", "verify"]);
    assert_eq!(verdict["intact"], true);
    let noted = format!("{}:{}", verdict["last"], verdict["hash"].as_str().unwrap());
    assert_eq!(shop.operator(&["audit", "verify", "--expect", &noted])["intact"], true);
}

#[test]
fn a_login_over_two_mcp_processes() {
    let shop = Shop::open();
    let call = |code: &str| {
        let mut server = Server::start(&shop.place);
        let session = json!({"mode": "reuse", "key": "shop"});
        server.call(json!({"code": shop.script(code), "session": session}))
    };
    assert_eq!(call(LOGIN)["data"]["result"]["user"], "ada");
    assert_eq!(call(WHO)["data"]["result"], "ada");
}

#[test]
fn a_login_outlives_the_host_that_is_killed_in_mid_call() {
    let shop = Shop::open();
    let mut first = shop.start(REUSE, &format!("{LOGIN}\nawait new Promise((done) => setTimeout(done, 50_000))"));
    let account = json!([format!("{}/account", shop.site.url())]);
    wait_until("the login", PATIENCE, || shop.sessions().first().is_some_and(|session| session["urls"] == account));
    first.signal(Signal::KILL);
    first.ended(PATIENCE);
    let second = shop.run(REUSE, WHO);
    assert_eq!((&second["data"]["result"], warnings(&second).as_str()), (&json!("ada"), "[]"), "{second}");
    let lost = shop.operator(&["audit", "show", "--key", "shop"]);
    let rows = lost["rows"].as_array().unwrap();
    assert!(rows.iter().any(|row| row["kind"] == "lease.lost" && row["detail"] == r#"{"how":"host-died"}"#), "{lost}");
}

#[test]
fn a_login_outlives_its_browser_as_far_as_cookies_do() {
    let shop = Shop::open();
    assert_eq!(shop.result(REUSE, LOGIN)["user"], "ada");
    // Kill browser and keeper at once, as a power failure does.
    let pids = ["keeper_pid", "browser_pid"].map(|whose| shop.pid("shop", whose));
    pids.into_iter().for_each(|pid| kill_process(pid, Signal::KILL).unwrap());
    let second = shop.run(REUSE, WHO);
    assert_eq!(second["data"]["result"], "ada", "{second}");
    assert!(warnings(&second).contains("was replaced by a fresh one"), "{second}");
    assert_eq!(warnings(&shop.run(REUSE, WHO)), "[]", "it is told once");
}

#[test]
fn a_dynamic_session_is_one_shot_until_the_script_keeps_it() {
    let shop = Shop::open();
    assert_eq!(shop.result(DYNAMIC, LOGIN)["user"], "ada");
    assert_eq!(shop.sessions(), Vec::<Json>::new(), "no script kept it");
    let kept = shop.result(DYNAMIC, &format!("{LOGIN}\nawait cdp.startSession()"));
    assert_eq!((&kept["shared"], &kept["mode"], &kept["key"]), (&json!(true), &json!("dynamic"), &json!("shop")));
    assert_eq!(shop.result(DYNAMIC, WHO), "ada");
    assert_eq!(shop.result(REUSE, WHO), "ada", "it is the one of the key");
    shop.result(DYNAMIC, "await cdp.closeSession()");
    assert_eq!(shop.sessions(), Vec::<Json>::new());
    let refused = shop.run(&[], "await cdp.startSession()");
    assert_eq!(refused["error"]["code"], "UNSUPPORTED_OPERATION", "{refused}");
}

#[test]
fn a_dialog_that_a_script_leaves_open_does_not_stop_the_next_one() {
    let shop = Shop::open();
    let key = ["--session-key", "dialogs"];
    let opened = shop.result(
        &key,
        "const page = await browser.open();
        page.on('dialog', () => {});
        const asked = page.waitForEvent('dialog');
        await page.evaluate(() => { document.body.textContent = 'left'; setTimeout(() => confirm('Stay?')); });
        (await asked).message()",
    );
    assert_eq!(opened, "Stay?");
    let next = shop.result(
        &key,
        "const [left] = await browser.pages();
        const page = await browser.newPage();
        [page.id !== left.id, await page.textContent('body'), await left.textContent('body')]",
    );
    assert_eq!(next, json!([true, "", "left"]));
}

#[test]
fn keeping_a_browser_in_the_place_of_another_is_a_choice() {
    let shop = Shop::open();
    let places = StateDir::open(&shop.place.folder().join("state")).unwrap();
    let program = env!("CARGO_BIN_EXE_codemode").into();
    lab::block_on(async {
        let manager = SessionManager::open(places, program, SessionSettings::default()).unwrap();
        let session = |mode| SessionRequest { mode, key: Some("shop".into()), ..SessionRequest::default() };
        let acquire = async |execution: &str| {
            let order = BrowserOrder {
                execution: ExecutionId::new(execution),
                session: session(SessionMode::Dynamic),
                executable: None,
                headless: true,
                deadline: tokio::time::Instant::now() + PATIENCE,
                cancel: CancellationToken::new(),
            };
            manager.acquire(order).await.unwrap()
        };
        // Both start while the key has no browser.
        let (one, two) = (acquire("x-one").await, acquire("x-two").await);
        two.promote(Promotion::IfFree).await.unwrap();
        for promotion in [Promotion::IfFree, Promotion::Replace] {
            let busy = one.promote(promotion).await.unwrap_err();
            assert_eq!((busy.code, &busy.details["holder"]), (ErrorCode::SessionBusy, &json!("x-two")), "{busy:?}");
        }
        two.release().await.unwrap();
        let occupied = one.promote(Promotion::IfFree).await.unwrap_err();
        assert!(occupied.code == ErrorCode::SessionBusy && occupied.details["session"].is_string(), "{occupied:?}");
        assert_eq!(occupied.details["session"], two.facts().id);
        one.promote(Promotion::Replace).await.unwrap();
        one.check().await.unwrap();
        assert!(one.facts().shared && one.facts().token > two.facts().token);
        one.release().await.unwrap();
        assert_eq!(acquire("x-three").await.facts().id, one.facts().id, "it is the one of the key");
    });
    let ids: Vec<_> = shop.sessions().iter().map(|session| session["id"].clone()).collect();
    assert_eq!(ids.len(), 1, "the other one is closed: {ids:?}");
}

#[test]
fn a_browser_in_use_is_refused_with_its_holder() {
    let shop = Shop::open();
    let mut holder =
        shop.start(REUSE, "await cdp.attachToTarget(); await new Promise((done) => setTimeout(done, 50_000))");
    wait_until("the lease", PATIENCE, || shop.sessions().first().is_some_and(|session| session["lease"].is_object()));
    let wait = [REUSE, &["--session-wait", "200ms"]].concat();
    let refused = shop.run(&wait, WHO);
    let error = &refused["error"];
    assert_eq!((&error["code"], &error["retryable"]), (&json!("SESSION_BUSY"), &json!(true)), "{refused}");
    let [session] = shop.sessions().try_into().unwrap();
    let name = session["lease"]["holder"]["execution"].as_str().unwrap();
    assert!(error["message"].as_str().unwrap().contains(name), "{refused}");
    assert_eq!(error["details"]["holder"], name);
    assert!(error["details"]["expires_in_ms"].as_i64().unwrap() > 0, "{refused}");
    // Mode `dynamic` waits as well, because the key has a browser.
    let wait = [DYNAMIC, &["--session-wait", "0s"]].concat();
    assert_eq!(shop.run(&wait, WHO)["error"]["code"], "SESSION_BUSY");
    holder.signal(Signal::INT);
    holder.ended(PATIENCE);
    assert_eq!(shop.run(REUSE, WHO)["ok"], true, "it was given back");
}

#[test]
fn what_there_is_of_a_key_is_told_without_using_it() {
    let shop = Shop::open();
    let info = || shop.result(REUSE, "await cdp.sessionInfo()");
    let none = info();
    assert_eq!((&none["state"], &none["key"], none.get("pages")), (&json!("not-started"), &json!("shop"), None));
    shop.result(REUSE, LOGIN);
    let [session] = shop.sessions().try_into().unwrap();
    let kept = info();
    let page = json!([format!("{}/account", shop.site.url())]);
    assert_eq!((&kept["state"], &kept["session"], &kept["pages"]), (&json!("kept"), &session["id"], &page), "{kept}");
    let (age, idle) = (kept["ageMs"].as_i64().unwrap(), kept["idleMs"].as_i64().unwrap());
    assert!(age >= session["age_ms"].as_i64().unwrap() && idle <= age && kept.get("holder").is_none(), "{kept}");
    assert!(kept["endsInMs"].as_i64().is_some_and(|ms| ms > 0), "{kept}");
    // Querying the session took no lease, and did not reset the idle time.
    let [after] = shop.sessions().try_into().unwrap();
    assert!(after["idle_ms"].as_i64().unwrap() >= idle, "{after}");
    let audit = shop.operator(&["audit", "show", "--key", "shop"]);
    let acquired = audit["rows"].as_array().unwrap().iter().filter(|row| row["kind"] == "lease.acquired").count();
    assert_eq!(acquired, 1, "{audit}");

    let mut holder =
        shop.start(REUSE, "await cdp.attachToTarget(); await new Promise((done) => setTimeout(done, 50_000))");
    let held = || {
        shop.sessions().first().and_then(|session| session["lease"]["holder"]["execution"].as_str().map(str::to_owned))
    };
    wait_until("the lease", PATIENCE, || held().is_some());
    let busy = info();
    assert_eq!((busy["holder"].as_str(), busy.get("idleMs")), (held().as_deref(), None), "{busy}");
    holder.signal(Signal::INT);
    holder.ended(PATIENCE);
    // The script then uses the browser that it was told of.
    let used = shop.result(REUSE, "await cdp.attachToTarget(); await cdp.sessionInfo()");
    assert_eq!((&used["state"], &used["session"]), (&json!("running"), &kept["session"]), "{used}");
}

#[test]
fn what_a_script_closes_or_resets_is_forgotten() {
    let shop = Shop::open();
    for verb in ["cdp.closeSession()", "cdp.resetSession()"] {
        assert_eq!(shop.result(REUSE, LOGIN)["user"], "ada");
        shop.result(REUSE, &format!("await {verb}; 1"));
        let after = shop.run(REUSE, WHO);
        assert_eq!((&after["data"]["result"], warnings(&after).as_str()), (&Json::Null, "[]"), "{verb}: {after}");
    }
    // Within one script: the browser after the reset is another one.
    let code = "const one = (await cdp.attachToTarget(), await cdp.sessionInfo()).session;
                await cdp.closeSession(); await cdp.attachToTarget();
                const two = (await cdp.sessionInfo()).session; [one !== two, (await cdp.sessionInfo()).state]";
    for options in [&[], REUSE, DYNAMIC] {
        assert_eq!(shop.result(options, code), json!([true, "running"]), "{options:?}");
    }
}

#[test]
fn refs_hold_from_one_execution_to_the_next() {
    let shop = Shop::open();
    let key = ["--session-key", "shop"];
    let open = "const page = await browser.open(`${site}/login`); await page.snapshot()";
    let outline = shop.result(&key, open);
    let outline = outline.as_str().unwrap();
    let (_, button) = outline.split_once("button \"Log in\" [ref=").expect(outline);
    let button = &button[..button.find(']').unwrap()];
    let again = format!(
        "const [page] = await browser.pages(); \
         const before = await page.snapshot(); \
         await page.evaluate(() => document.body.append(document.createElement('button'))); \
         [await page.getAttribute('@{button}', 'id'), before, await page.snapshot({{ interactive: true }})]"
    );
    let told = shop.result(&key, &again);
    assert_eq!(told[0], "submit");
    assert_eq!(told[1], outline, "the same elements have the same refs");
    let refs: Vec<u64> = told[2]
        .as_str()
        .unwrap()
        .split("[ref=e")
        .skip(1)
        .map(|rest| rest[..rest.find(']').unwrap()].parse().unwrap())
        .collect();
    let known = outline.matches("[ref=").count() as u64;
    assert_eq!(refs.iter().max(), Some(&(known + 1)), "what is new has a number that was never given");

    // Refs belong to the key: another key does not know them, and they end with the browser.
    let stale = format!(
        "const page = await browser.open(`${{site}}/login`); await page.click('@{button}', {{ timeout: 1_000 }})"
    );
    let refused = shop.run(&["--session-key", "other"], &stale);
    assert_eq!(refused["error"]["details"]["reason"], "REF_NOT_FOUND", "{refused}");
    shop.result(&["--session-key", "other"], open);
    assert_eq!(notes(&shop).len(), 2);
    shop.result(&key, "await cdp.closeSession(); 1");
    assert_eq!(notes(&shop).len(), 1);
    shop.result(&["--session-key", "other"], &format!("{open}; await cdp.resetSession(); 1"));
    assert_eq!(notes(&shop).len(), 0);
}

#[test]
fn refs_of_the_browser_after_a_reset_hold_in_the_next_execution() {
    let shop = Shop::open();
    let key = ["--session-key", "shop"];
    let open = "const page = await browser.open(`${site}/login`); await page.snapshot()";
    for end in ["closeSession", "resetSession"] {
        let outline = shop.result(&key, &format!("{open}; await cdp.{end}(); {{ {open} }}"));
        let outline = outline.as_str().unwrap();
        let (_, button) = outline.split_once("button \"Log in\" [ref=").expect(outline);
        let button = &button[..button.find(']').unwrap()];
        let again = format!(
            "const page = (await browser.pages()).find((page) => page.url().endsWith('/login')); \
             await page.getAttribute('@{button}', 'id')"
        );
        assert_eq!(shop.result(&key, &again), "submit", "{end}");
    }
}

/// The files with refs that executions leave for later ones.
fn notes(shop: &Shop) -> Vec<fs::DirEntry> {
    fs::read_dir(shop.place.folder().join("state/notes")).unwrap().map(Result::unwrap).collect()
}

#[test]
fn an_idle_browser_ends_by_itself() {
    let shop = Shop::open();
    let shortly = [REUSE, &["--session-ttl", "1s"]].concat();
    assert_eq!(shop.result(&shortly, LOGIN)["user"], "ada");
    wait_until("the end of the browser", PATIENCE, || shop.place.processes().is_empty());
    assert_eq!(shop.sessions(), Vec::<Json>::new());
    let ended = shop.operator(&["sessions", "list", "--ended"]);
    assert_eq!(ended["sessions"][0]["reason"], "idle", "{ended}");
    let again = shop.run(REUSE, WHO);
    assert_eq!(again["data"]["result"], "ada", "{again}");
    assert!(warnings(&again).contains("nobody used it for its idle time"), "{again}");
}

#[test]
fn a_session_that_cannot_be_is_refused_before_anything_runs() {
    let shop = Shop::open();
    let assert_refused = |refused: Json, word: &str| {
        assert_eq!(refused["error"]["code"], "INVALID_ARGUMENT", "{refused}");
        assert!(refused["error"]["message"].as_str().unwrap().contains(word), "{refused}");
        assert_eq!(refused["data"], Json::Null);
    };
    // Through MCP, since the command line refuses the first three itself, with its own messages.
    let mut server = Server::start(&shop.place);
    for session in [json!({"mode": "reuse"}), json!({"mode": "one-shot", "key": "a"}), json!({"key": "a b"})] {
        assert_refused(server.call(json!({"code": "console.log('ran')", "session": session})), "session.key");
    }
    let external = ["--session-key", "a", "--cdp-url", "ws://127.0.0.1:1/"];
    assert_refused(shop.run(&external, "console.log('ran')"), "cannot be shared");
}

#[test]
fn the_file_of_defaults_says_which_session_is_meant() {
    let shop = Shop::open();
    let folder = shop.place.folder().join("config/codemode");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.toml"), "[session]\nmode = \"reuse\"\nkey = \"usual\"\n").unwrap();
    let info = shop.result(&[], "await cdp.attachToTarget(); await cdp.sessionInfo()");
    assert_eq!((&info["mode"], &info["key"]), (&json!("reuse"), &json!("usual")));
    assert_eq!(shop.result(&["--session-mode", "one-shot"], "(await cdp.sessionInfo()).mode"), "one-shot");
    fs::write(folder.join("config.toml"), "[sesion]\n").unwrap();
    let wrong = shop.run(&[], "1");
    assert_eq!(wrong["error"]["code"], "INVALID_ARGUMENT", "{wrong}");
    fs::remove_file(folder.join("config.toml")).unwrap();
}

#[test]
fn an_operator_sees_and_ends_what_there_is() {
    let shop = Shop::open();
    let none = shop.place.run(&["sessions", "list"]);
    assert_eq!((none.status.code(), none.stdout.len()), (Some(0), 0));
    shop.result(REUSE, LOGIN);
    let list = shop.place.run(&["sessions", "list"]);
    let table = String::from_utf8(list.stdout).unwrap();
    let lines: Vec<_> = table.lines().collect();
    assert!(lines.len() == 2 && lines[0].starts_with("ID ") && lines[1].contains("/account"), "{table}");
    let unknown = shop.place.run(&["sessions", "close", "nobody"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("hint: "), "{unknown:?}");
    assert_eq!(shop.operator(&["sessions", "revoke", "shop"])["revoked"], Json::Null, "no execution uses it");
    let closed = shop.operator(&["sessions", "close", "shop"]);
    assert_eq!(closed["already"], false);
    assert_eq!(shop.operator(&["sessions", "close", "shop"])["already"], true);
    assert_eq!(shop.place.processes(), Vec::<String>::new());
    assert_eq!(shop.operator(&["sessions", "sweep"])["sessions"], json!([]));
    let audit = shop.operator(&["audit", "show", "--key", "shop"]);
    let rows = audit["rows"].as_array().unwrap();
    let (calls, rest): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row["kind"] == "call");
    assert!(calls.len() > 3 && calls.iter().all(|row| row["token"] == 1), "{calls:?}");
    // The number of renewals depends on timing.
    let kinds = rest.iter().map(|row| row["kind"].as_str().unwrap()).filter(|kind| *kind != "lease.renewed");
    let kinds: Vec<_> = kinds.collect();
    let expected = [
        "execution.started",
        "lease.requested",
        "lease.acquired",
        "session.created",
        "session.started",
        "lease.released",
        "execution.ended",
        // The operator closes the session, ...
        "lease.acquired",
        "session.closed",
        "lease.released",
        // ... and then removes the key's persistent state.
        "lease.acquired",
        "session.closed",
        "lease.released",
    ];
    assert_eq!(kinds, expected);
    let started = audit["rows"][0]["execution"].as_str().unwrap();
    let calls = shop.operator(&["audit", "show", "--execution", started]).to_string();
    assert!(calls.contains("Input.insertText") && calls.contains(shop.site.url()), "{calls}");
    assert!(!calls.contains("lovelace") && !calls.contains("#password"), "no value of an argument: {calls}");
}

#[test]
fn the_audit_tells_on_which_page_each_call_was_made_and_where_it_leads() {
    let shop = Shop::open();
    let code = "
const [here, there] = [site, site.replace('127.0.0.1', 'localhost')];
const tabs = [];
for (const origin of [here, there]) {
  const { targetId } = await cdp.send('Target.createTarget', { url: 'about:blank' });
  const sessionId = await cdp.attachToTarget(targetId);
  await cdp.send('Page.navigate', { url: `${origin}/login?hush#hush` }, { sessionId });
  await cdp.waitForEvent('Page.loadEventFired', { sessionId });
  tabs.push(sessionId);
}
for (const sessionId of [...tabs, ...tabs]) await cdp.send('Runtime.evaluate', { expression: '1' }, { sessionId });
await cdp.send('Page.navigate', { url: `${there}/hush` }, { sessionId: tabs[0] });
await cdp.send('Target.createTarget', { url: `${here}/hush` });";
    let answer = shop.run(&[], code);
    let execution = answer["context"]["execution_id"].as_str().unwrap_or_else(|| panic!("{answer}"));
    let rows = shop.operator(&["audit", "show", "--execution", execution]);
    assert!(!rows.to_string().contains("hush"), "{rows}");
    let details = rows["rows"].as_array().unwrap().iter().filter(|row| row["kind"] == "call");
    let calls: Vec<_> = details
        .map(|row| serde_json::from_str::<Json>(row["detail"].as_str().unwrap()).unwrap())
        .filter(|detail| detail.get("action").is_some())
        .map(|detail| json!([detail["action"], detail["origin"], detail["to_origin"]]))
        .collect();
    let (here, there) = (shop.site.url(), shop.site.url().replace("127.0.0.1", "localhost"));
    let expected = json!([
        ["Target.createTarget", null, null],
        ["Page.navigate", null, here],
        ["Target.createTarget", null, null],
        ["Page.navigate", null, there],
        ["Runtime.evaluate", here, null],
        ["Runtime.evaluate", there, null],
        ["Runtime.evaluate", here, null],
        ["Runtime.evaluate", there, null],
        ["Page.navigate", here, there],
        ["Target.createTarget", null, here],
    ]);
    assert_eq!(Json::from(calls), expected);
}

#[test]
fn the_index_of_the_protocol_is_never_cut() {
    let answer = Shop::open().run(&[], "await cdp.spec()");
    assert_eq!((&answer["ok"], &answer["meta"]["truncated"]), (&json!(true), &json!(false)));
    assert!(answer["data"]["result"]["Page"]["commands"].as_str().unwrap().contains("navigate"), "{answer}");
}

#[test]
fn any_number_of_processes_may_be_the_first() {
    let place = Place::new();
    let children: Vec<_> = (0..8)
        .map(|_| place.command(&["sessions", "list", "--json"]).stdout(Stdio::piped()).spawn().unwrap())
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert_eq!(envelope(&output)["data"]["sessions"], json!([]), "{output:?}");
    }
}

/// As when a program starts codemode with a pipe that it reads to the end, or below a lock.
#[test]
fn a_browser_that_stays_holds_nothing_that_its_host_inherited() {
    let leases = Leases::new();
    let run = leases.command(&["run", "--json", "--session-key", "shop", "-e", &leases.script("await visit('/a'); 1")]);
    let (mut read, write) = std::io::pipe().unwrap();
    let mut inheriting = Command::new("sh");
    inheriting.args(["-c", "exec \"$@\" 9>&0 </dev/null", "sh"]).arg(run.get_program()).args(run.get_args());
    for (name, value) in run.get_envs() {
        match value {
            Some(value) => inheriting.env(name, value),
            None => inheriting.env_remove(name),
        };
    }
    inheriting.stdin(write);
    assert_eq!(envelope_of(inheriting)["data"]["result"], 1);
    let (ended, end) = mpsc::channel();
    thread::spawn(move || ended.send(std::io::copy(&mut read, &mut std::io::sink()).unwrap()));
    assert_eq!(end.recv_timeout(PATIENCE), Ok(0), "no process that goes on has the pipe's other end");
    assert_eq!(leases.session("shop")["state"], "live");
    assert_eq!(leases.ask(&["sessions", "close", "shop", "--json"])["ok"], true);
    leases.wait_until_all_ended(PATIENCE);
}

/// A suspended and resumed execution, at the level of the provider.
#[test]
fn an_execution_that_resumes_has_the_same_browser_or_is_told_that_it_expired() {
    let shop = Shop::open();
    let state = shop.place.folder().join("state");
    lab::block_on(async {
        let program = env!("CARGO_BIN_EXE_codemode").into();
        let manager =
            SessionManager::open(StateDir::open(&state).unwrap(), program, SessionSettings::default()).unwrap();
        for mode in [SessionMode::OneShot, SessionMode::Reuse] {
            let mut context = testkit::context(&state, json!({}));
            let key = (mode == SessionMode::Reuse).then(|| "shop".to_owned());
            context.session = SessionRequest { mode, key, ..SessionRequest::default() };
            let browsers: Arc<dyn ServiceProvider> = Arc::new(browsing::browsers(Some(Arc::new(manager.clone()))));
            let provider = Arc::new(CdpProvider::new());
            let mut execution = TestExecution::begin(provider, &[browsers], context).await.unwrap();
            let attach = async |execution: &TestExecution| execution.call("attachToTarget", Vec::new()).await;
            let page = attach(&execution).await.unwrap();
            execution.suspend().await.unwrap();
            execution.resume().await.unwrap();
            assert_eq!(attach(&execution).await.unwrap(), page, "{mode}: it is the same page");
            let session = execution.describe().session_id.unwrap();
            execution.suspend().await.unwrap();
            shop.operator(&["sessions", "close", &session]);
            execution.resume().await.unwrap();
            let late = attach(&execution).await.unwrap_err();
            assert_eq!(late.code, ErrorCode::SessionExpired, "{mode}: {late:?}");
            execution.dispose(Ending::Failed).await.unwrap();
            // Only the next holder of a key needs the warning; a one-shot browser would have ended anyway.
            let told = usize::from(mode == SessionMode::Reuse);
            assert_eq!(execution.warnings().len(), told, "{mode}: {:?}", execution.warnings());
        }
    });
    assert_eq!(shop.sessions(), Vec::<Json>::new());
}

/// A page that is still loading because its site does not answer.
#[test]
fn an_answer_names_the_page_that_is_on_its_way() {
    let leases = Leases::new();
    let at = |code: &str| {
        let answer = leases.ask(&["run", "--json", "-e", &leases.script(code)]);
        assert_eq!(answer["ok"], true, "{answer}");
        answer["context"]["url"].as_str().map(|url| url.replace(leases.site.url(), ""))
    };
    let is_at = |path: &str, code: &str| assert_eq!(at(code).as_deref(), Some(path), "{code}");
    let asked = "while ((await cdp.events({ names: ['Network.requestWillBeSent'] })).events.length === 0);";
    let leaves = format!(
        "await visit('/here'); await send('Network.enable');
         send('Page.navigate', {{ url: '{{{{site}}}}/gate/1' }}).catch(() => {{}}); {asked}"
    );
    is_at("/gate/1", &leaves);
    let opens = "const { targetId } = await cdp.send('Target.createTarget', { url: '{{site}}/gate/2' });
                 await cdp.attachToTarget(targetId);";
    is_at("/gate/2", opens);
    is_at("/here", "await visit('/here'); await send('Page.navigate', { url: 'wrong:' }).catch(() => {});");
    is_at("/there", "await visit('/there')");
    is_at(
        "/new",
        "await cdp.attachToTarget((await cdp.send('Target.createTarget', { url: '{{site}}/new' })).targetId);",
    );
    ["/gate/1", "/gate/2"].iter().for_each(|gate| leases.site.open(gate));
}
