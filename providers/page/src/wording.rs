//! Hints of the shared browser, with placeholders for the methods of a namespace.
//!
//! This crate knows what a script should do next, but not the method by which a given namespace does it. A hint
//! therefore contains a placeholder for each step, such as `⟦send "Page.reload", {}, {sessionId}⟧`: the step and its
//! arguments. Each namespace replaces the placeholders with calls of its own methods before it answers.

use codemode_spec::ErrorReport;

const OPEN: char = '⟦';
const CLOSE: char = '⟧';

/// A step that a hint can recommend to a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Send a command of the protocol.
    Send,
    /// Attach to a page.
    Attach,
    /// List the targets.
    Targets,
    /// Read events.
    Events,
    /// Look a name up in the browser's description of its protocol.
    Describe,
    /// Keep the browser as the shared one of its key.
    Start,
}

impl Step {
    const ALL: [(&'static str, Self); 6] = [
        ("send", Self::Send),
        ("attach", Self::Attach),
        ("targets", Self::Targets),
        ("events", Self::Events),
        ("describe", Self::Describe),
        ("start", Self::Start),
    ];

    fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, step)| *step)
    }
}

/// Replaces the placeholders in a report's hint: `write` renders a step with its arguments, which are JavaScript, as a
/// call of the namespace.
#[must_use]
pub fn worded(mut report: ErrorReport, write: &dyn Fn(Step, &str) -> String) -> ErrorReport {
    if report.hint.contains(OPEN) {
        report.hint = render(&report.hint, write);
    }
    report
}

fn render(hint: &str, write: &dyn Fn(Step, &str) -> String) -> String {
    let mut text = String::new();
    let mut rest = hint;
    while let Some((before, marked)) = rest.split_once(OPEN) {
        let Some((mark, after)) = marked.split_once(CLOSE) else { break };
        let (name, arguments) = mark.split_once(' ').unwrap_or((mark, ""));
        text.push_str(before);
        match Step::named(name) {
            Some(step) => text.push_str(&write(step, arguments)),
            None => text.push_str(mark),
        }
        rest = after;
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_become_the_words_of_a_namespace() {
        let write = |step: Step, arguments: &str| format!("my.{step:?}({arguments})");
        for (hint, expected) in [
            ("Go on.", "Go on."),
            ("⟦attach⟧, then ⟦send \"A.b\", {url}⟧.", "my.Attach(), then my.Send(\"A.b\", {url})."),
            ("⟦events {names}⟧", "my.Events({names})"),
            ("⟦unknown x⟧ and ⟦open", "unknown x and ⟦open"),
        ] {
            assert_eq!(render(hint, &write), expected);
        }
    }

    /// A placeholder of an unknown step would reach a model unrendered.
    #[test]
    fn every_mark_in_this_crate_is_a_step() {
        let mut seen = 0;
        let mut folders = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if !path.ends_with("wording.rs") {
                    let text = std::fs::read_to_string(&path).unwrap();
                    for mark in text.split(OPEN).skip(1) {
                        let name = mark.split([' ', CLOSE]).next().unwrap();
                        assert!(Step::named(name).is_some(), "{}: {name}", path.display());
                        seen += 1;
                    }
                }
            }
        }
        assert!(seen > 15, "{seen} marks");
    }
}
