//! How hints of the shared browser come to name a namespace.
//!
//! This crate knows what a script should do next, but not by which namespace it does so. Where a hint asks for a step,
//! it has a mark in its place, as `⟦send "Page.reload", {}, {sessionId}⟧`: the step and its arguments. Each namespace
//! writes the marks in its own words before it answers.

use codemode_spec::ErrorReport;

const OPEN: char = '⟦';
const CLOSE: char = '⟧';

/// What a hint can ask a script to do.
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
    /// Look a name up in the protocol's own description.
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

/// The report with its hint in the words of a namespace: `write` gets each step and the arguments that it is asked
/// with, as JavaScript.
#[must_use]
pub fn worded(mut report: ErrorReport, write: &dyn Fn(Step, &str) -> String) -> ErrorReport {
    if report.hint.contains(OPEN) {
        report.hint = written(&report.hint, write);
    }
    report
}

fn written(hint: &str, write: &dyn Fn(Step, &str) -> String) -> String {
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
            assert_eq!(written(hint, &write), expected);
        }
    }

    /// A mark of a step that there is not would be shown to a model as it stands.
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
