//! Actions on a page by verbs, compared with a minimal WebSocket client that takes the same steps on the same browser.

use crate::{
    browser::{Bare, at, launch},
    measure::{Bench, Named, Table, execute, medians_in_turn},
};
use codemode_browser::BrowserProvider;
use codemode_chromium::Browser;
use codemode_host::{
    engine::Engine,
    exec::{Executor, Settings},
    result::Identity,
    site,
};
use codemode_provider::{Provider, Registry};
use codemode_spec::message::Layer;
use serde_json::json;
use std::{path::PathBuf, sync::Arc};
use tokio::runtime::Runtime;

pub const BENCHES: &[Named] =
    &[("click", click), ("fill", fill), ("snapshot", snapshot), ("login by verbs", login), ("layers", sandbox)];

const CLICKS: u32 = 50;
const FIELDS: u32 = 20;

/// The page of a benchmark, created by the minimal client.
const BUTTON: &str =
    "document.body.innerHTML = '<button onclick=\"window.clicks = (window.clicks ?? 0) + 1\">Add</button>'";
const FORM: &str = "document.body.innerHTML = Array.from({length: 20}, (_, i) => `<label>Field ${i} <input id=f${i}></label>`).join('')";
/// 1,000 rows of five elements.
const ROWS: &str = "document.body.innerHTML = '<ul>' + Array.from({length: 1000}, (_, i) => \
                    `<li><span>Row ${i}</span><a href=\"/rows/${i}\">Open</a><button>Remove</button><div>in stock</div></li>`).join('') + '</ul>'";

/// An engine whose image contains the namespace's layer, like the host's.
fn layered(provider: &Arc<dyn Provider>) -> Engine {
    let images = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("images");
    let layers: Vec<Layer> = provider.manifest().to_layer().into_iter().collect();
    Engine::open(&images, &layers, &|line| eprintln!("{line}")).expect("the image can be made")
}

fn on(bench: &Bench, browser: &Browser) -> Executor {
    let provider: Arc<dyn Provider> = Arc::new(BrowserProvider::new());
    let settings = Settings {
        transform: Arc::new(Identity),
        services: vec![at(browser)],
        ..Settings::new(bench.state.path().to_owned())
    };
    let engine = layered(&provider);
    Executor::new(engine, Registry::new(vec![provider]).expect("the name is right"), settings)
}

/// A browser with both clients: the minimal one and the executor of verbs.
fn both(bench: &Bench, runtime: &Runtime) -> (Browser, Bare, Executor) {
    let browser = runtime.block_on(launch(bench));
    let bare = runtime.block_on(Bare::connect(&browser.endpoint().expect("it listens").ws_url));
    let executor = on(bench, &browser);
    (browser, bare, executor)
}

async fn evaluate(bare: &mut Bare, expression: &str) -> serde_json::Value {
    bare.call("Runtime.evaluate", json!({"expression": expression, "returnByValue": true})).await
}

/// Presses and releases the left mouse button on an element.
async fn bare_click(bare: &mut Bare, selector: &str) {
    let found = format!(
        "(() => {{ const element = document.querySelector({selector:?}); element.scrollIntoViewIfNeeded(); \
         const box = element.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; }})()"
    );
    let point = evaluate(bare, &found).await["result"]["value"].clone();
    for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
        let params = json!({"type": kind, "x": point[0], "y": point[1], "button": "left", "clickCount": 1});
        bare.call("Input.dispatchMouseEvent", params).await;
    }
}

/// Focuses a field, selects its content and types over it.
async fn bare_fill(bare: &mut Bare, selector: &str, text: &str) {
    evaluate(bare, &format!("document.querySelector({selector:?}).select()")).await;
    bare.call("Input.insertText", json!({"text": text})).await;
}

fn click(bench: &Bench, runtime: &Runtime, table: &mut Table) {
    let (browser, mut bare, executor) = both(bench, runtime);
    runtime.block_on(evaluate(&mut bare, BUTTON));
    let script = |clicks: u32| {
        format!(
            "async () => {{ const [page] = await browser.pages(); for (let i = 0; i < {clicks}; i++) await page.click('button') }}"
        )
    };
    let (many, one) = (script(CLICKS + 1), script(1));
    let [with, without, bound] = medians_in_turn(
        9,
        [
            &mut || drop(execute(runtime, &executor, &many)),
            &mut || drop(execute(runtime, &executor, &one)),
            &mut || {
                runtime.block_on(async {
                    for _ in 0..CLICKS {
                        bare_click(&mut bare, "button").await;
                    }
                });
            },
        ],
    );
    let ours = with.saturating_sub(without) / CLICKS;
    table.time("page.click", ours, Some(("find, move, press and let go by bare CDP", bound / CLICKS)), "≤ 1.3 ×");
    drop(bare);
    runtime.block_on(browser.close()).expect("the browser is ours to close");
}

fn fill(bench: &Bench, runtime: &Runtime, table: &mut Table) {
    let (browser, mut bare, executor) = both(bench, runtime);
    runtime.block_on(evaluate(&mut bare, FORM));
    let code = format!(
        "async () => {{ const [page] = await browser.pages(); \
         await page.fill(Object.fromEntries(Array.from({{length: {FIELDS}}}, (_, i) => [`#f${{i}}`, `text ${{i}}`]))) }}"
    );
    let nothing = "async () => { await browser.pages() }";
    let [with, without, bound] = medians_in_turn(
        15,
        [
            &mut || drop(execute(runtime, &executor, &code)),
            &mut || drop(execute(runtime, &executor, nothing)),
            &mut || {
                runtime.block_on(async {
                    for field in 0..FIELDS {
                        bare_fill(&mut bare, &format!("#f{field}"), &format!("text {field}")).await;
                    }
                });
            },
        ],
    );
    let ours = with.saturating_sub(without);
    table.time("page.fill of 20 fields", ours, Some(("each field by bare CDP", bound)), "–");
    drop(bare);
    runtime.block_on(browser.close()).expect("the browser is ours to close");
}

fn snapshot(bench: &Bench, runtime: &Runtime, table: &mut Table) {
    let (browser, mut bare, executor) = both(bench, runtime);
    runtime.block_on(evaluate(&mut bare, ROWS));
    let script = |snapshots: u32| {
        format!(
            "async () => {{ const [page] = await browser.pages(); let text; \
             for (let i = 0; i < {snapshots}; i++) text = await page.snapshot({{limit: 400_000}}); return text.length }}"
        )
    };
    let (two, one) = (script(2), script(1));
    let tree = json!({});
    let [with, without, bound] = medians_in_turn(
        9,
        [&mut || drop(execute(runtime, &executor, &two)), &mut || drop(execute(runtime, &executor, &one)), &mut || {
            drop(runtime.block_on(bare.call("Accessibility.getFullAXTree", tree.clone())))
        }],
    );
    let ours = with.saturating_sub(without);
    table.time("page.snapshot of 5,000 elements", ours, Some(("getFullAXTree by bare CDP", bound)), "≤ 150 ms");
    let shaped = execute(runtime, &executor, &one).outcome.expect("it succeeds");
    table.text("… its characters", shaped.result.to_string(), "–");
    drop(bare);
    runtime.block_on(browser.close()).expect("the browser is ours to close");
}

fn login(bench: &Bench, runtime: &Runtime, table: &mut Table) {
    let site = runtime.block_on(site::serve()).expect("the loopback has a free port");
    let (browser, mut bare, executor) = both(bench, runtime);
    let url = format!("{}/login", site.url());
    let code = format!(
        "async () => {{
            const [page] = await browser.pages();
            await page.goto({url:?});
            await page.fill({{'#user': 'ada', '#password': 'lovelace'}});
            await page.click('#submit');
            await page.waitForURL('**/account');
            return page.textContent('h1');
        }}"
    );
    let [ours, bound] = medians_in_turn(
        31,
        [&mut || drop(execute(runtime, &executor, &code)), &mut || {
            runtime.block_on(async {
                bare.call("Page.navigate", json!({"url": url})).await;
                bare.event("Page.loadEventFired").await;
                bare_fill(&mut bare, "#user", "ada").await;
                bare_fill(&mut bare, "#password", "lovelace").await;
                bare_click(&mut bare, "#submit").await;
                bare.event("Page.loadEventFired").await;
                evaluate(&mut bare, "document.querySelector('h1').textContent").await;
            });
        }],
    );
    table.time("login by verbs", ours, Some(("the same by bare CDP", bound)), "≤ 1.3 ×");
    drop(bare);
    runtime.block_on(browser.close()).expect("the browser is ours to close");
}

/// The cost of the layer for an execution that does not use it.
fn sandbox(bench: &Bench, runtime: &Runtime, table: &mut Table) {
    let provider: Arc<dyn Provider> = Arc::new(BrowserProvider::new());
    let settings = Settings { transform: Arc::new(Identity), ..Settings::new(bench.state.path().to_owned()) };
    let bare = Executor::new(bench.engine.clone(), Registry::new(Vec::new()).expect("no names"), settings.clone());
    let layered = Executor::new(layered(&provider), Registry::new(Vec::new()).expect("no names"), settings);
    let code = "async () => 1+1";
    let [with, without] = medians_in_turn(
        501,
        [&mut || drop(execute(runtime, &layered, code)), &mut || drop(execute(runtime, &bare, code))],
    );
    table.time("whole execution in an image with layers", with, Some(("without layers", without)), "–");
}
