//! Saved login states: which session key owns them, what another browser gets when it loads one, and that their content
//! is never disclosed.

use crate::support::{lab, leases::Leases, program::PATIENCE};
use codemode_host::{
    logins::LoginStore,
    service::{AuditQuery, Retention, Service, Settings},
    site,
    state_dir::StateDir,
};
use codemode_provider::LoginState;
use codemode_spec::{ErrorCode, limits::LOGIN_BYTES_MAX};
use rusqlite::Connection;
use serde_json::{Value as Json, json};
use std::{collections::BTreeSet, fs, os::unix::fs::PermissionsExt as _, path::PathBuf};

/// The value in local storage of two origins, and in a persistent cookie.
const VALUE: &str = "login-value-7f3a";
const KEY: &str = "shop";

/// A state folder with the program, and the demo's site at two addresses, which are different sites with separate
/// cookies.
struct Desk {
    leases: Leases,
    sites: [site::Site; 2],
    runtime: tokio::runtime::Runtime,
}

impl Desk {
    fn open() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let [first, second] = [runtime.block_on(site::serve()).unwrap(), runtime.block_on(site::serve()).unwrap()];
        Self { leases: Leases::new(), sites: [first, second], runtime }
    }

    fn script(&self, code: &str) -> String {
        let [site, other] = &self.sites;
        let other = other.url().replace("127.0.0.1", "localhost");
        code.replace("{{site}}", site.url())
            .replace("{{other}}", &other)
            .replace("{{witness}}", self.leases.site.url())
            .replace("{{value}}", VALUE)
    }

    /// Runs a script and returns the answer; asserts that it does not contain the stored value.
    fn run(&self, options: &[&str], code: &str) -> Json {
        let script = self.script(code);
        let answer = self.leases.ask(&[&["run", "--json", "--timeout", "50s", "-e", &script], options].concat());
        assert!(!answer.to_string().contains(VALUE), "{answer}");
        answer
    }

    fn result(&self, options: &[&str], code: &str) -> Json {
        let mut answer = self.run(options, code);
        assert_eq!(answer["ok"], true, "{answer}");
        answer["data"]["result"].take()
    }

    /// Runs a script that must fail; returns code and hint.
    fn refused(&self, options: &[&str], code: &str) -> (String, String) {
        let answer = self.run(options, code);
        let text = |name: &str| answer["error"][name].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
        (text("code"), format!("{} {}", text("message"), text("hint")))
    }

    fn operator(&self, arguments: &[&str]) -> Json {
        let mut answer = self.leases.ask(&[arguments, &["--json"]].concat());
        assert_eq!(answer["ok"], true, "{answer}");
        answer["data"].take()
    }

    /// The rows of the audit about logins, as `login.saved KEY NAME script`.
    fn audited(&self) -> Vec<String> {
        let shown = self.operator(&["audit", "show"]);
        let rows =
            shown["rows"].as_array().unwrap().iter().filter(|row| row["kind"].as_str().unwrap().starts_with("login."));
        rows.map(|row| {
            let detail: Json = serde_json::from_str(row["detail"].as_str().unwrap()).unwrap();
            let by = if row["execution"].is_string() { "script" } else { "operator" };
            format!(
                "{} {} {} {by}",
                row["kind"].as_str().unwrap(),
                row["key"].as_str().unwrap(),
                detail["name"].as_str().unwrap()
            )
        })
        .collect()
    }

    fn files(&self) -> Vec<PathBuf> {
        let files = fs::read_dir(self.leases.state().join("logins")).unwrap().flatten().map(|file| file.path());
        files.filter(|file| file.extension().is_some_and(|ending| ending == "login")).collect()
    }

    fn close(&self, key: &str) {
        assert_eq!(self.leases.ask(&["sessions", "close", key, "--json"])["ok"], true);
    }
}

const REUSE: &[&str] = &["--session-key", KEY];
const OTHER_KEY: &[&str] = &["--session-key", "bank"];
/// Logs in to the site, leaves something in the local storage of two origins, and saves it.
const SAVE: &str = "
    const page = await browser.open('{{site}}/login');
    await page.fill({ '#user': 'ada', '#password': 'lovelace' });
    await page.click('#submit');
    await page.waitForURL('**/account');
    await page.evaluate(() => {
        document.cookie = 'kept={{value}}; max-age=3600; path=/';
        localStorage.setItem('length', '{{value}}');
        localStorage.setItem('user', '{{value}}');
        // A page that tampers with built-ins cannot falsify what is saved.
        JSON.stringify = () => 'null';
        Object.entries = () => [['user', 'mallory']];
        Storage.prototype.getItem = () => 'mallory';
    });
    const other = await browser.open('{{other}}/login');
    await other.evaluate(() => localStorage.setItem('other', '{{value}}'));
    const state = await page.context().storageState({ path: 'shop' });
    [state.cookies.map(({ name }) => name).sort(), state.origins.map(({ origin }) => new URL(origin).hostname),
        state.origins[0].localStorage.map(({ name }) => name).sort()];";
/// Reads the state of a page of each origin: the logged-in user, and whether the stored values are right.
const FOUND: &str = "
    const is = '{{value}}';
    const found = await page.evaluate((is) => [location.pathname, document.cookie.includes(`kept=${is}`),
        localStorage.getItem('user') === is, localStorage.getItem('length') === is, localStorage.length], is);
    const second = await browser.open('{{other}}/login');
    found.push(await second.evaluate((is) => localStorage.getItem('other') === is, is));
    found";
const NOTHING: &str = "const page = await browser.open('{{site}}/account');";
const LOADED: &str = "const page = await browser.open('{{site}}/account', { storageState: 'shop' });";

#[test]
fn a_login_that_was_saved_is_there_in_a_fresh_browser_of_the_key_and_of_no_other() {
    let desk = Desk::open();
    assert_eq!(desk.result(REUSE, SAVE), json!([["kept", "session"], ["127.0.0.1"], ["length", "user"]]));
    // The login exists neither for an execution with another key nor for one without.
    let (code, words) = desk.refused(OTHER_KEY, LOADED);
    assert_eq!(code, "NOT_FOUND");
    assert!(words.contains("there is no login state \"shop\"") && words.contains("There are none"), "{words}");
    let words = words.replace("browser.open", "browser.forgetState");
    assert_eq!(desk.refused(OTHER_KEY, "await browser.forgetState('shop')"), (code, words));
    let one_shot = desk.refused(&[], LOADED);
    assert_eq!(one_shot.0, "UNSUPPORTED_OPERATION");
    assert!(one_shot.1.contains("session {mode: \"reuse\""), "{}", one_shot.1);
    for call in ["await browser.storageState({ path: 'shop' })", "await browser.forgetState('shop')"] {
        assert_eq!(desk.refused(&[], &format!("await browser.open(); {call}")).0, "UNSUPPORTED_OPERATION", "{call}");
    }
    desk.close("bank");
    desk.close(KEY);
    // A browser without the login, until it is loaded.
    assert_eq!(desk.result(REUSE, &format!("{NOTHING}{FOUND}")), json!(["/login", false, false, false, 0, false]));
    // The tab that restores the local storage is not one of the script's pages, and is closed.
    let code = format!("{LOADED} {FOUND}; [found, (await browser.pages()).length]");
    assert_eq!(desk.result(REUSE, &code), json!([["/account", true, true, true, 2, true], 4]));
    // The saved login outlives the browser, also one that the script resets.
    let code = format!("await cdp.resetSession(); {LOADED} {FOUND}");
    assert_eq!(desk.result(REUSE, &code), json!(["/account", true, true, true, 2, true]));
    // In mode `dynamic` the key is the same, whichever browser the execution gets.
    desk.close(KEY);
    let dynamic = ["--session-mode", "dynamic", "--session-key", KEY];
    assert_eq!(desk.result(&dynamic, &format!("{LOADED} {FOUND}")), json!(["/account", true, true, true, 2, true]));
    let refused = desk.refused(&dynamic, "await browser.open('{{site}}/', { storageState: 'bank' })");
    assert!(refused.0 == "NOT_FOUND" && refused.1.contains("Those of this session key: shop."), "{refused:?}");
    let rows = ["login.saved shop shop script", "login.loaded shop shop script"];
    assert_eq!(desk.audited(), [rows[0], rows[1], rows[1], rows[1]]);
    assert!(!desk.operator(&["audit", "show"]).to_string().contains(VALUE));
    desk.leases.wait_until_all_ended(PATIENCE);
}

/// Saves two login states of a page whose origin stores the value.
const SAVE_TWO: &str = "
    const page = await browser.open('{{site}}/login');
    await page.evaluate(() => localStorage.setItem('user', '{{value}}'));
    const wrong = [];
    for (const path of ['auth/state.json', '', 'a b', 'x'.repeat(65)])
        wrong.push(await browser.storageState({ path }).then(() => 'saved', ({ code, message }) => [code, /is a path/.test(message)].join()));
    const origins = await Promise.all(['shop', 'bank'].map(async (path) => (await browser.storageState({ path })).origins.length));
    await page.evaluate(() => localStorage.setItem('large', 'x'.repeat(LARGE)));
    wrong.push(await browser.storageState({ path: 'large' }).then(() => 'saved', ({ code, hint }) => [code, /Close the pages/.test(hint)].join()));
    [origins, wrong]";
/// Tries to load each state; returns the outcomes.
const TRY: &str = "
    const tried = {};
    for (const name of ['shop', 'bank', 'large']) {
        tried[name] = await browser.newPage({ storageState: name })
            .then((page) => page.close(), ({ code, message }) => [code, message.split(': ')[1]].join()) ?? 'loaded';
    }
    tried";

#[test]
fn what_is_saved_lies_sealed_and_opens_only_where_it_was_written() {
    let desk = Desk::open();
    let saved = desk.result(REUSE, &SAVE_TWO.replace("LARGE", &LOGIN_BYTES_MAX.to_string()));
    let wrong = [
        "INVALID_ARGUMENT,true",
        "INVALID_ARGUMENT,false",
        "INVALID_ARGUMENT,false",
        "INVALID_ARGUMENT,false",
        "RESULT_TOO_LARGE,true",
    ];
    assert_eq!(saved, json!([[1, 1], wrong]));
    let folder = desk.leases.state().join("logins");
    let mode = |path: &PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    for file in fs::read_dir(&folder).unwrap().flatten().map(|file| file.path()) {
        assert_eq!(mode(&file), 0o600, "{file:?}");
        let bytes = fs::read(&file).unwrap();
        assert!(!bytes.windows(VALUE.len()).any(|part| part == VALUE.as_bytes()), "{file:?}");
    }
    let files = desk.files();
    let [first, second] = files.as_slice() else { panic!("two states: {files:?}") };
    let unknown = "NOT_FOUND,there is no login state \"large\"";
    assert_eq!(desk.result(REUSE, TRY), json!({"shop": "loaded", "bank": "loaded", "large": unknown}));
    // Swap the two files.
    let aside = folder.join("aside");
    for (from, to) in [(first, &aside), (second, first), (&aside, second)] {
        fs::rename(from, to).unwrap();
    }
    let broken = |name: &str| format!("NOT_READY,the login state \"{name}\" does not open");
    let neither = json!({"shop": broken("shop"), "bank": broken("bank"), "large": unknown});
    assert_eq!(desk.result(REUSE, TRY), neither);
    assert_eq!(desk.operator(&["logins", "list"]), json!({"logins": [], "unreadable": 2}));
    for (from, to) in [(first, &aside), (second, first), (&aside, second)] {
        fs::rename(from, to).unwrap();
    }
    let is_of = |name: &str| fs::read_to_string(first).unwrap().contains(&format!("\"name\":\"{name}\""));
    let (name, other) = if is_of("shop") { ("shop", "bank") } else { ("bank", "shop") };
    let mut whole = fs::read(first).unwrap();
    let last = whole.len() - 9;
    whole[last] = if whole[last] == b'A' { b'B' } else { b'A' };
    fs::write(first, whole).unwrap();
    let tried = desk.result(REUSE, TRY);
    assert_eq!((&tried[name], &tried[other]), (&json!(broken(name)), &json!("loaded")));
    // An operator lists and removes both; scripts cannot load them any more.
    let listed = desk.operator(&["logins", "list"]);
    let names: Vec<_> = listed["logins"].as_array().unwrap().iter().map(|login| &login["name"]).collect();
    assert_eq!(json!([names, listed["logins"][0]["key"]]), json!([["bank", "shop"], KEY]));
    let table = desk.leases.command(&["logins", "list"]).output().unwrap();
    assert!(String::from_utf8_lossy(&table.stdout).starts_with("NAME  KEY   LAST USED"), "{table:?}");
    let removed = desk.operator(&["logins", "remove", "shop", "--key", KEY]);
    assert_eq!(removed, json!({"removed": "shop", "key": KEY}));
    let not_there = desk.leases.ask(&["logins", "remove", "bank", "--key", "other", "--json"]);
    assert_eq!(not_there["error"]["code"], "NOT_FOUND", "{not_there}");
    assert_eq!(desk.result(REUSE, "await browser.forgetState('bank'); 'done'"), "done");
    let tried = desk.result(REUSE, TRY);
    let gone = ["shop", "bank"].map(|name| json!(unknown.replace("large", name)));
    assert_eq!([&tried["shop"], &tried["bank"]], gone.each_ref());
    let removals: Vec<_> = desk.audited().into_iter().filter(|row| row.starts_with("login.removed")).collect();
    assert_eq!(removals, ["login.removed shop shop operator", "login.removed shop bank script"]);
    assert_eq!(desk.files(), Vec::<PathBuf>::new());
    desk.close(KEY);
    desk.leases.wait_until_all_ended(PATIENCE);
}

/// A login state given as an object, for the origin of the site that records its visitors.
const GIVEN: &str = "
    const state = {
        cookies: [{ name: 'given', value: 'c', domain: '127.0.0.1', path: '/', expires: -1, httpOnly: true }],
        origins: [{ origin: '{{witness}}', localStorage: [{ name: 'user', value: 'ada' }, { name: 'length', value: '2' }] },
            { origin: '{{other}}', localStorage: [] }],
    };
    const page = await browser.open('{{witness}}/first', { storageState: state });
    const found = await page.evaluate(() => [localStorage.getItem('user'), localStorage.getItem('length'), document.cookie]);
    const codes = [];
    for (const storageState of [{ origins: [{ origin: '{{witness}}/first' }] }, { cookies: 'session' }, { cookies: [{ name: 'x' }] }, 'shop'])
        codes.push(await browser.newPage({ storageState }).then(() => 'loaded', ({ code }) => code));
    const kept = await page.context().storageState();
    [found, (await browser.pages()).length, codes, kept.cookies.map(({ name }) => name), kept.origins.length]";

/// Loading from an object needs no session key, and sends no request to a server.
#[test]
fn a_state_that_a_script_gives_is_put_in_before_the_page_goes_to_its_site() {
    let desk = Desk::open();
    let codes = ["INVALID_ARGUMENT", "INVALID_ARGUMENT", "CDP_PROTOCOL_ERROR", "UNSUPPORTED_OPERATION"];
    // A page whose state is refused is closed again.
    assert_eq!(desk.result(&[], GIVEN), json!([["ada", "2", ""], 1, codes, ["given"], 1]));
    let visits: Vec<_> = desk.leases.site.visits().into_iter().map(|(_, path)| path).collect();
    assert_eq!(visits, ["/first"]);
    desk.leases.wait_until_all_ended(PATIENCE);
}

#[test]
fn the_logins_of_an_external_browser_are_its_users() {
    let desk = Desk::open();
    let profiles = tempfile::tempdir().unwrap();
    let program = codemode_chromium::find(None).unwrap().path;
    let options = codemode_chromium::LaunchOptions {
        listens: true,
        start_timeout: PATIENCE,
        ..codemode_chromium::LaunchOptions::new(program, profiles.path().to_owned(), "somebody")
    };
    let browser = desk.runtime.block_on(codemode_chromium::Browser::launch(options)).unwrap();
    let url = browser.endpoint().expect("it listens").ws_url.clone();
    let code = "
        const page = await browser.open('{{site}}/login');
        const codes = [];
        for (const call of [() => browser.storageState({ path: 'shop' }), () => browser.newPage({ storageState: 'shop' }), () => browser.forgetState('shop')])
            codes.push(await call().then(() => 'done', ({ code, message }) => [code, /external browser/.test(message)].join()));
        codes";
    assert_eq!(
        desk.result(&["--cdp-url", &url], code),
        json!(["UNSUPPORTED_OPERATION,true", "UNSUPPORTED_OPERATION,true", "UNSUPPORTED_OPERATION,true"])
    );
    assert!(!desk.leases.state().join("logins").exists());
    desk.runtime.block_on(browser.close()).unwrap();
    desk.leases.wait_until_all_ended(PATIENCE);
}

#[test]
fn a_removal_that_the_audit_does_not_take_is_told_and_the_others_are_noted() {
    let folder = tempfile::tempdir().unwrap();
    let state = StateDir::open(&folder.path().join("state")).unwrap();
    let logins = LoginStore::new(&state.logins());
    for number in 0..8 {
        logins.save(KEY, &format!("shop-{number}"), &LoginState::new("{}".to_owned())).unwrap();
    }
    let retention = Retention { logins_ms: 0, ..Retention::default() };
    let settings = Settings { state_dir: Some(state.path().to_owned()), retention, ..Settings::default() };
    let service = Service::builder(settings).without_browser().build().unwrap();
    lab::block_on(async {
        service.sessions_list(false).await.unwrap();
        let refusals: Vec<_> = ["1", "2", "5", "6"].map(|number| format!("NEW.detail LIKE '%shop-{number}%'")).into();
        let trigger = format!(
            "CREATE TRIGGER refuses BEFORE INSERT ON audit WHEN {} BEGIN SELECT RAISE(ABORT, 'on purpose'); END",
            refusals.join(" OR ")
        );
        Connection::open(state.store()).unwrap().execute_batch(&trigger).unwrap();
        let told = [
            service.logins_remove("shop-1", KEY).await.map(drop),
            service.logins_remove("shop-0", KEY).await.map(drop),
            service.sessions_sweep().await.map(drop),
        ];
        let told = told.map(|told| told.map_err(|error| (error.code, error.message.contains("was done"))));
        assert_eq!(told, [Err((ErrorCode::IoError, true)), Ok(()), Err((ErrorCode::IoError, true))]);
        assert_eq!(logins.list().unwrap().logins, []);
        let rows = service.audit_show(AuditQuery::default()).await.unwrap().rows;
        let noted: BTreeSet<_> = rows.iter().map(|row| row.detail.split('"').nth(3).unwrap_or_default()).collect();
        assert_eq!(noted, BTreeSet::from(["shop-0", "shop-3", "shop-4", "shop-7"]));
    });
}
