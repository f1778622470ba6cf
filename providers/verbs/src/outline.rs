//! Formats the outline of a page as the lines of a snapshot: `- role "name" [state] [ref=e5]: text`, indented by two
//! spaces per level.

use serde::Deserialize;
use std::collections::HashMap;

/// An element or a text of a page, as the in-page engine reports them: in document order, with the nesting level.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Line {
    pub(crate) level: usize,
    pub(crate) role: String,
    /// The accessible name; for a text, the text itself.
    pub(crate) name: String,
    /// Such as `checked` or `level=2`.
    states: Vec<String>,
    /// The value of a field, or the only text of an element.
    value: String,
    /// Such as the `url` of a link.
    props: Vec<(String, String)>,
    /// The index of the element in the engine's list, if it gets a ref.
    pub(crate) element: Option<usize>,
    /// Whether the mouse cursor is a hand over it.
    hand: bool,
    /// Whether it can be acted upon.
    acts: bool,
    /// Whether it owns a frame.
    pub(crate) frame: bool,
    #[serde(skip)]
    pub(crate) reference: Option<String>,
}

/// Which lines of an outline are written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    pub(crate) interactive: bool,
    pub(crate) compact: bool,
    pub(crate) depth: Option<u32>,
}

impl Options {
    fn leaves_out(self, line: &Line) -> bool {
        (self.interactive && !line.acts) || (self.compact && !line.has_content())
    }
}

impl Line {
    /// The line, nested this many levels deeper.
    pub(crate) fn within(mut self, levels: usize) -> Self {
        self.level += levels;
        self
    }

    fn is_text(&self) -> bool {
        self.role == "text"
    }

    /// The text of the line after the dash.
    fn label(&self) -> String {
        let mut words = self.role.clone();
        if !self.name.is_empty() {
            words.push(' ');
            words.push_str(&serde_json::Value::from(self.name.as_str()).to_string());
        }
        for state in &self.states {
            words.push_str(&format!(" [{state}]"));
        }
        if let Some(reference) = &self.reference {
            words.push_str(&format!(" [ref={reference}]"));
        }
        if self.hand {
            words.push_str(" [cursor=pointer]");
        }
        words
    }

    /// Whether a compact outline has a line for it.
    fn has_content(&self) -> bool {
        self.is_text() || self.reference.is_some() || !self.name.is_empty() || !self.value.is_empty()
    }
}

/// An element whose line is written, while its children are written.
struct OpenElement {
    level: usize,
    shown: usize,
    line: usize,
    has_colon: bool,
}

/// The lines of an outline. The children of an element that is left out take its place.
pub(crate) fn lines(outline: &[Line], options: Options) -> Vec<String> {
    let mut written: Vec<String> = Vec::new();
    let mut around: Vec<OpenElement> = Vec::new();
    for line in outline {
        while around.last().is_some_and(|around| around.level >= line.level) {
            around.pop();
        }
        let shown = around.last().map_or(0, |around| around.shown + 1);
        if options.leaves_out(line) || options.depth.is_some_and(|depth| shown >= depth as usize) {
            continue;
        }
        if let Some(around) = around.last_mut().filter(|around| !around.has_colon && !options.interactive) {
            written[around.line].push(':');
            around.has_colon = true;
        }
        let indent = "  ".repeat(if options.interactive { 0 } else { shown });
        if line.is_text() {
            written.push(format!("{indent}- text: {}", line.name));
            continue;
        }
        let has_colon = !line.value.is_empty() || !line.props.is_empty();
        around.push(OpenElement { level: line.level, shown, line: written.len(), has_colon });
        let value = if line.value.is_empty() { String::new() } else { format!(" {}", line.value) };
        let colon = if has_colon { ":" } else { "" };
        written.push(format!("{indent}- {}{colon}{value}", line.label()));
        for (name, text) in &line.props {
            written.push(format!("{indent}  - /{name}: {text}"));
        }
    }
    written
}

/// The lines that were added, marked with a plus, and those that were removed, marked with a minus.
pub(crate) fn diff(before: &str, now: &str) -> String {
    let mut known: HashMap<&str, usize> = HashMap::new();
    for line in before.lines() {
        *known.entry(line.trim_start()).or_default() += 1;
    }
    let mut changes = Vec::new();
    for line in now.lines() {
        match known.get_mut(line.trim_start()) {
            Some(count) if *count > 0 => *count -= 1,
            _ => changes.push(format!("+ {line}")),
        }
    }
    for line in before.lines() {
        if let Some(count) = known.get_mut(line.trim_start()).filter(|count| **count > 0) {
            *count -= 1;
            changes.push(format!("- {line}"));
        }
    }
    if changes.is_empty() { "(nothing has changed)".to_owned() } else { changes.join("\n") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn page() -> Vec<Line> {
        let told = json!([
            {"level": 0, "role": "link", "name": "Home", "props": [["url", "/home"]], "element": 0, "acts": true},
            {"level": 0, "role": "textbox", "name": "User", "value": "ada:", "states": ["required"], "element": 1, "acts": true},
            {"level": 0, "role": "list"},
            {"level": 1, "role": "listitem", "value": "one"},
            {"level": 1, "role": "listitem"},
            {"level": 2, "role": "text", "name": "two"},
            {"level": 2, "role": "button", "name": "A \"b\"", "element": 2, "acts": true, "hand": true},
            {"level": 0, "role": "paragraph", "value": "end"},
        ]);
        let mut lines: Vec<Line> = serde_json::from_value(told).unwrap();
        for line in &mut lines {
            line.reference = line.element.map(|element| format!("e{element}"));
        }
        lines
    }

    #[test]
    fn an_outline_becomes_lines() {
        let whole = [
            "- link \"Home\" [ref=e0]:",
            "  - /url: /home",
            "- textbox \"User\" [required] [ref=e1]: ada:",
            "- list:",
            "  - listitem: one",
            "  - listitem:",
            "    - text: two",
            "    - button \"A \\\"b\\\"\" [ref=e2] [cursor=pointer]",
            "- paragraph: end",
        ];
        assert_eq!(lines(&page(), Options::default()), whole);
        let interactive = Options { interactive: true, ..Options::default() };
        assert_eq!(lines(&page(), interactive), [whole[0], whole[1], whole[2], whole[7].trim_start()]);
        let compact = Options { compact: true, ..Options::default() };
        assert_eq!(lines(&page(), compact)[3..], ["- listitem: one", "- text: two", whole[7].trim_start(), whole[8]]);
        let shallow = Options { depth: Some(2), ..Options::default() };
        assert_eq!(lines(&page(), shallow)[3..], [whole[3], whole[4], "  - listitem", whole[8]]);
    }

    #[test]
    fn a_difference_tells_what_came_and_what_went() {
        assert_eq!(diff("- a\n- b\n  - c", "- a\n  - b\n- d\n- a"), "+ - d\n+ - a\n-   - c");
        assert_eq!(diff("- a", "- a"), "(nothing has changed)");
    }
}
