//! An embedder's host: a namespace `weather`, answers that name their source, served over MCP. To add a browser, leave
//! out `without_browser`. Run it with `cargo run --example embedder`.

use codemode_host::{
    result::{ForModel, Shaped, Transform},
    service::{Service, Settings},
    surface::mcp,
};
use codemode_provider::closure;
use codemode_spec::{ErrorCode, ErrorReport, Value};
use serde_json::json;
use std::{env, path::Path};
use tokio_util::sync::CancellationToken;

struct Signed;

impl Transform for Signed {
    fn transform(&self, result: Value, chars: usize, artifacts: &Path) -> Shaped {
        let shaped = ForModel.transform(result, chars, artifacts);
        Shaped { result: json!({"from": "the weather desk", "report": shaped.result}), ..shaped }
    }
}

#[tokio::main]
async fn main() -> Result<(), ErrorReport> {
    let degrees = |place: String| async move {
        let unknown = || ErrorReport::new(ErrorCode::CallFailed, format!("nobody measures in {place}"));
        [("Oslo", -4), ("Cairo", 31)].into_iter().find(|(name, _)| *name == place).map(|row| row.1).ok_or_else(unknown)
    };
    let weather = closure("weather", "Weather of places.").read("now", "Degrees Celsius.", ["place"], degrees);
    let settings = Settings { state_dir: env::args_os().nth(1).map(Into::into), ..Settings::default() };
    let service = Service::builder(settings).provider(weather).transform(Signed).without_browser().build()?;
    mcp::serve(service, CancellationToken::new()).await
}
