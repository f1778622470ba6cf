//! Executions with a real Chromium: their outcomes, and that they leave nothing behind, however they end. The case
//! files of the group `browser` test the use of the protocol.

use crate::support::{
    browsing::{Browsing, GONE, block_on, held},
    lab,
    program::{PATIENCE, Place, need_browser},
    server::Server,
};
use codemode_host::{
    exec::{Execution, Observer, Request},
    result::ForModel,
};
use codemode_spec::{
    ErrorCode,
    limits::{CPU_MS_MAX, WALL_MS_MAX},
    message::ConsoleLine,
};
use futures::future::join_all;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::{sync::Arc, time::Duration};
use tokio::sync::Notify;

/// A prelude that attaches to a page and defines helper functions. Nothing in it ends by itself before [`GONE`] has
/// passed.
const PAGE: &str = "
const timeoutMs = 500_000;
const sessionId = await cdp.attachToTarget({ timeoutMs });
const send = (method, params) => cdp.send(method, params, { sessionId, timeoutMs });
const evaluate = async (expression) => (await send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true })).result.value;
const visit = async (url) => { await send('Page.navigate', { url }); await cdp.waitForEvent('Page.loadEventFired', { sessionId, timeoutMs }) };
";
const FOREVER: &str = "await evaluate('new Promise(() => {})')";
const SPINNING: &str = "for (;;);";

fn code(execution: &Execution) -> Option<ErrorCode> {
    execution.outcome.as_ref().err().map(|error| error.code)
}

impl Browsing {
    /// A request with the maximum timeout.
    fn request(&self, code: &str) -> Request {
        Request {
            timeout: Duration::from_millis(WALL_MS_MAX),
            cpu: Duration::from_millis(CPU_MS_MAX),
            ..Request::new(self.script(&format!("{PAGE}{code}")))
        }
    }

    async fn run(&self, code: &str) -> Execution {
        self.lab.execute(self.request(code)).await
    }

    /// Runs a script, and calls `happens` once the script has written its first console line.
    async fn run_until(&self, code: &str, happens: impl FnOnce()) -> Execution {
        let said = Arc::new(FirstLine::default());
        let execution = self.lab.executor().execute(self.request(code), said.clone());
        let happening = async {
            said.0.notified().await;
            happens();
        };
        tokio::join!(execution, happening).0
    }
}

/// Notifies of the first console line.
#[derive(Default)]
struct FirstLine(Notify);

impl Observer for FirstLine {
    fn console(&self, _: &ConsoleLine) {
        self.0.notify_one();
    }
}

#[test]
fn a_screenshot_is_an_image() {
    block_on(async {
        let browsing = Browsing::with(Arc::new(ForModel)).await;
        let code = "await visit('{{site}}/login'); ({ shot: (await send('Page.captureScreenshot', {})).data, n: 1 })";
        let shaped = browsing.run(code).await.outcome.unwrap();
        let [image] = shaped.images.as_slice() else { panic!("one image: {}", shaped.images.len()) };
        assert_eq!((image.path.as_str(), image.mime_type.as_str()), ("/shot", "image/png"));
        assert!(image.data.starts_with("iVBORw0KGgo") && image.data.len() > 2_000, "{} characters", image.data.len());
        assert_eq!(shaped.result["n"], 1);
        let words = shaped.result["shot"].as_str().unwrap();
        assert!(words.starts_with("[image 1: image/png, "), "{words}");
        browsing.assert_gone(Duration::ZERO).await;
    });
}

#[test]
fn forty_screenshots_in_a_row() {
    block_on(async {
        let browsing = Browsing::new().await;
        let code = "
            await visit('{{site}}/login');
            const { targetId } = await cdp.send('Target.createTarget', { url: '{{site}}/dialog' });
            const behind = await cdp.attachToTarget(targetId);
            let good = 0;
            for (let i = 0; i < 40; i++) {
                // Every fourth one on a page in the background.
                const session = i % 4 === 3 ? sessionId : behind;
                const { data } = await cdp.send('Page.captureScreenshot', { format: i % 2 ? 'png' : 'jpeg' }, { sessionId: session, timeoutMs });
                good += data.length > 1000;
            }
            good";
        let execution = browsing.run(code).await;
        assert_eq!(execution.outcome.unwrap().result, 40);
        browsing.assert_gone(Duration::ZERO).await;
    });
}

#[test]
fn two_executions_have_two_browsers() {
    block_on(async {
        let browsing = Browsing::new().await;
        let code = |name: &str| {
            format!(
                "await visit('{{{{site}}}}/login'); await evaluate('document.cookie = \"{name}=1\"');\n\
                 await visit('{{{{site}}}}/slow?ms=200'); [await evaluate('document.cookie'), await evaluate('took.textContent')]"
            )
        };
        let (one, two) = (code("one"), code("two"));
        let (one, two) = tokio::join!(browsing.run(&one), browsing.run(&two));
        assert_eq!(one.outcome.unwrap().result, json!(["one=1", "200"]));
        assert_eq!(two.outcome.unwrap().result, json!(["two=1", "200"]));
        browsing.assert_gone(Duration::ZERO).await;
    });
}

#[test]
fn the_answer_says_what_it_was_about() {
    block_on(async {
        let browsing = Browsing::new().await;
        let execution = browsing.run("await visit('{{site}}/login'); 1").await;
        assert_eq!(code(&execution), None, "{:?}", execution.outcome);
        let context = execution.context;
        assert!(context.session_id.is_some() && context.target_id.is_some(), "{context:?}");
        assert_eq!(context.url, Some(browsing.script("{{site}}/login")));
        assert_eq!(context.title.as_deref(), Some("Log in"));
        let context = browsing.lab.execute(Request::new("1")).await.context;
        assert_eq!((context.target_id, context.url), (None, None), "no browser, nothing to say of it");
    });
}

#[test]
fn a_browser_that_is_killed_in_mid_call_is_an_error_of_its_own_and_leaves_nothing() {
    block_on(async {
        let browsing = Browsing::new().await;
        let kill = || {
            let pid = Pid::from_raw(browsing.browser_pid()).unwrap();
            kill_process(pid, Signal::KILL).unwrap();
        };
        let execution = browsing.run_until(&format!("console.log('now'); {FOREVER}"), kill).await;
        let report = execution.outcome.unwrap_err();
        assert_eq!(report.code, ErrorCode::BrowserGone);
        assert!(report.retryable && !report.hint.is_empty());
        browsing.assert_gone(Duration::ZERO).await;
        assert_eq!(code(&browsing.run("await visit('{{site}}/login')").await), None, "the next one has a new browser");
    });
}

#[test]
fn nothing_is_left_however_an_execution_ends() {
    block_on(async {
        let browsing = Browsing::new().await;
        let rows = [
            ("1", None),
            ("throw new Error('x')", Some(ErrorCode::ScriptError)),
            ("({ f() {} })", Some(ErrorCode::ResultUnserialisable)),
            ("await new Promise(() => {})", Some(ErrorCode::Deadlock)),
            ("evaluate('new Promise(() => {})'); 1", None),
            (FOREVER, Some(ErrorCode::TimeExceeded)),
            (SPINNING, Some(ErrorCode::CpuExceeded)),
            ("let v = []; for (let i = 0; i < 1e5; i++) v = [v]; v.flat(Infinity)", Some(ErrorCode::StackOverflow)),
            ("let t = 'x'; for (;;) { t += t; t.charCodeAt(t.length - 1) }", Some(ErrorCode::MemoryExceeded)),
            ("await cdp.send('Browser.close')", None),
        ];
        for (script, expected) in rows {
            let mut request = browsing.request(script);
            match script {
                FOREVER => request.timeout = Duration::from_secs(5),
                SPINNING => request.cpu = Duration::from_secs(2),
                _ => {}
            }
            let execution = browsing.lab.execute(request).await;
            assert_eq!(code(&execution), expected, "{script}: {:?}", execution.outcome);
            assert_eq!(browsing.held(), Vec::<String>::new(), "{script}");
        }
    });
}

#[test]
fn a_client_that_goes_away_takes_its_browser_along() {
    block_on(async {
        let browsing = Browsing::new().await;
        // The future is dropped at different points of the browser's life, at first before it has started.
        let begun = Arc::new(FirstLine::default());
        for script in ["", "console.log('now');", "console.log('now'); await fake.echo(1); for (;;);"] {
            let request = browsing.request(&format!("{script}{FOREVER}"));
            let execution = browsing.lab.executor().execute(request, begun.clone());
            let gone = async {
                if script.is_empty() {
                    lab::until("a browser", || !browsing.held().is_empty()).await;
                } else {
                    begun.0.notified().await;
                }
            };
            tokio::select! {
                execution = execution => panic!("it ended: {:?}", execution.outcome),
                () = gone => {}
            }
            browsing.assert_gone(GONE).await;
        }
    });
}

#[test]
fn a_cancelled_execution_closes_its_browser_before_it_answers() {
    block_on(async {
        let browsing = Browsing::new().await;
        let request = browsing.request(FOREVER);
        let cancel = request.cancel.clone();
        let cancelling = async {
            lab::until("a browser", || !browsing.held().is_empty()).await;
            cancel.cancel();
        };
        let (execution, ()) = tokio::join!(browsing.lab.execute(request), cancelling);
        assert_eq!(code(&execution), Some(ErrorCode::Cancelled));
        assert_eq!(browsing.held(), Vec::<String>::new());
    });
}

#[test]
fn many_executions_with_browsers_at_once() {
    block_on(async {
        let browsing = Browsing::new().await;
        let scripts: Vec<_> = (0..3).map(|place| format!("await evaluate('{place} * 2')")).collect();
        for (place, execution) in
            join_all(scripts.iter().map(|script| browsing.run(script))).await.into_iter().enumerate()
        {
            assert_eq!(execution.outcome.map(|shaped| shaped.result), Ok(json!(place * 2)));
        }
        browsing.assert_gone(Duration::ZERO).await;
    });
}

/// In a separate process, where no other test opens or closes files.
#[test]
fn twenty_executions_in_a_row_leave_no_process_no_folder_and_no_open_file() {
    need_browser();
    let place = Place::new();
    let state = place.folder().join("state");
    let mut server = Server::start(&place);
    let code = format!("{PAGE} await visit('data:text/html,<title>x</title>'); await evaluate('document.title')");
    for _ in 0..3 {
        assert_eq!(server.execute(&code)["data"]["result"], "x");
    }
    let before = server.open_files();
    for run in 0..20 {
        assert_eq!(server.execute(&code)["data"]["result"], "x");
        assert_eq!(held(&state), Vec::<String>::new(), "after run {run}");
    }
    // Files of the last execution may be closed shortly after its answer.
    crate::support::program::wait_until("files are closed", PATIENCE, || server.open_files().len() <= before.len());
    let after = server.open_files();
    assert!(after.len() <= before.len(), "before: {before:?}\nafter: {after:?}");
    assert_eq!(server.children(), 0);
}

#[test]
fn a_download_that_a_script_keeps_is_a_file_of_the_answer_also_when_the_script_fails_afterwards() {
    const KEEP: &str = "
const page = await browser.open('{{site}}/login');
await page.setContent('<a href=\"data:text/csv,a%2Cb\" download=\"report.csv\">report</a>');
const [download] = await Promise.all([page.waitForEvent('download'), page.click('a')]);
const kept = await download.saveAs();
";
    block_on(async {
        let browsing = Browsing::new().await;
        for (end, succeeds) in [("return kept.name", true), ("throw new Error('afterwards')", false)] {
            let execution = browsing.lab.execute(Request::new(browsing.script(&format!("{KEEP}{end}")))).await;
            assert_eq!(execution.outcome.is_ok(), succeeds, "{execution:?}");
            let [file] = execution.files.as_slice() else { panic!("one file: {execution:?}") };
            assert_eq!((file.path.as_str(), file.bytes), ("/files", 3));
            assert!(file.file.ends_with("kept-1-report.csv"), "{}", file.file);
            assert_eq!(std::fs::read_to_string(&file.file).unwrap(), "a,b");
        }
    });
}
