//! Converts the failures of a script to the types of the contract.

use crate::{
    codec::Refusal,
    console, stack,
    state::{self, FailedCall},
    unsupported,
};
use boa_engine::{
    Context, JsError, JsObject, JsString, JsValue, builtins::error::Error, error::EngineError, js_string,
    object::builtins::JsPromise,
};
use codemode_spec::{
    error::clip,
    limits::{ERROR_CAUSES_MAX, ERROR_TEXT_CHARS_MAX, UNHANDLED_REJECTIONS_MAX},
    message::{Outcome, Thrown},
};
use std::mem::take;

/// The outcome of a script that threw, or that hit a limit which JavaScript cannot catch.
pub fn outcome(error: JsError, context: &mut Context) -> Outcome {
    if let Some(engine) = error.as_engine() {
        let text = error.to_string();
        // If an async function exceeds the recursion limit, the engine reports an internal panic instead. It is
        // told from other panics by the stack trace, which fills the engine's limit on printed frames.
        let depth = text.lines().filter(|line| line.trim_start().starts_with("at ")).count();
        let depth_max = context.runtime_limits().backtrace_limit();
        let stack = bounded(text);
        return match engine {
            EngineError::RuntimeLimit(_) => Outcome::RecursionLimit { stack },
            EngineError::Panic(_) if depth >= depth_max => Outcome::RecursionLimit { stack },
            _ => Outcome::Threw(Thrown { name: "EngineError".to_owned(), message: stack, ..empty() }),
        };
    }
    match error.into_opaque(context) {
        Ok(value) => Outcome::Threw(thrown(&value, context)),
        Err(error) => {
            Outcome::Threw(Thrown { name: "EngineError".to_owned(), message: bounded(error.to_string()), ..empty() })
        }
    }
}

/// The outcome of a script whose result cannot cross the boundary.
pub fn refused(refusal: Refusal, context: &mut Context) -> Outcome {
    match refusal {
        Refusal::Unserialisable { path, what } => {
            Outcome::Unserialisable { path: bounded(Refusal::path_text("result", &path)), what }
        }
        Refusal::TooLarge => Outcome::TooLarge,
        Refusal::Threw(error) => outcome(error, context),
    }
}

/// Describes a thrown value. This may run getters of the script; a property whose getter throws is omitted.
pub fn thrown(value: &JsValue, context: &mut Context) -> Thrown {
    let Some(object) = value.as_object() else {
        return Thrown {
            name: value.type_of().to_owned(),
            message: bounded(console::inspect(std::slice::from_ref(value), context)),
            ..empty()
        };
    };
    if !object.is::<Error>() && text_of(&object, js_string!("message"), context).is_none() {
        let message = bounded(console::inspect(std::slice::from_ref(value), context));
        return Thrown { name: "object".to_owned(), message, ..empty() };
    }
    let message = text_of(&object, js_string!("message"), context).unwrap_or_default();
    let stack = text_of(&object, js_string!("stack"), context).unwrap_or_default();
    let stack = stack::without_internal_frames(&stack).into_owned();
    let hint = unsupported::hint_for(&message).unwrap_or_default().to_owned();
    let (call, refused) = match state::with(|state| state.failed_call(&object)) {
        None => (None, None),
        Some(FailedCall::Answered(call)) => (Some(call), None),
        Some(FailedCall::Refused(why)) => (None, Some(why)),
    };
    Thrown {
        name: text_of(&object, js_string!("name"), context).unwrap_or_else(|| "Error".to_owned()),
        message,
        stack,
        hint,
        causes: causes(&object, context),
        call,
        refused,
    }
}

/// Records an error that no JavaScript can catch any more, such as one thrown by a timer's callback.
pub fn report_uncaught(error: JsError, context: &mut Context) {
    let text = text(error, context);
    state::with(|state| {
        if state.uncaught.len() < UNHANDLED_REJECTIONS_MAX {
            state.uncaught.push(text);
        } else {
            state.uncaught_further += 1;
        }
    });
}

/// Returns the uncaught errors and the unhandled rejections as text, without that of the script's own promise. The last
/// text counts those beyond [`UNHANDLED_REJECTIONS_MAX`].
pub fn unhandled(main: Option<&JsPromise>, context: &mut Context) -> Vec<String> {
    let (mut texts, mut further, rejections) =
        state::with(|state| (take(&mut state.uncaught), take(&mut state.uncaught_further), take(&mut state.unhandled)));
    for (promise, reason) in rejections {
        if main.is_some_and(|main| JsObject::equals(main, &promise)) {
            continue;
        }
        if texts.len() < UNHANDLED_REJECTIONS_MAX {
            texts.push(describe(&reason, context));
        } else {
            further += 1;
        }
    }
    if further > 0 {
        texts.push(format!("{further} more error{}", if further == 1 { "" } else { "s" }));
    }
    texts
}

/// An error as text, with its innermost stack frame.
pub fn text(error: JsError, context: &mut Context) -> String {
    match error.into_opaque(context) {
        Ok(value) => describe(&value, context),
        // An engine limit: the first line is the message, the others are the stack.
        Err(error) => bounded(error.to_string().lines().next().unwrap_or_default().to_owned()),
    }
}

fn describe(value: &JsValue, context: &mut Context) -> String {
    let Thrown { name, message, stack, .. } = thrown(value, context);
    let place = stack.lines().map(str::trim).find(|line| line.starts_with("at ")).unwrap_or_default();
    bounded(format!("{name}: {message} {place}").trim_end().to_owned())
}

fn causes(object: &JsObject, context: &mut Context) -> Vec<String> {
    let mut causes = Vec::new();
    let mut next = object.clone();
    while causes.len() < ERROR_CAUSES_MAX {
        let cause = match next.get(js_string!("cause"), context) {
            Ok(cause) if !cause.is_undefined() => cause,
            _ => break,
        };
        let message = cause.as_object().and_then(|object| text_of(&object, js_string!("message"), context));
        let (Some(object), Some(message)) = (cause.as_object(), message) else {
            causes.push(bounded(console::inspect(&[cause], context)));
            break;
        };
        let name = text_of(&object, js_string!("name"), context).unwrap_or_default();
        causes.push(bounded(format!("{name}: {message}")));
        next = object;
    }
    causes
}

fn text_of(object: &JsObject, key: JsString, context: &mut Context) -> Option<String> {
    let value = object.get(key, context).ok()?;
    value.as_string().map(|text| bounded(text.to_std_string_lossy()))
}

/// Cuts a text to the longest that an error may have.
pub fn bounded(mut text: String) -> String {
    clip(&mut text, ERROR_TEXT_CHARS_MAX);
    text
}

fn empty() -> Thrown {
    Thrown {
        name: String::new(),
        message: String::new(),
        stack: String::new(),
        hint: String::new(),
        causes: Vec::new(),
        call: None,
        refused: None,
    }
}
