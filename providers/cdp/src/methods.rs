//! The methods of the namespace: one row each, with its documentation, signatures, effect, access and implementation.

use crate::{
    arguments::{self, StartOptions},
    command,
    events::{self, EVENTS_MAX},
    info::session_info,
    lookup,
    schemas::{any, count, fields, fields_or_session, nothing, object, optional, required, session, text, timeout},
    state::{Cdp, NAMESPACE},
    wait,
};
use codemode_provider::{CallContext, Promotion, options};
use codemode_spec::{
    Effect, ErrorReport, Manifest, Method, Param, Signature, Value,
    limits::{DEBUG_LOG_MAX, EVENT_NAMES_MAX},
    message::Encoded,
};
use serde_json::{Value as Json, json};
use std::{pin::Pin, sync::LazyLock};

/// The namespace as a tool's description declares it, which has little room: the rest is said by `spec` and by the types.
const BRIEF: &str = r#"/** Raw Chrome DevTools Protocol on the same tabs. Commands of a page need a sessionId. */
declare const cdp: {
  send(method: string, params?: object, options?: { sessionId?: string, timeoutMs?: number }): Promise<any>;
  /** By default the first page. What it answers serves as sessionId. */
  attachToTarget(targetId?: string): Promise<{ sessionId: string, targetId: string }>;
  /** Next event since the page was attached or last navigated: none that fired before is missed. where: subset of params. */
  waitForEvent(name: string, options?: { sessionId?: string, where?: object, timeoutMs?: number }): Promise<{ params: any, seq: number }>;
  events(options?: { since?: number, sessionId?: string, names?: string[], limit?: number }): Promise<{ events: any[], next: number }>;
  /** What a domain, command or event is; spec({ search }). */
  spec(name?: string): Promise<any>;
  /** Session, browser and targets; starts nothing. */
  sessionInfo(): Promise<any>;
  /** Mode dynamic: keeps this browser as the key's; replace: instead of another. */
  startSession(options?: { replace?: boolean }): Promise<any>;
  /** Ends the browser and what is kept of its key, logins too. */
  closeSession(): Promise<void>;
  resetSession(): Promise<any>;
  getDebugLog(limit?: number): Promise<any[]>;
};
"#;

const EVENT: &str = "{ method: string, params: any, sessionId?: string, seq: number }";

/// The resources that a method can reach, and the check that guards them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// State of this execution, and the browser's information about itself. Not checked.
    Own,
    /// A page, if the policy permits the script to attach to it.
    Page,
    /// Anything that a command can reach, as the policy's table decides.
    Command,
    /// The session of the browser, under its lease.
    Session,
}

/// A method of the namespace.
pub(crate) struct Row {
    /// The method as declared to scripts.
    pub(crate) method: Method,
    pub(crate) access: Access,
    /// Executes a call. The arguments match one of the signatures.
    pub(crate) run: Run,
}

/// The future of a call's result.
type Answer<'a> = Pin<Box<dyn Future<Output = Result<Encoded, ErrorReport>> + Send + 'a>>;
type Run = for<'a> fn(&'a Cdp, Vec<Value>, CallContext) -> Answer<'a>;

/// The row of the method with this name.
pub(crate) fn find(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.method.name == name)
}

/// The namespace as declared to scripts.
pub(crate) fn manifest() -> Manifest {
    Manifest {
        namespace: NAMESPACE.into(),
        doc:
            "Raw Chrome DevTools Protocol of a real browser. Page commands need a sessionId: const {sessionId} = await \
              cdp.attachToTarget(); await cdp.send(\"Page.navigate\", {url}, {sessionId}); await \
              cdp.waitForEvent(\"Page.loadEventFired\", {sessionId})"
                .into(),
        methods: ROWS.iter().map(|row| row.method.clone()).collect(),
        layer: None,
        declaration: Some(BRIEF.into()),
    }
}

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    vec![
        Row {
            method: method(
                "send",
                "Sends a command.",
                &[
                    &[
                        required("method", text()),
                        optional("params", object()),
                        optional(
                            "options",
                            fields_or_session(json!({"sessionId": session(), "timeoutMs": timeout()}), &[]),
                        ),
                    ],
                    &[required(
                        "command",
                        fields_or_session(
                            json!({"method": text(), "params": object(), "sessionId": session(), "timeoutMs": timeout()}),
                            &["method"],
                        ),
                    )],
                ],
                any(),
                Effect::Write,
            ),
            access: Access::Command,
            run: |cdp, arguments, context| {
                Box::pin(async move {
                    let call = arguments::command(&arguments)?;
                    // Keep only one copy in memory for the duration of the call.
                    drop(arguments);
                    command::send(cdp, call, context.place, context.deadline).await
                })
            },
        },
        Row {
            method: method(
                "attachToTarget",
                "Attaches to a page, by default the first. Its answer serves as sessionId across reconnects.",
                &[&[optional("target", target()), optional("options", fields(json!({"timeoutMs": timeout()}), &[]))]],
                json!({"tsType": "{ sessionId: string, targetId: string }"}),
                Effect::Write,
            ),
            access: Access::Page,
            run: |cdp, arguments, context| {
                Box::pin(async move {
                    let options = arguments::attach(&arguments)?;
                    command::attach(cdp, options, context.deadline).await.map(Encoded::from)
                })
            },
        },
        Row {
            method: method(
                "waitForEvent",
                "Next event of this name since the page was attached or last navigated: one that fired before the wait is \
                 not missed. where: subset of params; * in its strings matches any text.",
                &[&[
                    required("name", text()),
                    optional(
                        "options",
                        fields_or_session(
                            json!({"sessionId": session(), "where": object(), "timeoutMs": timeout()}),
                            &[],
                        ),
                    ),
                ]],
                json!({"tsType": EVENT}),
                Effect::Read,
            ),
            access: Access::Page,
            run: |cdp, arguments, context| {
                Box::pin(async move {
                    let (name, options) = arguments::wait(&arguments)?;
                    drop(arguments);
                    wait::wait_for_event(cdp, &name, &options, context.deadline).await.map(Encoded::from)
                })
            },
        },
        Row {
            method: method(
                "events",
                "Buffered events; read on with since: next.",
                &[&[optional(
                    "options",
                    fields_or_session(
                        json!({
                            "since": {"type": "integer", "minimum": 0},
                            "sessionId": session(),
                            "names": {"type": "array", "items": text(), "maxItems": EVENT_NAMES_MAX},
                            "limit": {"type": "integer", "minimum": 1, "maximum": EVENTS_MAX},
                        }),
                        &[],
                    ),
                )]],
                json!({"tsType": format!("{{ events: {EVENT}[], next: number, dropped: number }}")}),
                Effect::Read,
            ),
            access: Access::Page,
            run: |cdp, arguments, context| {
                Box::pin(async move {
                    events::events(cdp, options(&arguments, 0)?, context.deadline).await.map(Encoded::from)
                })
            },
        },
        Row {
            method: method(
                "spec",
                "The protocol: index of domains, or what a domain (its commands, described), command, event or type is.",
                &[&[optional("name", text())], &[required("query", fields(json!({"search": text()}), &["search"]))]],
                any(),
                Effect::Read,
            ),
            access: Access::Own,
            run: |cdp, arguments, context| {
                Box::pin(async move {
                    let asked = arguments::lookup(&arguments)?;
                    let connected = cdp.browser.connected(context.deadline).await?;
                    lookup::answer(connected.require_protocol()?, &asked).map(Encoded::from)
                })
            },
        },
        Row {
            method: method(
                "sessionInfo",
                "The session, the browser and its targets; starts nothing.",
                &[&[]],
                any(),
                Effect::Read,
            ),
            access: Access::Own,
            run: |cdp, _, _| Box::pin(async move { session_info(cdp).await.map(Encoded::from) }),
        },
        Row {
            method: method(
                "startSession",
                "Mode dynamic: keeps this browser as the shared one of the key. replace: in the place of another.",
                &[&[optional("options", fields(json!({"replace": {"type": "boolean"}}), &[]))]],
                any(),
                Effect::Write,
            ),
            access: Access::Session,
            run: |cdp, arguments, context| {
                Box::pin(async move {
                    let StartOptions { replace } = options(&arguments, 0)?;
                    let promotion = if replace { Promotion::Replace } else { Promotion::IfFree };
                    cdp.browser.promote(promotion, context.deadline).await?;
                    session_info(cdp).await.map(Encoded::from)
                })
            },
        },
        Row {
            method: method(
                "closeSession",
                "Ends the browser and what is kept of its key, logins included.",
                &[&[]],
                nothing(),
                Effect::Write,
            ),
            access: Access::Session,
            run: |cdp, _, context| {
                Box::pin(async move {
                    cdp.browser.close_session(context.deadline).await?;
                    Ok(Value::Undefined.into())
                })
            },
        },
        Row {
            method: method("resetSession", "closeSession, then a fresh browser.", &[&[]], any(), Effect::Write),
            access: Access::Session,
            run: |cdp, _, context| {
                Box::pin(async move {
                    cdp.browser.reset_session(context.deadline).await?;
                    session_info(cdp).await.map(Encoded::from)
                })
            },
        },
        Row {
            method: method(
                "getDebugLog",
                "Commands sent: time, duration, outcome.",
                &[&[optional("limit", log_limit())]],
                json!({"type": "array", "items": {"tsType": "any"}}),
                Effect::Read,
            ),
            access: Access::Own,
            run: |cdp, arguments, _| {
                Box::pin(async move {
                    let limit = arguments::log_limit(&arguments)?;
                    Ok(json!(cdp.debug_log.last(limit.unwrap_or(DEBUG_LOG_MAX))).into())
                })
            },
        },
        Row {
            method: method("clearDebugLog", "Empties it.", &[&[]], nothing(), Effect::Read),
            access: Access::Own,
            run: |cdp, _, _| {
                Box::pin(async move {
                    cdp.debug_log.clear();
                    Ok(Value::Undefined.into())
                })
            },
        },
    ]
});

fn method(name: &str, doc: &str, signatures: &[&[Param]], returns: Json, effect: Effect) -> Method {
    let signatures = signatures.iter().map(|params| Signature { params: params.to_vec() }).collect();
    Method { name: name.into(), doc: doc.into(), signatures, returns, effect, background: false }
}

/// The target to attach to: its id, an object with its id and a timeout, or the answer of `attachToTarget`.
fn target() -> Json {
    let mut schema = fields(json!({"targetId": text(), "sessionId": text(), "timeoutMs": timeout()}), &[]);
    schema["type"] = json!(["string", "object"]);
    schema["tsType"] = json!("string | { targetId?: string, timeoutMs?: number }");
    schema
}

/// The number of entries, as a number or as an option.
fn log_limit() -> Json {
    let mut schema = fields(json!({"limit": count()}), &[]);
    schema["type"] = json!(["integer", "object"]);
    schema["minimum"] = json!(1);
    schema["tsType"] = json!("number | { limit?: number }");
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_declaration_is_short() {
        let dts = manifest().to_brief_dts();
        assert!(dts.len() <= 1_500, "{} bytes:\n{dts}", dts.len());
    }

    /// A method with an effect is written to the audit, and its access is checked.
    #[test]
    fn each_method_says_what_it_changes_and_what_judges_it() {
        let rows: Vec<_> = ROWS.iter().map(|row| (row.method.name.as_str(), row.method.effect, row.access)).collect();
        let expected = [
            ("send", Effect::Write, Access::Command),
            ("attachToTarget", Effect::Write, Access::Page),
            ("waitForEvent", Effect::Read, Access::Page),
            ("events", Effect::Read, Access::Page),
            ("spec", Effect::Read, Access::Own),
            ("sessionInfo", Effect::Read, Access::Own),
            ("startSession", Effect::Write, Access::Session),
            ("closeSession", Effect::Write, Access::Session),
            ("resetSession", Effect::Write, Access::Session),
            ("getDebugLog", Effect::Read, Access::Own),
            ("clearDebugLog", Effect::Read, Access::Own),
        ];
        assert_eq!(rows, expected);
    }
}
