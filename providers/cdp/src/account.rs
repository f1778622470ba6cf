//! The audit record of a call, created before the call is executed. It never contains a value of the arguments.

use crate::{methods::Access, state::Cdp};
use codemode_provider::Account;
use codemode_spec::Value;
use url::Url;

/// Longer than any host with its port: anything longer is not an origin, and a script could hide data in it.
const ORIGIN_BYTES_MAX: usize = 280;

/// The audit record of a call with these arguments. They are read in place, since a command may have megabytes.
pub(crate) fn account(cdp: &Cdp, access: Access, arguments: &[Value]) -> Account {
    let named = Named::of(access, arguments);
    let page = cdp.browser.current().and_then(|connected| {
        connected.catch_up();
        let by_session = named.session.as_deref().and_then(|session| connected.target_named(session));
        connected.targets.target(by_session.as_deref().or(named.target.as_deref())?)
    });
    let action = named.command.filter(|name| is_command(name));
    Account {
        reads: action.as_deref().is_some_and(reads),
        action,
        origin: page.and_then(|page| origin(&page.url)),
        to_origin: named.url.as_deref().and_then(origin),
        lease: cdp.browser.lease_mark(),
    }
}

/// The command, session, target and URL that the arguments of a call name.
#[derive(Default)]
struct Named {
    command: Option<String>,
    session: Option<String>,
    target: Option<String>,
    url: Option<String>,
}

impl Named {
    fn of(access: Access, arguments: &[Value]) -> Self {
        let first = arguments.first();
        match access {
            Access::Command => {
                let is_object = matches!(first, Some(Value::Object(_)));
                let (command, params, options) = if is_object {
                    (field(first, "method"), field(first, "params"), first)
                } else {
                    (first, arguments.get(1), arguments.get(2))
                };
                Self {
                    command: text(command),
                    session: session(field(options, "sessionId")),
                    target: text(field(params, "targetId")),
                    url: text(field(params, "url")),
                }
            }
            Access::Page => {
                // A handle names a session as well as its target.
                let target = text(first).or_else(|| text(field(first, "targetId")));
                Self { session: target.clone(), target, ..Self::default() }
            }
            Access::Own | Access::Session => Self::default(),
        }
    }
}

fn field<'a>(value: Option<&'a Value>, name: &str) -> Option<&'a Value> {
    let Some(Value::Object(fields)) = value else { return None };
    fields.iter().find(|(key, _)| key.to_string_lossy() == name).map(|(_, value)| value)
}

fn text(value: Option<&Value>) -> Option<String> {
    let Some(Value::String(text)) = value else { return None };
    Some(text.to_string_lossy())
}

/// A session, given by its id or by the answer of `attachToTarget`.
fn session(value: Option<&Value>) -> Option<String> {
    text(value).or_else(|| text(field(value, "sessionId")))
}

/// The origin of a URL, if it has one; nothing else of the URL.
fn origin(url: &str) -> Option<String> {
    let origin = Url::parse(url).ok()?.origin();
    origin.is_tuple().then(|| origin.ascii_serialization()).filter(|origin| origin.len() <= ORIGIN_BYTES_MAX)
}

/// Whether a text can be the name of a command. Any other text may be a value of the script, and is not recorded.
fn is_command(name: &str) -> bool {
    let is_word =
        |word: &str| !word.is_empty() && word.len() <= 64 && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    name.split_once('.').is_some_and(|(domain, command)| is_word(domain) && is_word(command))
}

/// Whether a command, judging by its name, changes nothing of a page.
fn reads(command: &str) -> bool {
    const VERBS: [&str; 11] =
        ["get", "query", "describe", "capture", "enable", "disable", "resolve", "request", "search", "take", "print"];
    let word = command.split_once('.').map_or(command, |(_, word)| word);
    VERBS
        .iter()
        .any(|verb| word.strip_prefix(verb).is_some_and(|rest| rest.chars().next().is_none_or(char::is_uppercase)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_names_commands_and_nothing_that_a_script_could_hide_in_one() {
        for name in ["Page.navigate", "DOM.getDocument"] {
            assert!(is_command(name), "{name}");
        }
        for name in ["", "Page", "Page.", ".x", "Page.navigate secret", "Page.a.b", &format!("Page.{}", "x".repeat(65))]
        {
            assert!(!is_command(name), "{name}");
        }
        for name in ["Network.getCookies", "Page.enable", "Page.captureScreenshot"] {
            assert!(reads(name), "{name}");
        }
        for name in ["Page.navigate", "Runtime.evaluate", "Input.insertText", "Page.gettysburg"] {
            assert!(!reads(name), "{name}");
        }
    }
}
