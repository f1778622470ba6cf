//! Extracts the trace context of a call from the `_meta` of its request: W3C Trace Context in the keys `traceparent`
//! and `tracestate` (revision 2026-07-28 of MCP, and SEP-414).

use codemode_spec::limits::TRACE_STATE_CHARS_MAX;
use opentelemetry::{Context, propagation::Extractor, propagation::TextMapPropagator as _};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use rmcp::model::JsonObject;

/// The parent context for the spans of a request with this `_meta`. Invalid values are ignored.
pub(super) fn of(meta: &JsonObject) -> Context {
    TraceContextPropagator::new().extract_with_context(&Context::new(), &Meta(meta))
}

struct Meta<'a>(&'a JsonObject);

impl Extractor for Meta<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        let value = self.0.get(key)?.as_str()?;
        (value.len() <= TRACE_STATE_CHARS_MAX).then_some(value)
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use opentelemetry::trace::TraceContextExt as _;
    use serde_json::{Value as Json, json};

    fn trace_of(meta: Json) -> Option<String> {
        let Json::Object(meta) = meta else { panic!("{meta}") };
        let context = of(&meta);
        let span = context.span();
        let span = span.span_context();
        span.is_valid().then(|| format!("{}-{}-{}", span.trace_id(), span.span_id(), span.trace_state().header()))
    }

    #[test]
    fn a_call_is_of_the_trace_that_its_client_says() {
        const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let of_parent = "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-";
        assert_eq!(trace_of(json!({"traceparent": PARENT})).as_deref(), Some(of_parent));
        let with_state = trace_of(json!({"traceparent": PARENT, "tracestate": "a=1,b=2", "other": {}}));
        assert_eq!(with_state, Some(format!("{of_parent}a=1,b=2")));
        let long = format!("a={}", "x".repeat(TRACE_STATE_CHARS_MAX));
        assert_eq!(trace_of(json!({"traceparent": PARENT, "tracestate": long})).as_deref(), Some(of_parent));
        for wrong in [json!(1), json!(""), json!("00-0-0-01"), json!(PARENT.repeat(20)), json!(null)] {
            assert_eq!(trace_of(json!({"traceparent": wrong})), None);
        }
    }
}
