//! The `console` object.

use super::{cut, format::format, inspect::Inspector, table::table};
use crate::{stack::is_script_frame, state};
use boa_engine::{
    Context, JsArgs, JsResult, JsString, JsSymbol, JsValue, NativeFunction, js_string,
    native_function::NativeFunctionPointer, object::ObjectInitializer, property::Attribute,
};
use codemode_spec::{limits::CONSOLE_LINE_BYTES_MAX, message::Level};
use std::{cell::RefCell, collections::BTreeMap};

/// Nesting depth of groups; deeper ones are not indented further.
const GROUPS_MAX: usize = 20;
/// Stored labels of counters, and of timers; further labels are not stored.
const LABELS_MAX: usize = 1_000;

#[derive(Default)]
struct Console {
    groups: usize,
    counts: BTreeMap<String, u32>,
    /// When each timer was started.
    timers: BTreeMap<String, f64>,
}

thread_local! {
    static CONSOLE: RefCell<Console> = RefCell::default();
}

/// Defines `console`.
pub fn install(context: &mut Context) -> JsResult<()> {
    const METHODS: &[(&str, NativeFunctionPointer)] = &[
        ("log", |_, arguments, context| log(Level::Log, arguments, context)),
        ("info", |_, arguments, context| log(Level::Info, arguments, context)),
        ("warn", |_, arguments, context| log(Level::Warn, arguments, context)),
        ("error", |_, arguments, context| log(Level::Error, arguments, context)),
        ("debug", |_, arguments, context| log(Level::Debug, arguments, context)),
        ("dirxml", |_, arguments, context| log(Level::Log, arguments, context)),
        ("dir", dir),
        ("trace", trace),
        ("table", show_table),
        ("assert", assert),
        ("count", count),
        ("countReset", count_reset),
        ("group", group),
        ("groupCollapsed", group),
        ("groupEnd", group_end),
        ("time", time),
        ("timeLog", |_, arguments, context| time_log(arguments, false, context)),
        ("timeEnd", |_, arguments, context| time_log(arguments, true, context)),
        ("clear", |_, _, _| Ok(JsValue::undefined())),
    ];
    let mut console = ObjectInitializer::new(context);
    for (name, method) in METHODS {
        console.function(NativeFunction::from_fn_ptr(*method), js_string!(*name), 0);
    }
    console.property(JsSymbol::to_string_tag(), js_string!("console"), Attribute::CONFIGURABLE);
    let console = console.build();
    context.register_global_property(js_string!("console"), console, Attribute::WRITABLE | Attribute::CONFIGURABLE)
}

fn write(level: Level, text: &str) {
    let groups = CONSOLE.with_borrow(|console| console.groups);
    let text = if groups == 0 {
        text.to_owned()
    } else {
        let indentation = "  ".repeat(groups);
        format!("{indentation}{}", text.replace('\n', &format!("\n{indentation}")))
    };
    state::console(level, cut(text));
}

fn log(level: Level, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    write(level, &format(arguments, context));
    Ok(JsValue::undefined())
}

fn dir(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let text = Inspector::new(CONSOLE_LINE_BYTES_MAX + 64, context).value(arguments.get_or_undefined(0));
    write(Level::Log, &text);
    Ok(JsValue::undefined())
}

fn trace(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let error = context.intrinsics().constructors().error().constructor().construct(&[], None, context)?;
    let stack = crate::web::error_stack(&error, context).unwrap_or_default().to_std_string_lossy();
    let text = format(arguments, context);
    let heading = if text.is_empty() { "Trace".to_owned() } else { format!("Trace: {text}") };
    // The first frame is this function.
    let frames: Vec<&str> = stack.trim_end().lines().skip(1).filter(|line| is_script_frame(line)).collect();
    write(Level::Log, format!("{heading}\n{}", frames.join("\n")).trim_end());
    Ok(JsValue::undefined())
}

fn show_table(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    match table(arguments.get_or_undefined(0), arguments.get(1), context) {
        Some(text) => write(Level::Log, &text),
        None => return log(Level::Log, arguments, context),
    }
    Ok(JsValue::undefined())
}

fn assert(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    if arguments.get_or_undefined(0).to_boolean() {
        return Ok(JsValue::undefined());
    }
    let text = format(arguments.get(1..).unwrap_or_default(), context);
    let text = if text.is_empty() { "Assertion failed".to_owned() } else { format!("Assertion failed: {text}") };
    write(Level::Error, &text);
    Ok(JsValue::undefined())
}

/// The label of a counter or a timer. Unlike the platform, this does not run the script's `toString` to convert it.
fn label(arguments: &[JsValue], context: &mut Context) -> String {
    match arguments.first() {
        None => "default".to_owned(),
        Some(value) if value.is_undefined() => "default".to_owned(),
        Some(value) => super::format::bare(value, 256, context),
    }
}

fn count(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let label = label(arguments, context);
    let count = CONSOLE.with_borrow_mut(|console| {
        if console.counts.len() >= LABELS_MAX && !console.counts.contains_key(&label) {
            return 1;
        }
        let count = console.counts.entry(label.clone()).or_default();
        *count += 1;
        *count
    });
    write(Level::Log, &format!("{label}: {count}"));
    Ok(JsValue::undefined())
}

fn count_reset(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let label = label(arguments, context);
    if CONSOLE.with_borrow_mut(|console| console.counts.remove(&label)).is_none() {
        write(Level::Warn, &format!("Count for '{label}' does not exist"));
    }
    Ok(JsValue::undefined())
}

fn group(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    if !arguments.is_empty() {
        log(Level::Log, arguments, context)?;
    }
    CONSOLE.with_borrow_mut(|console| console.groups = (console.groups + 1).min(GROUPS_MAX));
    Ok(JsValue::undefined())
}

fn group_end(_: &JsValue, _: &[JsValue], _: &mut Context) -> JsResult<JsValue> {
    CONSOLE.with_borrow_mut(|console| console.groups = console.groups.saturating_sub(1));
    Ok(JsValue::undefined())
}

fn time(_: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let label = label(arguments, context);
    let is_new = CONSOLE.with_borrow_mut(|console| {
        let is_new = !console.timers.contains_key(&label);
        if is_new && console.timers.len() < LABELS_MAX {
            console.timers.insert(label.clone(), state::now_ms());
        }
        is_new
    });
    if !is_new {
        write(Level::Warn, &format!("Timer '{label}' already exists"));
    }
    Ok(JsValue::undefined())
}

fn time_log(arguments: &[JsValue], end: bool, context: &mut Context) -> JsResult<JsValue> {
    let label = label(arguments, context);
    let began =
        CONSOLE.with_borrow_mut(
            |console| {
                if end { console.timers.remove(&label) } else { console.timers.get(&label).copied() }
            },
        );
    let Some(began) = began else {
        write(Level::Warn, &format!("No such timer '{label}'"));
        return Ok(JsValue::undefined());
    };
    let elapsed = JsString::from(state::now_ms() - began).to_std_string_lossy();
    let more = format(arguments.get(1..).filter(|_| !end).unwrap_or_default(), context);
    write(Level::Log, format!("{label}: {elapsed}ms {more}").trim_end());
    Ok(JsValue::undefined())
}
