//! The audit record of a call, built before the call is executed: never a value of its arguments.

use codemode_page::ExecutionBrowser;
use codemode_provider::Account;
use codemode_spec::Value;
use url::Url;

/// Longer than any host with its port: a longer origin is not real, and a script could hide data in it.
const ORIGIN_BYTES_MAX: usize = 280;

/// The audit record of a call with these arguments.
pub(crate) fn account(browser: &ExecutionBrowser, method: &str, arguments: &[Value]) -> Account {
    let argument = arguments.first();
    let page = text(argument, "page").and_then(|page| {
        let connected = browser.current()?;
        connected.catch_up();
        connected.targets.target(page)
    });
    // Methods whose effect depends on their arguments.
    let reads = match method {
        "history" | "goto" => false,
        "clock" | "cookies" => text(argument, "op") == Some("get"),
        "content" => text(argument, "html").is_none(),
        _ => false,
    };
    Account {
        reads,
        action: None,
        origin: page.and_then(|page| origin(&page.url)),
        to_origin: text(argument, "url").and_then(origin),
        lease: browser.lease_mark(),
    }
}

fn text<'a>(value: Option<&'a Value>, name: &str) -> Option<&'a str> {
    let Some(Value::Object(fields)) = value else { return None };
    fields.iter().find_map(|(key, value)| match (key, value) {
        (codemode_spec::value::Text::Utf8(key), Value::String(codemode_spec::value::Text::Utf8(text)))
            if key == name =>
        {
            Some(text.as_str())
        }
        _ => None,
    })
}

/// The origin of a URL, if it has one, and nothing else of the URL.
fn origin(url: &str) -> Option<String> {
    let origin = Url::parse(url).ok()?.origin();
    origin.is_tuple().then(|| origin.ascii_serialization()).filter(|origin| origin.len() <= ORIGIN_BYTES_MAX)
}
