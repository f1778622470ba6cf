//! Turns a model's source text into the script that the guest evaluates.
//!
//! Models send code in many forms: an expression, statements, a function, a module with a default export, any of them
//! in JavaScript or TypeScript, bare or in a Markdown fence with prose around it. [`Program::prepare`] converts them
//! all to one form: a classic script whose completion value is a function without parameters. The text is regenerated
//! only if types must be stripped; otherwise the model's own text runs, with a few insertions.
//!
//! Sources are hostile. A recursive parser can be made to overflow its thread's stack, which would abort the host; so
//! [`nesting`] measures the depth first, shallow sources are parsed on the caller's thread, and the others on a
//! dedicated thread with a sufficient stack.

mod fault;
mod fence;
mod form;
mod frame;
mod module;
mod nesting;
mod parse;
mod position;
mod receiver;
mod script;
mod template;
#[cfg(test)]
mod tests;
mod tree;
mod typescript;

use codemode_spec::{
    ErrorCode, ErrorReport, Value,
    error::clip,
    limits::{FAULT_CHARS_MAX, SOURCE_BYTES_MAX},
    value::Text,
};
use fault::Fault;
use fence::Located;
use form::Exports;
use module::Rewritten;
use nesting::{Scan, TooNested};
use position::{Lines, Place, Step, Unit};
use script::{Prepared, Refused};
use std::{borrow::Cow, cell::OnceCell, thread};

pub use script::SOURCE_NAME;

/// The stack of the thread that parses deeply nested sources: what the deepest accepted tree takes, ...
const STACK_BYTES: usize = 64 << 20;
/// ... and what a parser may take per byte of source before its depth is known. This only reserves address space:
/// unused pages are never mapped.
const STACK_BYTES_PER_SOURCE_BYTE: usize = 2 << 10;

/// The deepest brackets of a regular expression that the parser checks; deeper ones are left to the engine.
const PATTERN_BRACKETS_MAX: usize = 50;

/// A script for the guest, and the mapping of its positions back to the model's text.
#[derive(Clone, Debug)]
pub struct Program {
    /// Plain JavaScript. Evaluated as a classic script, its completion value is a function without parameters, whose
    /// awaited return value is the result.
    pub source: String,
    /// Its file name in stack traces.
    pub source_name: String,
    map: PositionMap,
}

/// Maps byte offsets in the script to those in the text as it was sent.
#[derive(Clone, Debug)]
struct PositionMap {
    text: String,
    /// The offset of the code in the text.
    base: usize,
    /// The transformations from the code to the script.
    steps: Vec<Step>,
}

impl Program {
    /// Parses and transforms a model's text. The time is proportional to the text: microseconds for what models write,
    /// up to a second for the largest text allowed.
    ///
    /// # Errors
    /// `SYNTAX_ERROR`, `SOURCE_TOO_LARGE`, `SOURCE_TOO_NESTED`, or `UNSUPPORTED_OPERATION` for an import. If the error
    /// has a position in the text, `details` has `line` and `column`, counted from 1 in the text as it was sent, and
    /// `frame`, which also ends the message.
    #[expect(clippy::result_large_err, reason = "a report is made for a reader, once, where something has failed")]
    pub fn prepare(text: &str) -> Result<Self, ErrorReport> {
        if text.len() > SOURCE_BYTES_MAX {
            let message = format!("the script has {} bytes; at most {SOURCE_BYTES_MAX} are accepted", text.len());
            return Err(ErrorReport::new(ErrorCode::SourceTooLarge, message));
        }
        let (base, prepared) = locate_and_prepare(text).map_err(|fault| report(text, &fault))?;
        let map = PositionMap { text: text.to_owned(), base, steps: prepared.steps };
        Ok(Self { source: prepared.source, source_name: SOURCE_NAME.to_owned(), map })
    }

    /// Maps a position in the script to the model's text; both are counted from 1, columns in characters.
    #[must_use]
    pub fn map_position(&self, line: u32, column: u32) -> (u32, u32) {
        let place = Mapper::new(self).map(Place { line, column });
        (place.line, place.column)
    }

    /// The mapper of stack traces from the guest's positions to the model's text.
    #[must_use]
    pub fn stacks(&self) -> Stacks<'_> {
        Stacks { program: self, mapper: OnceCell::new() }
    }

    /// The lines around a position from [`Self::map_position`] in the model's text, with a caret under the column.
    #[must_use]
    pub fn code_frame(&self, line: u32, column: u32) -> String {
        let lines = Lines::new(&self.map.text, Unit::Char);
        let place = lines.place(lines.offset(Place { line, column }));
        frame::frame(&lines, place)
    }
}

/// Maps the positions in stack traces to the model's text, wherever stack traces occur: in an error, on the console, in
/// a result.
pub struct Stacks<'p> {
    program: &'p Program,
    /// Built on first use: most texts need none.
    mapper: OnceCell<Mapper<'p>>,
}

impl Stacks<'_> {
    /// Maps the stack frames of the script in a text. Only the guest's frames are recognised: `at script.js:1:2` and
    /// `at f (script.js:1:2)`. A page's own `script.js` has its URL in front.
    pub fn map(&self, text: &mut String) {
        let name = &self.program.source_name;
        if !text.contains(name) {
            return;
        }
        let mapper = self.mapper.get_or_init(|| Mapper::new(self.program));
        let mut out = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some(at) = rest.find(name) {
            let is_frame = rest[..at].ends_with("at ") || rest[..at].ends_with('(');
            let (head, tail) = rest.split_at(at + name.len());
            out.push_str(head);
            rest = tail;
            if let Some((place, length)) = position_in(rest).filter(|_| is_frame) {
                let Place { line, column } = mapper.map(place);
                out.push_str(&format!(":{line}:{column}"));
                rest = &rest[length..];
            }
        }
        out.push_str(rest);
        *text = out;
    }

    /// Maps all texts in a value.
    pub fn map_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.map_text(text),
            Value::Error(error) => {
                self.map_text(&mut error.stack);
                error.cause.iter_mut().for_each(|cause| self.map_value(cause));
            }
            Value::Array(items) | Value::Set(items) => items.iter_mut().for_each(|item| self.map_value(item)),
            Value::Map(entries) => entries.iter_mut().for_each(|(key, value)| {
                self.map_value(key);
                self.map_value(value);
            }),
            Value::Object(entries) => entries.iter_mut().for_each(|(_, value)| self.map_value(value)),
            Value::Undefined
            | Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::BigInt(_)
            | Value::Date(_)
            | Value::Bytes(..) => {}
        }
    }

    fn map_text(&self, text: &mut Text) {
        if let Text::Utf8(text) = text {
            self.map(text);
        }
    }
}

/// The line tables, built once for any number of positions.
struct Mapper<'p> {
    source: Lines<'p>,
    text: Lines<'p>,
    map: &'p PositionMap,
}

impl<'p> Mapper<'p> {
    fn new(program: &'p Program) -> Self {
        let map = &program.map;
        Self { source: Lines::new(&program.source, Unit::Char), text: Lines::new(&map.text, Unit::Char), map }
    }

    fn map(&self, place: Place) -> Place {
        let offset = self.source.offset(place);
        let offset = self.map.steps.iter().rev().fold(offset, |offset, step| step.back(offset));
        self.text.place(self.map.base + offset)
    }
}

/// Parses `:line:column` at the beginning of a text; returns the position and its length.
fn position_in(text: &str) -> Option<(Place, usize)> {
    let number = |text: &str| {
        let digits = text.strip_prefix(':')?;
        let length = digits.bytes().take_while(u8::is_ascii_digit).take(10).count();
        digits[..length].parse::<u32>().ok().map(|number| (number, length + 1))
    };
    let (line, line_length) = number(text)?;
    let (column, column_length) = number(&text[line_length..])?;
    Some((Place { line, column }, line_length + column_length))
}

fn report(text: &str, fault: &Fault) -> ErrorReport {
    let lines = Lines::new(text, Unit::Char);
    let place = lines.place(fault.offset);
    let frame = frame::frame(&lines, place);
    let Place { line, column } = place;
    let mut what = fault.message.clone();
    clip(&mut what, FAULT_CHARS_MAX);
    let message = format!("{what} at line {line}, column {column}\n\n{frame}");
    let report = ErrorReport::new(fault.code, message)
        .with_detail("line", line)
        .with_detail("column", column)
        .with_detail("frame", frame);
    match &fault.hint {
        Some(hint) => report.with_hint(hint.as_ref()),
        None => report,
    }
}

/// Finds the code and prepares it. A fault's position refers to the text.
fn locate_and_prepare(text: &str) -> Result<(usize, Prepared), Fault> {
    let attempt = |located: &Located| match located {
        Located::Code(range) => prepare_code(&text[range.clone()])
            .map(|prepared| (range.start, prepared))
            .map_err(|fault| Fault { offset: range.start + fault.offset, ..fault }),
        Located::Several(second) => {
            let fault = Fault::new(ErrorCode::SyntaxError, "there are several fenced blocks of code", *second);
            Err(fault.with_hint("Send one script: the code alone, or in one fence. Nothing has run."))
        }
    };
    let strict = fence::locate(text, false);
    let fault = match attempt(&strict) {
        Err(fault) if fault.code == ErrorCode::SyntaxError => fault,
        other => return other,
    };
    let lenient = fence::locate(text, true);
    if lenient == strict { Err(fault) } else { attempt(&lenient).map_err(|_| fault) }
}

fn prepare_code(code: &str) -> Result<Prepared, Fault> {
    let scan = nesting::scan(code).map_err(|TooNested { offset, how }| {
        let code = if how == nesting::LENGTH { ErrorCode::SourceTooLarge } else { ErrorCode::SourceTooNested };
        Fault::new(code, how, offset)
    })?;
    if scan.is_shallow() {
        return read(code, &scan);
    }
    let stack = STACK_BYTES + code.len() * STACK_BYTES_PER_SOURCE_BYTE;
    thread::scope(|scope| {
        let parser =
            thread::Builder::new().name("parse".into()).stack_size(stack).spawn_scoped(scope, || read(code, &scan));
        let parsed = parser.ok().and_then(|parser| parser.join().ok());
        parsed.unwrap_or_else(|| {
            let message = "the script is too large or too deep to be parsed on this machine";
            Err(Fault::new(ErrorCode::SourceTooNested, message, 0)
                .with_hint("Send a shorter script with less nesting; nothing has run."))
        })
    })
}

/// Tries the possible readings of the code, the likeliest first. Recursive in the depth of the code.
fn read(code: &str, scan: &Scan) -> Result<Prepared, Fault> {
    let Some(first) = scan.first else {
        let fault = Fault::new(ErrorCode::SyntaxError, "there is no code in the script", 0);
        return Err(
            fault.with_hint("Send JavaScript: an expression, statements, or an async function; nothing has run.")
        );
    };
    let patterns = !scan.unsure && scan.pattern_brackets <= PATTERN_BRACKETS_MAX;
    let begin = &code[first..];
    // An object literal and an anonymous function are values only in expression position.
    let braced = begin.starts_with('{');
    let value = (braced || begin.starts_with("function") || begin.starts_with("async")).then(|| as_value(code, scan));
    let none = Exports::default();
    let as_script =
        |value: &(String, Step)| script::script(&value.0, &none, patterns).map(|it| it.after([value.1.clone()]));

    if braced && let Some(Ok(prepared)) = value.as_ref().map(as_script) {
        return Ok(prepared);
    }
    let rewritten = if scan.module_words && scan.is_fit_for_types() { module::rewrite(code)? } else { None };
    let (body, exports) = match &rewritten {
        Some(Rewritten { code, exports }) => (Cow::from(code), exports),
        None => (Cow::from(code), &none),
    };
    let plain = match script::script(&body, exports, patterns) {
        Err(Refused::Final(fault)) => return Err(fault),
        Ok(prepared) if !prepared.generic_call => return Ok(prepared),
        other => other,
    };
    if !braced
        && plain.is_err()
        && let Some(Ok(prepared)) = value.as_ref().map(as_script)
    {
        return Ok(prepared);
    }
    if !scan.is_fit_for_types() {
        return plain.map_err(|_| {
            let fault =
                Fault::new(ErrorCode::SourceTooNested, "the script compares or nests types too often to be read", 0);
            fault.with_hint("Send plain JavaScript, or split the largest statement; nothing has run.")
        });
    }
    let typed_value = |value: &(String, Step)| typed(&value.0, &none, patterns).map(|it| it.after([value.1.clone()]));
    if braced && let Some(Ok(prepared)) = value.as_ref().map(typed_value) {
        return Ok(prepared);
    }
    match typed(&body, exports, patterns) {
        Ok(prepared) => return Ok(prepared),
        Err(Refused::Final(fault)) if plain.is_err() => return Err(fault),
        Err(_) => {}
    }
    if !braced && let Some(Ok(prepared)) = value.as_ref().map(typed_value) {
        return Ok(prepared);
    }
    plain.map_err(|refused| match refused {
        Refused::Syntax(fault) | Refused::Final(fault) => parse::explain(&body, fault),
    })
}

/// The script for TypeScript code.
fn typed(code: &str, exports: &Exports, patterns: bool) -> Result<Prepared, Refused> {
    let (stripped, step) = typescript::strip(code)?;
    let back = |fault: Fault| Fault { offset: step.back(fault.offset), ..fault };
    match script::script(&stripped, exports, patterns) {
        Ok(prepared) => Ok(prepared.after([step])),
        Err(Refused::Syntax(fault)) => Err(Refused::Syntax(back(fault))),
        Err(Refused::Final(fault)) => Err(Refused::Final(back(fault))),
    }
}

/// The code in parentheses, without its trailing semicolons.
fn as_value(code: &str, scan: &Scan) -> (String, Step) {
    let end = (scan.last + 1).min(code.len());
    let end =
        code.get(..end).map_or(code.len(), |head| head.trim_end_matches(|c: char| c == ';' || c.is_whitespace()).len());
    Step::insert(&code[..end], vec![(0, "(".into()), (end, "\n)".into())])
}
