//! Finds the code in a model's text: all of it, or the content of a Markdown fence.

use std::ops::Range;

/// The location of the code.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Located {
    /// The byte range of the code.
    Code(Range<usize>),
    /// There are several fences, and it is unclear which is meant. The byte offset of the second one.
    Several(usize),
}

/// A fence of three or more backticks or tildes, on a separate line or, in the lenient mode, after prose.
#[derive(Debug)]
struct Fence {
    begin: usize,
    inside: Range<usize>,
    script: bool,
}

/// Finds the code. A fence that might be part of the code, such as tildes in the middle or a fence in a comment, counts
/// only if `lenient`: that is the second attempt, when the whole text is not a script.
pub(super) fn locate(text: &str, lenient: bool) -> Located {
    let start = if text.starts_with('\u{FEFF}') { '\u{FEFF}'.len_utf8() } else { 0 };
    let fences = fences(text, start, lenient);
    let scripts: Vec<_> = fences.iter().filter(|fence| fence.script).collect();
    let range = match (&fences[..], &scripts[..]) {
        ([], _) => start..text.len(),
        ([fence], _) => fence.inside.clone(),
        (_, [script]) => script.inside.clone(),
        ([_, second, ..], _) => return Located::Several(second.begin),
    };
    Located::Code(past_hashbang(text, range))
}

fn past_hashbang(text: &str, range: Range<usize>) -> Range<usize> {
    if !text[range.clone()].starts_with("#!") {
        return range;
    }
    let length = text[range.clone()].find(['\n', '\r']).unwrap_or(range.len());
    range.start + length..range.end
}

fn fences(text: &str, start: usize, lenient: bool) -> Vec<Fence> {
    let mut fences = Vec::new();
    let mut at = start;
    let mut comment = false;
    let mut blank = true;
    while at < text.len() {
        let end = text[at..].find('\n').map_or(text.len(), |length| at + length + 1);
        let line = &text[at..end];
        let first = blank;
        blank &= line.trim().is_empty();
        let marker = opening(line, first || lenient).or_else(|| if lenient { glued(line) } else { None });
        match marker {
            Some(marker) if !comment || lenient => {
                let fence = read(text, at, end, marker);
                at = fence.inside.end;
                // Skip the closing line.
                at = text[at..].find('\n').map_or(text.len(), |length| at + length + 1).max(end);
                fences.push(fence);
            }
            _ => {
                comment = in_comment(line, comment);
                at = end;
            }
        }
    }
    fences
}

/// The fence's characters, if the line opens a fence. No line of a script can begin with three backticks, but one may
/// begin with three tildes.
fn opening(line: &str, tildes: bool) -> Option<&str> {
    let line = line.trim_start();
    let mark = line.chars().next().filter(|mark| *mark == '`' || *mark == '~' && tildes)?;
    let length = line.len() - line.trim_start_matches(mark).len();
    (length >= 3).then(|| &line[..length])
}

/// The backticks of a fence that starts after prose, as in "Sure! ```js": only a language may follow.
fn glued(line: &str) -> Option<&str> {
    let ticks = &line[line.find("```")?..];
    let after = ticks.trim_start_matches('`');
    let word = after.trim();
    (word.is_empty() || is_script(word)).then(|| &ticks[..ticks.len() - after.len()])
}

/// Whether a block comment is open at the end of the line.
fn in_comment(line: &str, mut comment: bool) -> bool {
    let mut rest = line;
    while let Some(at) = rest.find(if comment { "*/" } else { "/*" }) {
        rest = &rest[at + 2..];
        comment = !comment;
    }
    comment
}

/// Reads the fence that the line opens.
fn read(text: &str, begin: usize, line_end: usize, marker: &str) -> Fence {
    let after = begin + text[begin..].find(marker).unwrap_or(0) + marker.len();
    let info = text[after..line_end].trim_end();
    // Opened and closed on the same line.
    if let Some(inside) = info.strip_suffix(marker) {
        let word = inside.split(char::is_whitespace).next().unwrap_or_default();
        let named = is_script(word) && word.len() < inside.len();
        let skip = if named { word.len() } else { 0 };
        return Fence { begin, inside: after + skip..after + inside.len(), script: true };
    }
    let language = info.trim().trim_start_matches('{').split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let script = is_script(language);
    let mark = if marker.starts_with('~') { '~' } else { '`' };
    let mut at = line_end;
    while at < text.len() {
        let end = text[at..].find('\n').map_or(text.len(), |length| at + length + 1);
        let line = text[at..end].trim();
        if line.len() >= marker.len() && line.trim_matches(mark).is_empty() {
            return Fence { begin, inside: line_end..at, script };
        }
        at = end;
    }
    // Not closed, or closed at the end of the last line.
    let rest = text[line_end..].trim_end();
    let inside = rest.strip_suffix(marker).map_or(text.len(), |code| line_end + code.len());
    Fence { begin, inside: line_end..inside.max(line_end), script }
}

fn is_script(language: &str) -> bool {
    const LANGUAGES: &[&str] =
        &["js", "javascript", "mjs", "cjs", "jsx", "ts", "typescript", "mts", "cts", "tsx", "ecmascript", "node"];
    LANGUAGES.iter().any(|known| known.eq_ignore_ascii_case(language))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str, lenient: bool) -> &str {
        match locate(text, lenient) {
            Located::Code(range) => &text[range],
            Located::Several(_) => "SEVERAL",
        }
    }

    #[test]
    fn code_is_found_in_its_wrappings() {
        let rows = [
            ("1 + 1", "1 + 1"),
            ("\u{FEFF}1", "1"),
            ("#!/usr/bin/env node\n1", "\n1"),
            ("```js\n1\n```", "1\n"),
            ("```\n1\n```", "1\n"),
            ("```javascript\r\n1\r\n```\r\n", "1\r\n"),
            ("```js title=\"x.js\" {1,2}\n1\n```", "1\n"),
            ("```python\n1\n```", "1\n"),
            ("```js\n1", "1"),
            ("```js\n1```", "1"),
            ("```js 1 + 1```", " 1 + 1"),
            ("```1 + 1```", "1 + 1"),
            ("````js\n1\n```\n2\n````", "1\n```\n2\n"),
            ("~~~\n1\n~~~", "1\n"),
            ("~~~ts\n1", "1"),
            ("  ```js\n  1\n  ```", "  1\n"),
            ("Here is it, don't worry:\n\n```js\n1\n```\nThat's `all`.", "1\n"),
            ("Code:\n```js\n1\n```", "1\n"),
            ("```js\n#!x\n1\n```", "\n1\n"),
            ("```json\n{}\n```\nthen\n```ts\n1\n```", "1\n"),
            ("```\n1\n```\n```\n2\n```", "SEVERAL"),
            ("```js\n1\n```\nor\n```js\n2\n```", "SEVERAL"),
            ("```js\n```", ""),
            ("```", ""),
            // Code that only looks like a fence.
            ("x = `\n\\`\\`\\`js\n1\n\\`\\`\\`\n`", "x = `\n\\`\\`\\`js\n1\n\\`\\`\\`\n`"),
            ("f(`\n~~~js\n1\n~~~\n`)", "f(`\n~~~js\n1\n~~~\n`)"),
            ("/*\n```js\n1\n```\n*/ 2", "/*\n```js\n1\n```\n*/ 2"),
            ("/** `a` */ 1 // ```js", "/** `a` */ 1 // ```js"),
        ];
        for (text, expected) in rows {
            assert_eq!(code(text, false), expected, "{text:?}");
        }
        assert_eq!(code("So:\n~~~js\n1\n~~~\n", true), "1\n");
        assert_eq!(code("Sure! ```js\n1\n```\nThat's it.", true), "1\n");
        assert_eq!(code("Sure: `f()` it is. ```\n1\n``` Done.", true), "1\n``` Done.");
        assert_eq!(code("f(`a```b`)", true), "f(`a```b`)");
        assert_eq!(code("All in src/*:\n```js\n1\n```", true), "1\n");
    }

    #[test]
    fn hostile_fences_take_linear_time() {
        for piece in ["```\n", "~~~\n", "```js\n1\n", "`````\n", "/*\n", "\n", "``` ```\n"] {
            let text = piece.repeat(200_000);
            locate(&text, false);
            locate(&text, true);
        }
    }
}
