//! The path to a leased browser (sandbox, provider, socket, keeper and relay), compared with a minimal client on the
//! debugging pipe of a dedicated browser, directly and through a minimal relay of two threads; and the time until the
//! program has its first page.

use crate::{
    measure::{Bench, Named, Table, medians_in_turn, middle},
    session::Leased,
};
use codemode_host::exec::NoObserver;
use serde_json::{Value as Json, json};
use std::{
    io::{self, BufRead as _, BufReader, Read, Write},
    net::TcpListener,
    os::unix::net::UnixStream,
    path::Path,
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        mpsc::{self, Sender},
    },
    thread,
    time::Instant,
};
use tokio::runtime::Runtime;

pub const BENCHES: &[Named] = &[("cdp.send over the pipe", send), ("first page", first_page)];

const CALLS: u32 = 500;

/// A minimal client of a debugging pipe: one call at a time.
struct Bare {
    browser: Child,
    to: Box<dyn Write>,
    from: BufReader<Box<dyn Read>>,
    next: u64,
    session: Option<String>,
}

impl Bare {
    /// Launches a browser and attaches to its first page, directly on the pipe, or through a relay over a socket.
    fn launch(profile: &Path, is_carried: bool) -> Self {
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
        let (to, from): (Box<dyn Write>, Box<dyn Read>) = if is_carried {
            let (ours, theirs) = UnixStream::pair().expect("a socket");
            carry(theirs.try_clone().expect("a socket"), to);
            carry(from, theirs);
            (Box::new(ours.try_clone().expect("a socket")), Box::new(ours))
        } else {
            (Box::new(to), Box::new(from))
        };
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

/// A minimal relay: copies bytes.
fn carry(mut from: impl Read + Send + 'static, mut to: impl Write + Send + 'static) {
    thread::spawn(move || {
        let mut bytes = vec![0; 64 * 1024];
        loop {
            match from.read(&mut bytes) {
                Ok(0) | Err(_) => return,
                Ok(read) if to.write_all(&bytes[..read]).is_err() => return,
                Ok(_) => {}
            }
        }
    });
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
        let execution = runtime.block_on(leased.executor.execute(leased.request(code), Arc::new(NoObserver)));
        assert!(execution.outcome.is_ok(), "{:?}", execution.outcome);
    };
    let (many, one) = (script(CALLS + 1), script(1));
    run(&one);
    let mut bare = Bare::launch(&bench.state.path().join("bare"), false);
    let mut carried = Bare::launch(&bench.state.path().join("carried"), true);
    let calls = |client: &mut Bare| {
        for _ in 0..CALLS {
            client.call("Runtime.evaluate", json!({"expression": "1+1"}));
        }
    };
    let [with, without, bound, relayed] = medians_in_turn(
        9,
        [&mut || run(&many), &mut || run(&one), &mut || calls(&mut bare), &mut || calls(&mut carried)],
    );
    let ours = with.saturating_sub(without) / CALLS;
    table.time("cdp.send in a leased browser", ours, Some(("a bare client at a pipe", bound / CALLS)), "≤ 1.1 ×");
    table.time("… against the least relay", ours, Some(("a bare client behind a bare relay", relayed / CALLS)), "–");
    bare.close();
    carried.close();
    leased.close(runtime);
}

/// A page that reports when it is shown; the time is sent to the channel.
fn showing() -> (String, mpsc::Receiver<Instant>) {
    const PAGE: &str = "<title>first</title><script>onload = () => fetch('/shown')</script>";
    let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback has a free port");
    let url = format!("http://{}/", listener.local_addr().expect("it listens"));
    let (shown, times) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let shown = shown.clone();
            thread::spawn(move || answer(stream?, PAGE, &shown));
        }
    });
    (url, times)
}

fn answer(mut stream: impl Read + Write, page: &str, shown: &Sender<Instant>) -> io::Result<()> {
    let mut request = [0; 4096];
    let read = stream.read(&mut request)?;
    if request[..read].starts_with(b"GET /shown") {
        let _ = shown.send(Instant::now());
    }
    write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{page}", page.len())
}

fn first_page(bench: &Bench, _: &Runtime, table: &mut Table) {
    let (url, shown) = showing();
    let script = bench.state.path().join("first.js");
    let code = format!(
        "const sessionId = await cdp.attachToTarget();
         await cdp.send('Page.navigate', {{url: '{url}'}}, {{sessionId}});
         await cdp.waitForEvent('Page.loadEventFired', {{sessionId}});
         return (await cdp.send('Runtime.evaluate', {{expression: 'document.title'}}, {{sessionId}})).result.value"
    );
    std::fs::write(&script, code).expect("a file");
    let state = bench.state.path().join("first");
    let run = || {
        let began = Instant::now();
        let output = Command::new(env!("CARGO_BIN_EXE_codemode"))
            .args(["run".as_ref(), script.as_os_str()])
            .env("CODEMODE_STATE_DIR", &state)
            .output()
            .expect("the program runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        (shown.recv().expect("it was shown") - began, began.elapsed())
    };
    // A warm-up: compiles the image and reads the protocol.
    run();
    let (first, whole): (Vec<_>, Vec<_>) = (0..15).map(|_| run()).unzip();
    table.time("first page of a cold process, shown", middle(first), None, "≤ 0.5 s");
    table.time("… to the end of the program", middle(whole), None, "–");
}
