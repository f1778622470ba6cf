//! Snapshots: the page's content as an outline with refs, combined from the outlines of its frames.
//!
//! The in-page engine outlines one document by its accessibility roles and names, including closed shadow roots; the
//! outlines of frames, including out-of-process ones, are combined here.

use crate::{
    locate::{Op, Place},
    outline::{self, Line, Options},
    state::{
        refs::{Owner, RefTarget},
        worlds::Frame,
    },
    tab::Tab,
    target::Target,
    world::{ClosedRoots, NodeId},
};
use codemode_spec::{
    ErrorCode, ErrorReport,
    limits::{SNAPSHOT_CHARS_DEFAULT, SNAPSHOT_CHARS_MAX, SNAPSHOT_FRAMES_MAX, SNAPSHOT_NODES_MAX},
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::HashMap;

/// A range of the elements of an outline.
const OUTLINED: &str = "function(outline, from, to) { return this.outlined(outline, from, to); }";
/// The number of elements that are requested at once.
const ELEMENTS_AT_ONCE: usize = 2_000;

/// What a snapshot shows.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Snapshot {
    /// Only what can be acted upon, as a list.
    pub interactive: bool,
    /// Without elements that only hold others.
    pub compact: bool,
    /// How many levels deep; all of them if it is not given.
    pub depth: Option<u32>,
    /// How many characters; 20,000 if it is not given, and at most 400,000.
    pub limit: Option<usize>,
    /// Only the lines that are not in the snapshot of the page before, and those that have gone.
    pub diff: bool,
}

/// A finished snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outline {
    /// One line per element.
    pub text: String,
    /// The number of lines, including those that did not fit.
    pub nodes: usize,
    /// Whether lines were left out.
    pub truncated: bool,
}

/// The state of a traversal through the frames.
struct Reading {
    frames_left: usize,
    nodes_left: usize,
    /// The closed shadow roots of each target, which the frames of one process share.
    closed_roots: HashMap<String, ClosedRoots>,
}

impl Tab<'_> {
    /// Takes a snapshot of the page or of one element.
    ///
    /// # Errors
    /// As [`Tab::read`].
    pub async fn snapshot(&self, target: Option<&Target>, options: &Snapshot) -> Result<Outline, ErrorReport> {
        let (frames_left, nodes_left) = (SNAPSHOT_FRAMES_MAX, SNAPSHOT_NODES_MAX);
        let mut reading = Reading { frames_left, nodes_left, closed_roots: HashMap::new() };
        let (place, timeout) = match target {
            None => (Place::new(self.main_frame(), Vec::new(), "the page".to_owned()), json!(0)),
            Some(target) => (self.locate(target).await?, json!(null)),
        };
        let outline = self.outline(&place, &timeout, &[], &mut reading).await?;
        if outline.is_empty() && target.is_some() {
            return Err(ErrorReport::new(ErrorCode::ElementNotFound, format!("{} shows nothing", place.description))
                .with_hint("It may be hidden, or empty: take a snapshot of the page."));
        }
        let chars_max = options.limit.unwrap_or(SNAPSHOT_CHARS_DEFAULT).min(SNAPSHOT_CHARS_MAX);
        let shown = Options { interactive: options.interactive, compact: options.compact, depth: options.depth };
        let lines = outline::lines(&outline, shown);
        let nodes = lines.len();
        let text = lines.join("\n");
        let before = self.verbs.replace_snapshot(&self.id, &text);
        let text = match before.filter(|_| options.diff) {
            Some(before) => outline::diff(&before, &text),
            None => text,
        };
        Ok(fitted(text, nodes, chars_max))
    }

    /// The outline of a place, including those of the frames in it.
    async fn outline(
        &self,
        place: &Place,
        timeout: &serde_json::Value,
        owners: &[Owner],
        reading: &mut Reading,
    ) -> Result<Vec<Line>, ErrorReport> {
        let Some(left) = reading.frames_left.checked_sub(1) else { return Ok(Vec::new()) };
        reading.frames_left = left;
        let target = &place.frame.target;
        if !reading.closed_roots.contains_key(target) {
            reading.closed_roots.insert(target.clone(), self.closed_roots(target).await?);
        }
        self.adopt_closed_roots(&place.frame, &reading.closed_roots[target]).await?;
        let args = json!({"strict": true, "timeout": timeout, "limit": reading.nodes_left});
        let answer = self.run_at(place, "outline", args, Op::Look).await?;
        let told = answer["lines"].as_str().unwrap_or_default();
        let mut lines: Vec<Line> = serde_json::from_str(told)
            .map_err(|error| ErrorReport::new(ErrorCode::HostFault, format!("the outline of a page: {error}")))?;
        reading.nodes_left = reading.nodes_left.saturating_sub(lines.len());
        let elements = self.outlined(&place.frame, &answer).await?;
        for line in &mut lines {
            let Some(element) = element_of(line, &elements) else { continue };
            line.reference = Some(self.verbs.refs().assign(RefTarget {
                page: self.id.clone(),
                frame: place.frame.clone(),
                document: element.document.clone(),
                node: element.backend,
                role: line.role.clone(),
                name: line.name.clone(),
                owners: owners.to_vec(),
            }));
        }
        let mut whole = Vec::with_capacity(lines.len());
        for line in lines {
            let owner = element_of(&line, &elements).filter(|_| line.frame);
            let level = line.level + 1;
            whole.push(line);
            let Some(owner) = owner else { continue };
            // A frame that is detached while it is read counts as empty.
            let inner = Box::pin(self.inner_outline(&place.frame, owner.backend, owners, reading)).await;
            let inner = inner.unwrap_or_default();
            whole.extend(inner.into_iter().map(|line| line.within(level)));
        }
        Ok(whole)
    }

    /// The outline of the frame that an element owns.
    async fn inner_outline(
        &self,
        around: &Frame,
        owner: i64,
        owners: &[Owner],
        reading: &mut Reading,
    ) -> Result<Vec<Line>, ErrorReport> {
        let described = self.send_to(&around.target, "DOM.describeNode", json!({"backendNodeId": owner})).await?;
        let Some(id) = described["node"]["frameId"].as_str() else { return Ok(Vec::new()) };
        let place = Place::new(self.frame_of(around, id), Vec::new(), "the frame".to_owned());
        let owners = [owners, &[Owner { frame: around.clone(), node: owner }]].concat();
        self.outline(&place, &json!(0), &owners, reading).await
    }

    /// Identifies the elements of an outline. A page may make its elements so large that few of them fit into one
    /// answer: then smaller ranges are requested.
    async fn outlined(&self, frame: &Frame, answer: &serde_json::Value) -> Result<Vec<NodeId>, ErrorReport> {
        let count = answer["elements"].as_u64().unwrap_or_default() as usize;
        let mut elements = Vec::with_capacity(count);
        let mut at_once = ELEMENTS_AT_ONCE;
        while elements.len() < count {
            let to = (elements.len() + at_once).min(count);
            let arguments = json!([{"value": answer["handle"]}, {"value": elements.len()}, {"value": to}]);
            match self.nodes(frame, OUTLINED, arguments).await {
                Ok(found) if found.is_empty() => break,
                Ok(found) => elements.extend(found),
                Err(error) if error.code == ErrorCode::ResultTooLarge && at_once > 1 => at_once = (at_once / 8).max(1),
                // The element is listed without a ref.
                Err(error) if error.code == ErrorCode::ResultTooLarge => elements.push(NodeId::default()),
                Err(error) => return Err(error),
            }
        }
        Ok(elements)
    }
}

/// The element of a line, if the browser has identified it.
fn element_of<'e>(line: &Line, elements: &'e [NodeId]) -> Option<&'e NodeId> {
    elements.get(line.element?).filter(|element| element.backend != 0)
}

/// Limits the text, cut between lines; the last line says how to see the rest.
fn fitted(text: String, nodes: usize, chars_max: usize) -> Outline {
    if text.chars().count() <= chars_max {
        return Outline { text, nodes, truncated: false };
    }
    let mut kept = String::new();
    let mut chars = 0;
    let mut lines = 0;
    for line in text.lines() {
        chars += line.chars().count() + 1;
        if chars > chars_max {
            break;
        }
        kept.push_str(line);
        kept.push('\n');
        lines += 1;
    }
    let left = text.lines().count() - lines;
    kept.push_str(&format!(
        "… {left} more lines: take a snapshot of a part with {{target: \"@e…\"}}, {{interactive: true}}, or a larger {{limit}}"
    ));
    Outline { text: kept, nodes, truncated: true }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_cut_between_lines_and_told() {
        let text = (0..100).map(|number| format!("- text: {number}")).collect::<Vec<_>>().join("\n");
        let whole = fitted(text.clone(), 100, 10_000);
        assert_eq!((whole.text.as_str(), whole.truncated), (text.as_str(), false));
        let cut = fitted(text, 100, 25);
        assert!(cut.text.starts_with("- text: 0\n- text: 1\n… 98 more lines"), "{}", cut.text);
        assert!(cut.truncated && cut.nodes == 100);
    }
}
