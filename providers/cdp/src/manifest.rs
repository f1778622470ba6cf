//! The namespace as scripts see it.

use codemode_spec::{
    Effect, Manifest, Method, Param, Signature,
    limits::{EVENT_NAMES_MAX, WALL_MS_MAX},
};
use serde_json::{Value as Json, json};

/// Events in one answer of `cdp.events`, unless the script says otherwise.
pub(crate) const EVENTS_DEFAULT: usize = 100;
/// The most events in one answer of `cdp.events`.
pub(crate) const EVENTS_MAX: usize = 1_000;

const EVENT: &str = "{ method: string, params: any, sessionId?: string, seq: number }";

pub(crate) fn manifest() -> Manifest {
    let any = || json!({"tsType": "any"});
    Manifest {
        namespace: "cdp".into(),
        doc: "Raw Chrome DevTools Protocol of a real browser. Page commands need a sessionId: const sessionId = await \
              cdp.attachToTarget(); await cdp.send(\"Page.navigate\", {url}, {sessionId}); await \
              cdp.waitForEvent(\"Page.loadEventFired\", {sessionId})"
            .into(),
        methods: vec![
            method(
                "send",
                "Sends a command.",
                &[
                    &[
                        required("method", text()),
                        optional("params", object()),
                        optional("options", fields(json!({"sessionId": text(), "timeoutMs": timeout()}), &[])),
                    ],
                    &[required(
                        "command",
                        fields(
                            json!({"method": text(), "params": object(), "sessionId": text(), "timeoutMs": timeout()}),
                            &["method"],
                        ),
                    )],
                ],
                any(),
                Effect::Write,
            ),
            method(
                "attachToTarget",
                "Attaches to a page, by default the first. Returns a handle for use as sessionId that outlives reconnects.",
                &[
                    &[optional("targetId", text())],
                    &[required("target", fields(json!({"targetId": text(), "timeoutMs": timeout()}), &[]))],
                ],
                text(),
                Effect::Write,
            ),
            method(
                "waitForEvent",
                "Next event of this name since the page was attached or last navigated: one that fired before the wait is \
                 not missed. where: subset of params; * in its strings matches any text.",
                &[&[
                    required("name", text()),
                    optional(
                        "options",
                        fields(json!({"sessionId": text(), "where": object(), "timeoutMs": timeout()}), &[]),
                    ),
                ]],
                json!({"tsType": EVENT}),
                Effect::Read,
            ),
            method(
                "events",
                "Buffered events; read on with since: next.",
                &[&[optional(
                    "options",
                    fields(
                        json!({
                            "since": {"type": "integer", "minimum": 0},
                            "sessionId": text(),
                            "names": {"type": "array", "items": text(), "maxItems": EVENT_NAMES_MAX},
                            "limit": {"type": "integer", "minimum": 1, "maximum": EVENTS_MAX},
                        }),
                        &[],
                    ),
                )]],
                json!({"tsType": format!("{{ events: {EVENT}[], next: number, dropped: number }}")}),
                Effect::Read,
            ),
            method(
                "spec",
                "The protocol: index of domains, or what a domain (its commands, described), command, event or type is.",
                &[&[optional("name", text())], &[required("query", fields(json!({"search": text()}), &["search"]))]],
                any(),
                Effect::Read,
            ),
            method(
                "sessionInfo",
                "The session, the browser and its targets; starts nothing.",
                &[&[]],
                any(),
                Effect::Read,
            ),
            method(
                "startSession",
                "Mode dynamic: keeps this browser as the shared one of the key. replace: in the place of another.",
                &[&[optional("options", fields(json!({"replace": {"type": "boolean"}}), &[]))]],
                any(),
                Effect::Write,
            ),
            method(
                "closeSession",
                "Ends the browser and what is kept of its key, logins included.",
                &[&[]],
                json!({"tsType": "void"}),
                Effect::Write,
            ),
            method("resetSession", "closeSession, then a fresh browser.", &[&[]], any(), Effect::Write),
            method(
                "getDebugLog",
                "Commands sent: time, duration, outcome.",
                &[&[optional("options", fields(json!({"limit": {"type": "integer", "minimum": 1}}), &[]))]],
                json!({"type": "array", "items": {"tsType": "any"}}),
                Effect::Read,
            ),
            method("clearDebugLog", "Empties it.", &[&[]], json!({"tsType": "void"}), Effect::Read),
        ],
    }
}

fn method(name: &str, doc: &str, signatures: &[&[Param]], returns: Json, effect: Effect) -> Method {
    let signatures = signatures.iter().map(|params| Signature { params: params.to_vec() }).collect();
    Method { name: name.into(), doc: doc.into(), signatures, returns, effect }
}

fn required(name: &str, schema: Json) -> Param {
    Param { name: name.into(), schema, optional: false }
}

fn optional(name: &str, schema: Json) -> Param {
    Param { name: name.into(), schema, optional: true }
}

fn text() -> Json {
    json!({"type": "string"})
}

fn object() -> Json {
    json!({"type": "object", "tsType": "object"})
}

fn timeout() -> Json {
    json!({"type": "integer", "minimum": 1, "maximum": WALL_MS_MAX})
}

fn fields(properties: Json, required: &[&str]) -> Json {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_declaration_is_short() {
        let dts = manifest().to_dts();
        assert!(dts.len() <= 2_300, "{} bytes:\n{dts}", dts.len());
    }
}
