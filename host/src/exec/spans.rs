//! The tracing spans of executions and of their calls. Like the audit log, they hold no source, argument or result.
//!
//! `tracing-opentelemetry` takes a span's name and status from `otel.name` and `otel.status_code`; `error.type` is an
//! attribute of OpenTelemetry's semantic conventions.

use codemode_provider::{ExecutionId, Registry};
use codemode_spec::ErrorCode;
use tracing::{Span, field::Empty, info_span};

/// The span of an execution, from its request to the end of its disposal.
pub(super) fn execution(id: &ExecutionId, caller: &str) -> Span {
    let caller = Some(caller).filter(|caller| !caller.is_empty());
    info_span!("execution", %id, caller, "error.type" = Empty, "otel.status_code" = Empty)
}

/// Records an outcome in a span.
pub(super) fn ended(span: &Span, outcome: Result<(), ErrorCode>) {
    if let Err(code) = outcome {
        span.record("error.type", code.as_str());
        span.record("otel.status_code", "ERROR");
    }
}

/// The span of a call, from its admission to its reply. If it is dropped before that, the call was cancelled.
pub(super) struct CallSpan {
    span: Span,
    has_ended: bool,
}

impl CallSpan {
    /// A child of the execution's span, named after the method if that exists: names that scripts make up are
    /// unbounded.
    pub(super) fn new(of: &Span, registry: &Registry, namespace: &str, method: &str) -> Self {
        let name = || registry.method(namespace, method).map(|_| format!("{namespace}.{method}"));
        let span =
            info_span!(parent: of, "call", "otel.name" = name(), "error.type" = Empty, "otel.status_code" = Empty);
        Self { span, has_ended: false }
    }

    /// The span, for the work of the call.
    pub(super) fn span(&self) -> Span {
        self.span.clone()
    }

    /// Records the outcome of the call.
    pub(super) fn ended(mut self, outcome: Result<(), ErrorCode>) {
        self.has_ended = true;
        ended(&self.span, outcome);
    }
}

impl Drop for CallSpan {
    fn drop(&mut self) {
        if !self.has_ended {
            ended(&self.span, Err(ErrorCode::Cancelled));
        }
    }
}
