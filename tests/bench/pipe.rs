//! The road to a leased browser: sandbox, provider, socket, keeper and relay, against a bare client at the debugging pipe
//! of a browser of its own; and how soon the program has its first page.

use crate::{
    measure::{Bench, Named, Table, median, medians_in_turn},
    session::Leased,
};
use codemode_host::{exec::Unobserved, site};
use serde_json::{Value as Json, json};
use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::Arc,
};
use tokio::runtime::Runtime;

pub const BENCHES: &[Named] = &[("cdp.send over the pipe", send), ("first page", first_page)];

const CALLS: u32 = 500;

/// The least that a client of a debugging pipe can be: one call at a time.
struct Bare {
    browser: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    next: u64,
    session: Option<String>,
}

impl Bare {
    /// A browser of its own, attached to its first page.
    fn launch(profile: &Path) -> Self {
        let executable = codemode_chromium::find(None).expect("Chromium is installed by now").path;
        // Chromium reads from descriptor 3 and writes to 4.
        let mut browser = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 >/dev/null"])
            .arg(executable)
            .args(["--remote-debugging-pipe", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .arg(format!("--user-data-dir={}", profile.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("Chromium starts");
        let (to, from) = (browser.stdin.take().expect("piped"), browser.stdout.take().expect("piped"));
        let mut bare = Self { browser, to, from: BufReader::new(from), next: 0, session: None };
        let target = bare.call("Target.createTarget", json!({"url": "about:blank"}));
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let attached = bare.call("Target.attachToTarget", attach);
        bare.session = attached["sessionId"].as_str().map(str::to_owned);
        bare
    }

    fn call(&mut self, method: &str, params: Json) -> Json {
        self.next += 1;
        let mut message = json!({"id": self.next, "method": method, "params": params});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.to.write_all(format!("{message}\0").as_bytes()).expect("the browser reads");
        loop {
            let mut message = Vec::new();
            self.from.read_until(0, &mut message).expect("the browser writes");
            message.pop();
            let mut message: Json = serde_json::from_slice(&message).expect("the protocol is JSON");
            if message["id"] == self.next {
                return message["result"].take();
            }
        }
    }

    fn close(mut self) {
        self.session = None;
        self.call("Browser.close", json!({}));
        self.browser.wait().expect("it is a child");
    }
}

fn send(bench: &Bench, runtime: &Runtime, table: &mut Table) {
    let _runtime = runtime.enter();
    let leased = Leased::open(bench, "pipe");
    let script = |calls: u32| {
        format!(
            "async () => {{ const sessionId = await cdp.attachToTarget(); \
             for (let i = 0; i < {calls}; i++) await cdp.send('Runtime.evaluate', {{expression: '1+1'}}, {{sessionId}}) }}"
        )
    };
    let run = |code: &str| {
        let execution = runtime.block_on(leased.executor.execute(leased.request(code), Arc::new(Unobserved)));
        assert!(execution.outcome.is_ok(), "{:?}", execution.outcome);
    };
    let (many, one) = (script(CALLS + 1), script(1));
    run(&one);
    let mut bare = Bare::launch(&bench.state.path().join("bare"));
    let [with, without, bound] = medians_in_turn(
        9,
        [&mut || run(&many), &mut || run(&one), &mut || {
            for _ in 0..CALLS {
                bare.call("Runtime.evaluate", json!({"expression": "1+1"}));
            }
        }],
    );
    let ours = with.saturating_sub(without) / CALLS;
    table.time("cdp.send in a leased browser", ours, Some(("a bare client at a pipe", bound / CALLS)), "≤ 1.1 ×");
    bare.close();
    leased.close(runtime);
}

fn first_page(bench: &Bench, runtime: &Runtime, table: &mut Table) {
    let site = runtime.block_on(site::serve()).expect("the loopback has a free port");
    let script = bench.state.path().join("first.js");
    let code = format!(
        "const sessionId = await cdp.attachToTarget();
         await cdp.send('Page.navigate', {{url: '{}/login'}}, {{sessionId}});
         await cdp.waitForEvent('Page.loadEventFired', {{sessionId}});
         return (await cdp.send('Runtime.evaluate', {{expression: 'document.title'}}, {{sessionId}})).result.value",
        site.url()
    );
    std::fs::write(&script, code).expect("a file");
    let state = bench.state.path().join("first");
    let run = || {
        let output = Command::new(env!("CARGO_BIN_EXE_codemode"))
            .args(["run".as_ref(), script.as_os_str()])
            .env("CODEMODE_STATE_DIR", &state)
            .output()
            .expect("the program runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    // Makes the image and reads the protocol.
    run();
    table.time("first page of a cold process, to its end", median(15, run), None, "≤ 0.5 s");
}
