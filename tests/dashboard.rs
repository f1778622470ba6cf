//! The dashboard in a real browser that codemode does not manage: what it shows, which callers may see it, and that
//! viewing a page does not affect it.
//!
//! `CODEMODE_PICTURES=1 cargo test -- dashboard` writes the screenshots of `spec/DASHBOARD.md`.

use crate::support::{
    browsing::block_on,
    http::{Reply, Serving},
    leases::envelope_of,
    program::{PATIENCE, Place, need_browser, wait_until},
    range::Stranger,
    root,
    web::{Page, until},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use codemode_host::site;
use codemode_spec::limits::{VIEW_WAIT_MS_MAX, VIEWS_MAX};
use rustix::process::Signal;
use serde_json::{Value as Json, json};
use std::{
    collections::BTreeSet,
    env, fs,
    io::Write as _,
    os::unix::fs::PermissionsExt as _,
    process::Stdio,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

const OF_CI: &str = "ci-0123456789abcdef0123456789abcdef";
const OF_OPS: &str = "ops-fedcba9876543210fedcba9876543210";
/// A payload that runs if a text is interpreted as markup.
const MARKUP: &str = "</script><img src=x onerror=\"document.title='owned'\"><b id=owned>";
/// A page that alternates between red and blue, and a script that reports whether the page can detect that it is
/// viewed.
const TURNING: &str = r#"
    const page = await browser.open("data:text/html,<title>turning</title><body></body>");
    await page.evaluate((title) => { document.title = title; }, MARKUP);
    const targets = async () => (await cdp.send("Target.getTargets")).targetInfos.length;
    console.log(MARKUP, await targets());
    console.warn("running");
    for (let round = 0; ; round++) {
      console.log(await page.evaluate((round) => {
        document.body.style.background = round % 2 ? "rgb(0, 0, 255)" : "rgb(255, 0, 0)";
        return [innerWidth, innerHeight, devicePixelRatio, document.visibilityState, document.hasFocus()].join();
      }, round), await targets());
      await new Promise((done) => setTimeout(done, 700));
    }"#;

fn turning() -> String {
    TURNING.replace("MARKUP", &json!(MARKUP).to_string())
}

fn begin(serving: &Serving, headers: &[(&str, &str)], code: &str, session: Json) -> JoinHandle<Option<Reply>> {
    let mut arguments = json!({"code": code, "timeout_ms": 600_000});
    if !session.is_null() {
        arguments["session"] = session;
    }
    serving.begin(headers, &arguments)
}

fn end(mut serving: Serving, running: Vec<JoinHandle<Option<Reply>>>, place: &Place) {
    serving.program.signal(Signal::TERM);
    serving.program.ended(PATIENCE);
    for running in running {
        running.join().unwrap();
    }
    place.run(&["sessions", "sweep"]);
    let left = || place.processes().into_iter().filter(|line| line.contains(" keep"));
    for key in ["shop", "team"] {
        place.run(&["sessions", "close", key]);
    }
    wait_until("no process", PATIENCE, || left().count() == 0);
}

/// The dashboard, open in a browser.
struct Dashboard {
    page: Page,
}

impl Dashboard {
    async fn open(serving: &Serving) -> Self {
        let page = Page::launch(None).await;
        page.listen().await;
        // Not all violations of the content security policy are written to the console.
        let source = "addEventListener('securitypolicyviolation', (event) => console.error(event.violatedDirective, event.blockedURI))";
        page.send("Page.addScriptToEvaluateOnNewDocument", json!({ "source": source })).await;
        page.visit(&format!("http://{}/", serving.address)).await;
        Self { page }
    }

    /// Waits until an expression is truthy.
    async fn sees(&self, expression: &str) {
        until(expression, async || self.page.evaluate(&format!("!!({expression})")).await == true).await;
    }

    /// Navigates to a view, and waits until it is rendered.
    async fn go(&self, place: &str) {
        self.page.evaluate(&format!("location.hash = {}", json!(place))).await;
        self.sees(&format!("document.getElementById('main').dataset.shown === {}", json!(place))).await;
    }

    async fn text(&self) -> String {
        self.page.evaluate("document.body.innerText").await.as_str().unwrap().to_owned()
    }

    async fn click(&self, id: &str) {
        self.sees(&format!("document.getElementById({})", json!(id))).await;
        self.page.evaluate(&format!("document.getElementById({}).click()", json!(id))).await;
    }

    /// Types into a field with the keyboard, and submits its form.
    async fn type_in(&self, id: &str, text: &str) {
        self.page.evaluate(&format!("document.getElementById({}).focus()", json!(id))).await;
        self.page.send("Input.insertText", json!({ "text": text })).await;
        self.press("Enter", 13).await;
    }

    async fn press(&self, key: &str, code: u32) {
        let text = if key == "Enter" { "\r" } else { "" };
        for kind in ["keyDown", "keyUp"] {
            let params = json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text});
            self.page.send("Input.dispatchKeyEvent", params).await;
        }
    }

    /// The ids of all focusable elements; asserts that each has an accessible name.
    async fn controls(&self) -> BTreeSet<String> {
        let found = self
            .page
            .evaluate(
                "[...document.querySelectorAll('a[href], button, input, [tabindex=\"0\"]')]
                    .filter((it) => it.checkVisibility() && !it.disabled)
                    .map((it) => [it.id, it.ariaLabel || it.textContent || it.labels?.[0]?.textContent])",
            )
            .await;
        let named = found.as_array().unwrap().iter().map(|control| {
            assert!(control[1].as_str().is_some_and(|name| !name.trim().is_empty()), "no name: {control}");
            let id = control[0].as_str().filter(|id| !id.is_empty());
            id.unwrap_or_else(|| panic!("the focus would be lost when it is refreshed: {control}")).to_owned()
        });
        named.collect()
    }

    /// Asserts that the Tab key reaches every control in one round.
    async fn tab_through(&self) {
        let controls = self.controls().await;
        assert!(controls.len() >= 5, "{controls:?}");
        self.page.evaluate("document.activeElement.blur()").await;
        let mut reached = BTreeSet::new();
        let began = Instant::now();
        // A refresh keeps the focus, so that the round terminates.
        while !reached.is_superset(&controls) {
            assert!(began.elapsed() < PATIENCE, "not reached: {:?}", controls.difference(&reached));
            self.press("Tab", 9).await;
            let at = "[document.activeElement.id, getComputedStyle(document.activeElement).outlineStyle !== 'none']";
            let at = self.page.evaluate(at).await;
            let name = at[0].as_str().unwrap().to_owned();
            assert!(name.is_empty() || at[1] == true, "{name} has the focus, and nobody sees it");
            reached.insert(name);
        }
    }

    /// Asserts that nothing overflows a window of this width.
    async fn fits(&self, width: u32) {
        let metrics = json!({"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": false});
        self.page.send("Emulation.setDeviceMetricsOverride", metrics).await;
        self.sees(&format!("innerWidth === {width}")).await;
        let wide = "document.documentElement.scrollWidth";
        assert_eq!(self.page.evaluate(&format!("{wide} <= {width}")).await, true, "{}", self.page.evaluate(wide).await);
    }

    /// Writes a screenshot for the document, if that is requested.
    async fn keep_picture(&self, name: &str, (width, height): (u32, u32)) {
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.page.send("Emulation.setDeviceMetricsOverride", metrics).await;
        self.page.evaluate("scrollTo(0, 0)").await;
        let shot = self.page.send("Page.captureScreenshot", json!({"format": "png"})).await;
        let bytes = STANDARD.decode(shot["data"].as_str().unwrap()).unwrap();
        assert!(bytes.len() <= 150_000, "{name} has {} bytes", bytes.len());
        let folder = root().join("spec/dashboard");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("{name}.png")), bytes).unwrap();
    }
}

fn data(serving: &Serving, path: &str) -> Json {
    let mut answer = serving.ask("GET", &format!("/admin/v1{path}"), &[], "").json();
    assert_eq!(answer["ok"], true, "{path}: {answer}");
    answer["data"].take()
}

#[test]
fn an_operator_sees_who_has_which_browser_what_runs_and_how_the_page_looks() {
    need_browser();
    let place = Place::new();
    let serving = Serving::start(&place, &["--grace", "1s"]);
    let ran = serving.execute(&[], &json!({"code": "console.log('once'); throw new Error('no')"}));
    let failed = ran["context"]["execution_id"].as_str().unwrap_or_else(|| panic!("{ran}")).to_owned();
    let running = begin(&serving, &[], &turning(), json!({"mode": "reuse", "key": "shop"}));
    let holder = data(&serving, "/executions?running=true")["executions"][0]["id"].as_str().unwrap().to_owned();
    block_on(async {
        let dashboard = Dashboard::open(&serving).await;
        // Sessions, with their holders.
        dashboard.sees(&format!("document.getElementById('held-{holder}')")).await;
        let text = dashboard.text().await;
        assert!(text.contains("shop") && text.contains("reuse") && text.contains("MiB"), "{text}");
        dashboard.tab_through().await;

        dashboard.click("to-executions").await;
        dashboard.sees(&format!("document.getElementById('listed-{failed}')")).await;
        let text = dashboard.text().await;
        assert!(text.contains("SCRIPT_ERROR") && text.contains("running"), "{text}");
        dashboard.tab_through().await;
        dashboard.type_in("filter-key", "no such key").await;
        dashboard.sees("document.body.innerText.includes('The last that began first: none')").await;

        // An execution that has ended: code, console, calls, time, audit.
        dashboard.go(&format!("#/execution/{failed}")).await;
        let text = dashboard.text().await;
        for word in ["throw new Error('no')", "once", "SCRIPT_ERROR", "execution.started", "one-shot"] {
            assert!(text.contains(word), "{word}: {text}");
        }
        assert!(!text.contains("Watch the page"), "{text}");

        // A running execution: its console lines and page title are shown as text.
        dashboard.go("#/executions").await;
        dashboard.click(&format!("listed-{holder}")).await;
        dashboard.sees("document.body.innerText.includes('browser.evaluate')").await;
        let text = dashboard.text().await;
        assert!(text.contains(MARKUP) && text.contains("const page = await browser.open"), "{text}");
        dashboard.click("watch").await;
        dashboard.sees("document.getElementById('picture').naturalWidth > 100").await;
        dashboard.sees("document.getElementById('about-page').textContent.includes('<b id=owned>')").await;
        let colour = "(() => {
            const canvas = document.createElement('canvas');
            [canvas.width, canvas.height] = [1, 1];
            const picture = canvas.getContext('2d');
            picture.drawImage(document.getElementById('picture'), -50, -50);
            const [red, green, blue] = picture.getImageData(0, 0, 1, 1).data;
            return green > 60 ? 'other' : red > 200 ? 'red' : blue > 200 ? 'blue' : 'other';
        })()";
        for wanted in ["red", "blue", "red"] {
            dashboard.sees(&format!("{colour} === '{wanted}'")).await;
        }
        let number = dashboard.page.evaluate("Number(document.getElementById('picture').dataset.number)").await;
        assert!(number.as_f64().is_some_and(|number| number >= 3.0), "{number}");
        dashboard.tab_through().await;
        assert_eq!(dashboard.page.evaluate("document.images.length").await, 1);
        assert_eq!(dashboard.page.evaluate("!document.getElementById('owned') && document.title").await, "codemode");

        // Neither the page nor its script can detect the viewing.
        let trace = data(&serving, &format!("/executions/{holder}/trace"));
        let logs = trace["trace"]["logs"].as_array().unwrap();
        let told: BTreeSet<_> = logs.iter().skip(2).map(|line| line["text"].as_str().unwrap()).collect();
        assert!(told.len() == 1 && logs.len() > 4, "{told:?}");
        let call = &trace["trace"]["calls"][0];
        assert!(call["took_us"].as_u64().is_some_and(|took| took > 0) && call["outcome"] == "ok", "{call}");

        // The audit, and the verification of its chain.
        dashboard.click("to-audit").await;
        // The running script keeps adding rows; the page shows only the last ones.
        dashboard.sees("document.querySelector('tbody')?.innerText.includes('browser.evaluate')").await;
        dashboard.click("verify").await;
        dashboard.sees("document.getElementById('verdict').textContent.includes('are as they were written')").await;
        for view in ["#/sessions", "#/executions", "#/audit", &format!("#/execution/{holder}")] {
            dashboard.go(view).await;
            dashboard.fits(400).await;
        }
        assert_eq!(dashboard.page.faults(), Vec::<String>::new());

        // The end of the execution is shown, and its page no longer is.
        dashboard.go(&format!("#/execution/{holder}")).await;
        dashboard.click("watch").await;
        dashboard.sees("document.getElementById('picture').naturalWidth > 100").await;
        let revoked = serving.ask("POST", "/admin/v1/sessions/shop/revoke", &[], "");
        assert_eq!(revoked.status, 200, "{revoked:?}");
        dashboard.sees("!document.getElementById('picture')").await;
        dashboard.sees("document.body.innerText.includes('SESSION_LOST')").await;
        assert_eq!(dashboard.page.faults(), Vec::<String>::new());
    });
    end(serving, vec![running], &place);
}

/// The screenshots in the document show a typical script.
#[test]
fn the_dashboard_shows_a_login_that_runs() {
    const SCRIPT: &str = "\
const page = await browser.open(\"SITE/login\");
console.log(\"at\", await page.title());
await page.fill({ \"#user\": \"ada\", \"#password\": \"lovelace\" });
console.warn(\"the form is filled, running on\");
await page.waitForURL(\"**/account\", { timeout: 600_000 });";
    need_browser();
    let place = Place::new();
    let serving = Serving::start(&place, &["--grace", "1s"]);
    block_on(async {
        let site = site::serve().await.unwrap();
        let script = SCRIPT.replace("SITE", site.url());
        let running = begin(&serving, &[], &script, json!({"mode": "reuse", "key": "shop"}));
        let execution = data(&serving, "/executions?running=true")["executions"][0]["id"].as_str().unwrap().to_owned();
        let dashboard = Dashboard::open(&serving).await;
        dashboard.page.evaluate("document.getElementById('refresh').focus()").await;
        dashboard.go(&format!("#/execution/{execution}")).await;
        dashboard.click("watch").await;
        dashboard.sees("document.getElementById('picture').naturalWidth > 100").await;
        dashboard.sees("document.getElementById('about-page').textContent.includes('/login')").await;
        let text = dashboard.text().await;
        for word in ["await page.fill(", "browser.fillForm", "running on", "browser.waitForURL"] {
            assert!(text.contains(word), "{word}: {text}");
        }
        assert!(
            dashboard.page.evaluate("document.activeElement.id").await == "refresh",
            "the focus stays where it was"
        );
        if env::var_os("CODEMODE_PICTURES").is_some_and(|wanted| wanted == "1") {
            dashboard.page.evaluate("document.activeElement.blur()").await;
            dashboard.keep_picture("execution", (1000, 1330)).await;
            dashboard.go("#/sessions").await;
            dashboard.keep_picture("narrow", (400, 420)).await;
        }
        assert_eq!(dashboard.page.faults(), Vec::<String>::new());
        end(serving, vec![running], &place);
    });
}

fn with_tokens(place: &Place) -> Serving {
    let file = place.folder().join("tokens.toml");
    fs::write(&file, format!("[ci]\ntoken = \"{OF_CI}\"\n[ops]\ntoken = \"{OF_OPS}\"\nadmin = true\n")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    Serving::start(place, &["--token-file", file.to_str().unwrap()])
}

#[test]
fn only_who_may_administer_sees_more_than_an_empty_page() {
    need_browser();
    let place = Place::new();
    let serving = with_tokens(&place);
    let of_ci = format!("Bearer {OF_CI}");
    let ran = serving.execute(&[("authorization", &of_ci)], &json!({"code": "'secret of ci'"}));
    let execution = ran["context"]["execution_id"].as_str().unwrap_or_else(|| panic!("{ran}"));

    // The bundle is public and contains no data; the data that it requests is for administrators only.
    for path in ["/", "/dashboard/app.js", "/dashboard/style.css"] {
        let sent = serving.ask("GET", path, &[], "");
        assert_eq!(sent.status, 200, "{path}");
        let policy = sent.header("content-security-policy").unwrap();
        for part in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "form-action 'none'"] {
            assert!(policy.contains(part), "{policy}");
        }
        assert_eq!(sent.header("x-content-type-options"), Some("nosniff"));
        assert!(!sent.body.contains(execution) && !sent.body.contains(OF_OPS), "{path}");
        for foreign in [
            ("host", "evil.example"),
            ("origin", "http://evil.example"),
            ("sec-fetch-site", "cross-site"),
            ("via", "1.1 codemode-browser"),
        ] {
            assert_eq!(serving.ask("GET", path, &[foreign], "").status, 403, "{path} {foreign:?}");
        }
        assert_eq!(serving.ask("POST", path, &[], "").status, 405, "{path}");
    }
    for (headers, status) in [(&[][..], 401), (&[("authorization", of_ci.as_str())], 403)] {
        for path in ["trace", "view"] {
            let refused = serving.ask("GET", &format!("/admin/v1/executions/{execution}/{path}"), headers, "");
            assert_eq!(refused.status, status, "{refused:?}");
        }
    }

    block_on(async {
        let dashboard = Dashboard::open(&serving).await;
        dashboard.sees("document.activeElement.id === 'token'").await;
        assert_eq!(dashboard.page.faults(), Vec::<String>::new(), "nothing is asked for without a token");
        for (token, words) in [("ops-fedcba9876543210fedcba987654321x", "is not known"), (OF_CI, "may not administer")]
        {
            dashboard.type_in("token", token).await;
            dashboard.sees(&format!("document.getElementById('refusal').textContent.includes('{words}')")).await;
            assert_eq!(dashboard.page.evaluate("document.getElementById('main').childElementCount").await, 0);
            assert_eq!(dashboard.page.evaluate("sessionStorage.length").await, 0);
        }
        // Chromium logs the two refusals; there are no other errors.
        let faults = dashboard.page.faults();
        assert!(
            faults.iter().all(|fault| fault.contains("status of 401") || fault.contains("status of 403")),
            "{faults:?}"
        );
        let before = faults.len();
        dashboard.type_in("token", OF_OPS).await;
        dashboard.go("#/executions").await;
        dashboard.sees(&format!("document.getElementById('listed-{execution}')")).await;
        dashboard.go(&format!("#/execution/{execution}")).await;
        dashboard.sees("document.body.innerText.includes('secret of ci')").await;
        assert_eq!(dashboard.page.faults().len(), before);
        // The token is stored only for this tab and is removed on request.
        let places = "[localStorage.length, document.cookie, location.href.includes('ops-'), document.body.innerText.includes('ops-')]";
        assert_eq!(dashboard.page.evaluate(places).await, json!([0, "", false, false]));
        dashboard.click("forget").await;
        dashboard.sees("document.activeElement.id === 'token'").await;
        assert_eq!(dashboard.page.evaluate("sessionStorage.length").await, 0);
        assert!(!dashboard.text().await.contains("secret of ci"));
        dashboard.fits(400).await;
    });
    end(serving, Vec::new(), &place);
}

#[test]
fn a_page_that_stands_still_holds_up_nobody_and_few_pages_are_looked_at() {
    need_browser();
    let place = Place::new();
    let serving = Serving::start(&place, &["--grace", "1s"]);
    let scripts = [
        // A page blocked by a dialog, one in a loop, a script without a page, and more executions to reach the limit.
        r#"const { targetId } = await cdp.send("Target.createTarget", { url: "data:text/html,<title>a</title>" });
           const sessionId = await cdp.attachToTarget(targetId);
           await cdp.send("Runtime.evaluate", { expression: "setTimeout(() => alert('stay here'), 0)" }, { sessionId });"#,
        r#"const page = await browser.open("data:text/html,<title>b</title><body bgcolor=lime>");
           await page.evaluate(() => { setTimeout(() => { for (;;); }, 0); });"#,
        "",
        r#"const page = await browser.open("data:text/html,<title>d</title><body bgcolor=lime>");
           console.warn("running");
           for (;;) { await page.title(); await new Promise((done) => setTimeout(done, 200)); }"#,
        r#"await browser.open("data:text/html,<title>e</title><body bgcolor=lime>");"#,
    ];
    assert_eq!(scripts.len(), VIEWS_MAX + 1);
    let waits = "console.warn('running'); await new Promise((done) => setTimeout(done, 1e8));";
    let mut running = Vec::new();
    let mut executions = Vec::new();
    for script in scripts {
        running.push(begin(&serving, &[], &format!("{script} {waits}"), Json::Null));
        executions.push(data(&serving, "/executions?running=true")["executions"][0]["id"].as_str().unwrap().to_owned());
    }
    let view = |execution: &str, after: u64| data(&serving, &format!("/executions/{execution}/view?after={after}"));
    wait_until("the dialog", PATIENCE, || view(&executions[0], 0)["dialog"] == "alert: stay here");
    let began = Instant::now();
    assert_eq!((&view(&executions[1], 0)["running"], &view(&executions[1], 0)["title"]), (&json!(true), &json!("b")));
    let none = view(&executions[2], 0);
    assert_eq!(
        (&none["running"], &none["url"], &none["jpeg"], &none["picture"]),
        (&json!(true), &Json::Null, &Json::Null, &json!(0))
    );
    assert!(began.elapsed() < Duration::from_secs(45), "{:?}", began.elapsed());
    wait_until("a picture", PATIENCE, || view(&executions[3], 0)["jpeg"].is_string());
    // All views at the same time, each waiting as long as it may: one exceeds the limit.
    let host = *serving;
    let ask = |execution: &str, after: u64| {
        host.ask("GET", &format!("/admin/v1/executions/{execution}/view?after={after}"), &[], "")
    };
    let asked: Vec<Reply> = thread::scope(|scope| {
        let asking: Vec<_> =
            executions.iter().map(|execution| scope.spawn(move || ask(execution, 1_000_000))).collect();
        asking.into_iter().map(|asked| asked.join().unwrap()).collect()
    });
    let refused: Vec<_> = (0..asked.len()).filter(|place| asked[*place].status != 200).collect();
    let [refused] = *refused else { panic!("{asked:?}") };
    let error = asked[refused].json();
    assert_eq!((asked[refused].status, &error["error"]["code"]), (503, &json!("CAPACITY_EXCEEDED")), "{error}");
    // A slot is free again when no view was requested for a while.
    wait_until("a place", PATIENCE, || ask(&executions[refused], 0).status == 200);
    // A waiting view is answered when its execution ends.
    let last = view(&executions[3], 0)["picture"].as_u64().unwrap();
    let path = format!("/admin/v1/executions/{}/view?after={}", executions[3], last + 1_000);
    let waiting = thread::spawn(move || host.ask("GET", &path, &[], "").json());
    let began = Instant::now();
    let session = data(&serving, "/sessions")["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .find(|session| session["lease"]["holder"]["execution"] == executions[3].as_str())
        .map(|session| session["id"].as_str().unwrap().to_owned())
        .unwrap();
    serving.ask("POST", &format!("/admin/v1/sessions/{session}/revoke"), &[], "");
    let told = waiting.join().unwrap();
    assert_eq!(
        (&told["data"]["running"], &told["data"]["execution"]),
        (&json!(false), &json!(executions[3])),
        "{told}"
    );
    assert!(began.elapsed() < Duration::from_millis(VIEW_WAIT_MS_MAX), "{:?}", began.elapsed());
    assert_eq!(view("x-0000", 7), json!({"execution": "x-0000", "running": false, "picture": 7}));
    end(serving, running, &place);
}

#[test]
fn no_trace_has_the_value_of_a_secret_and_a_host_that_keeps_none_says_so() {
    need_browser();
    const VALUE: &str = "correct horse battery staple";
    let place = Place::new();
    let mut setting = place.command(&["secrets", "set", "SHOP", "--origin", "https://shop.test"]);
    let mut setting = setting.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    setting.stdin.take().unwrap().write_all(VALUE.as_bytes()).unwrap();
    assert!(setting.wait().unwrap().success());
    let serving = Serving::start(&place, &["--grace", "1s"]);
    let code = format!(
        "const page = await browser.open('data:text/html,<title>{VALUE}</title>'); console.log('{VALUE}'); console.warn('running'); \
         await new Promise((done) => setTimeout(done, 1e8));"
    );
    let running = begin(&serving, &[], &code, Json::Null);
    let execution = data(&serving, "/executions?running=true")["executions"][0]["id"].as_str().unwrap().to_owned();
    let trace = data(&serving, &format!("/executions/{execution}/trace"));
    assert!(trace["trace"]["code"].as_str().unwrap().contains("<title>****"), "{trace}");
    assert!(trace["trace"]["logs"][0]["text"].as_str().unwrap().starts_with("****"), "{trace}");
    let view = data(&serving, &format!("/executions/{execution}/view"));
    assert!(view["title"].as_str().unwrap().starts_with("****"), "{view}");
    assert!(!trace.to_string().contains(VALUE) && !view["url"].to_string().contains("horse"), "{trace} {view}");
    end(serving, vec![running], &place);

    // None of it is stored on disk.
    let state = place.folder().join("state");
    let holds = |path: &std::path::Path| {
        fs::read(path).is_ok_and(|bytes| bytes.windows(12).any(|part| part == b"setTimeout(d"))
    };
    assert!(!walk(&state).iter().any(|path| holds(path)));

    let serving = Serving::start(&place, &["--no-insight"]);
    let ran = serving.execute(&[], &json!({"code": "1"}));
    let execution = ran["context"]["execution_id"].as_str().unwrap();
    assert_eq!(data(&serving, &format!("/executions/{execution}/trace")), json!({"kept": false}));
    let refused = serving.ask("GET", &format!("/admin/v1/executions/{execution}/view"), &[], "");
    assert_eq!(refused.json()["error"]["code"], "UNSUPPORTED_OPERATION", "{refused:?}");
    block_on(async {
        let dashboard = Dashboard::open(&serving).await;
        dashboard.go(&format!("#/execution/{execution}")).await;
        assert!(dashboard.text().await.contains("no_insight"));
        assert_eq!(dashboard.page.faults(), Vec::<String>::new());
    });
    end(serving, Vec::new(), &place);
}

/// All files below a folder.
fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

#[test]
fn the_tool_opens_the_dashboard_in_a_browser_that_is_not_of_codemode() {
    let place = Place::new();
    let serving = Serving::start(&place, &[]);
    let ran = serving.execute(&[], &json!({"code": "console.log('seen'); 6 * 7"}));
    let (url, id) = (format!("http://{}/", serving.address), &ran["context"]["execution_id"]);
    let browser = Stranger::start(&url, "codemode");
    let other = Place::new();
    let script = other.folder().join("look.js");
    let code = format!(
        "const page = await browser.open({url:?});
         await page.click('#to-executions');
         await page.click('#listed-' + {id});
         [await page.title(), await page.textContent('#code'), (await page.innerText('#console')).endsWith('log seen')]"
    );
    fs::write(&script, code).unwrap();
    let endpoint = format!("http://127.0.0.1:{}", browser.port());
    let told = envelope_of(other.command(&["run", script.to_str().unwrap(), "--cdp-url", &endpoint, "--json"]));
    assert_eq!(told["data"]["result"], json!(["codemode", "console.log('seen'); 6 * 7", true]), "{told}");
}
