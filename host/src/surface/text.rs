//! Text that the surfaces share: results, errors, console lines, remarks, tables, times.

use super::terminal::{in_one_line, indented};
use chrono::{DateTime, SecondsFormat};
use codemode_spec::{
    ErrorReport, Manifest,
    envelope::{ExecutionData, Meta},
    message::{ConsoleLine, Level},
};
use serde_json::Value as Json;
use std::{
    fmt::{Display, Write as _},
    ops::RangeInclusive,
};

/// The number of cuts of a result that are listed individually.
const CUTS_NAMED_MAX: usize = 5;

/// Prefixes of the lines that codemode prints itself. A console line with such a prefix is marked as a console line.
const OURS: [&str; 13] = [
    "error ",
    "error:",
    "hint:",
    "warning:",
    "warn:",
    "debug:",
    "log:",
    "console:",
    "cut:",
    "images:",
    "file:",
    "saved:",
    "the whole result:",
];

/// Appends a line to a text.
pub(super) fn line(text: &mut String, line: impl Display) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{line}");
}

/// A string as it is, `undefined` by its name, anything else as JSON.
pub(super) fn result(result: &Json, pretty: bool) -> String {
    match result {
        Json::String(text) => text.clone(),
        Json::Object(fields) if fields.len() == 1 && fields.get("$type").is_some_and(|kind| kind == "undefined") => {
            "undefined".to_owned()
        }
        other if pretty => format!("{other:#}"),
        other => other.to_string(),
    }
}

/// `error CODE: message`, the position in the script, and `hint: …`.
pub(super) fn error(error: &ErrorReport) -> String {
    let mut text = format!("error {}: {}\n", error.code, indented(&error.message));
    let detail = |key: &str| error.details.get(key).and_then(Json::as_str).unwrap_or_default().trim_end();
    // The message of a syntax error already ends with its code frame.
    if !error.message.contains(detail("frame")) {
        line(&mut text, indented(&format!("\n{}", detail("frame"))).trim_start_matches('\n'));
    }
    // A stack begins with the error's message, which is printed above.
    let stack = detail("stack").lines().skip_while(|line| !line.trim_start().starts_with("at "));
    stack.for_each(|place| line(&mut text, format_args!("    {}", place.trim_start())));
    line(&mut text, format_args!("hint: {}", indented(&error.hint)));
    text
}

/// A console line, prefixed with its level unless that is `log` or `info`.
pub(super) fn console(logged: &ConsoleLine) -> String {
    let text = indented(&logged.text);
    match logged.level {
        Level::Log | Level::Info if looks_like_ours(&text) => format!("log: {text}"),
        Level::Log | Level::Info => text.into_owned(),
        Level::Debug => format!("debug: {text}"),
        Level::Warn => format!("warn: {text}"),
        Level::Error => format!("error: {text}"),
    }
}

/// Whether a line appears to a reader to begin with a prefix of [`OURS`].
fn looks_like_ours(line: &str) -> bool {
    let is_seen = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '\t');
    let seen = line.trim_start_matches(|c| !is_seen(c));
    OURS.iter().any(|ours| seen.starts_with(ours))
}

/// Remarks about a result: warnings, cuts, dropped console output and files.
pub(super) fn remarks(meta: &Meta, data: &ExecutionData) -> Vec<String> {
    let mut remarks: Vec<String> =
        meta.warnings.iter().map(|warning| format!("warning: {}", indented(warning))).collect();
    if meta.logs_dropped_bytes > 0 {
        remarks.push(format!("console: {} bytes were left out in the middle", meta.logs_dropped_bytes));
    }
    for cut in meta.cuts.iter().take(CUTS_NAMED_MAX) {
        let place = if cut.path.is_empty() { "the result".into() } else { in_one_line(&cut.path) };
        remarks.push(format!("cut: {place}, {} of {} kept of this {}", cut.kept, cut.original, cut.kind));
    }
    let unnamed = meta.cuts.len().saturating_sub(CUTS_NAMED_MAX) as u64 + meta.cuts_unlisted;
    if unnamed > 0 {
        remarks.push(format!("cut: {unnamed} more places"));
    }
    let files = data.files.iter();
    remarks.extend(files.map(|it| format!("file: {} ({}, {} bytes)", it.file, in_one_line(&it.mime_type), it.bytes)));
    remarks.extend(data.artifact.iter().map(|path| format!("the whole result: {path}")));
    remarks
}

/// Parses a time with a unit, into milliseconds.
pub(super) fn milliseconds(text: &str, range: RangeInclusive<u64>) -> Result<u64, String> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        "d" => 24 * 3_600_000,
        _ => return Err("write a number and a unit, as 500ms, 30s, 2m, 6h or 1d".to_owned()),
    };
    let ms = number.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
    let (least, most) = (duration(*range.start()), duration(*range.end()));
    ms.filter(|ms| range.contains(ms)).ok_or_else(|| format!("it must be between {least} and {most}"))
}

/// Milliseconds in the largest unit that represents them exactly, as [`milliseconds`] parses them.
pub(super) fn duration(ms: u64) -> String {
    let units = [(24 * 3_600_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s")];
    let unit = units.into_iter().find(|(factor, _)| ms > 0 && ms.is_multiple_of(*factor));
    unit.map_or_else(|| format!("{ms}ms"), |(factor, unit)| format!("{}{unit}", ms / factor))
}

/// Formats rows as a table with aligned columns, one line per row. The first row is the header.
pub(super) fn table(rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<_>> = rows.iter().map(|row| row.iter().map(|cell| in_one_line(cell)).collect()).collect();
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<_> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in &rows {
        let cells: Vec<_> = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        line(&mut text, cells.join("  ").trim_end());
    }
    text
}

/// Milliseconds as a rounded duration in two units.
pub(super) fn about(ms: i64) -> String {
    match ms / 1_000 {
        s @ ..60 => format!("{s}s"),
        s @ 60..3_600 => format!("{}m{:02}s", s / 60, s % 60),
        s @ 3_600..86_400 => format!("{}h{:02}m", s / 3_600, s / 60 % 60),
        s => format!("{}d{:02}h", s / 86_400, s / 3_600 % 24),
    }
}

/// Milliseconds since the Unix epoch as a date and time (RFC 3339, UTC).
pub(super) fn time(ms: i64) -> String {
    let time = DateTime::from_timestamp_millis(ms).unwrap_or_default();
    time.to_rfc3339_opts(SecondsFormat::Millis, true)
}

/// The namespaces as TypeScript declarations.
pub(super) fn declarations(manifests: &[Manifest]) -> String {
    manifests.iter().map(Manifest::to_dts).collect::<Vec<_>>().join("\n")
}

/// The same declarations in the short form of a tool's description.
pub(super) fn brief_declarations(manifests: &[Manifest]) -> String {
    manifests.iter().map(Manifest::to_brief_dts).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_said_as_people_read_them() {
        assert_eq!(time(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(time(1_709_210_096_789), "2024-02-29T12:34:56.789Z");
        assert_eq!(time(-1), "1969-12-31T23:59:59.999Z");
        assert_eq!([0, 59_999, 61_000, 3_660_000, 90_000_000].map(about), ["0s", "59s", "1m01s", "1h01m", "1d01h"]);
        assert_eq!([1, 1_500, 60_000, 7_200_000, 86_400_000].map(duration), ["1ms", "1500ms", "1m", "2h", "1d"]);
    }

    #[test]
    fn columns_of_a_table_stand_below_each_other() {
        let rows = [["A", "B"], ["long", "x"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(table(&rows), "A     B\nlong  x\n");
    }

    #[test]
    fn no_text_of_others_makes_a_line_of_ours() {
        let log = |level, text: &str| console(&ConsoleLine { level, text: text.to_owned() });
        assert_eq!(log(Level::Log, "plain: text"), "plain: text");
        assert_eq!(log(Level::Info, "a\nerror SCRIPT_ERROR: b\nhint: c"), "a\n    error SCRIPT_ERROR: b\n    hint: c");
        for forged in ["error SCRIPT_ERROR: x", "hint: x", "warning: x", "\u{200b}hint: x", "the whole result: /x"] {
            assert_eq!(log(Level::Log, forged), format!("log: {forged}"));
        }
        let stack = "Error: a\n    at b\nhint: forged\nerror FORGED: c";
        let report = ErrorReport::new(codemode_spec::ErrorCode::ScriptError, "a\nhint: forged")
            .with_hint("Do this.\nerror FORGED: d")
            .with_detail("stack", stack);
        let shown = "error SCRIPT_ERROR: a\n    hint: forged\n    at b\n    hint: forged\n    error FORGED: c\n\
                     hint: Do this.\n    error FORGED: d\n";
        assert_eq!(error(&report), shown);
        let meta = Meta { warnings: vec!["a\nhint: b".to_owned()], ..Meta::default() };
        assert_eq!(remarks(&meta, &ExecutionData::default()), ["warning: a\n    hint: b"]);
        let rows = [["A", "B"], ["x\nhint: y", "\u{1b}"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(table(&rows).lines().count(), 2);
    }
}
