//! Snapshots: what a page shows, as an outline with refs, from the accessibility trees of its frames.
//!
//! The outline is made of what the browser tells assistive technology, so that it reaches through shadow roots, closed
//! ones too, and through frames, those of other processes too.

use crate::{
    locate::{Op, loader_in},
    outline::{self, Kind, Node, Options},
    refs::{Named, Owner},
    tab::Tab,
    target::Target,
    tree::{AxNode, AxTree, StyleSnapshot},
    world::Frame,
};
use codemode_spec::{
    ErrorCode, ErrorReport,
    limits::{SNAPSHOT_CHARS_DEFAULT, SNAPSHOT_CHARS_MAX, SNAPSHOT_FRAMES_MAX, SNAPSHOT_NODES_MAX},
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::{HashMap, HashSet};

/// What a snapshot shows.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Snapshot {
    /// Only what can be acted upon, as a list.
    pub interactive: bool,
    /// Without elements that only hold others.
    pub compact: bool,
    /// How many levels deep.
    pub depth: Option<u32>,
    /// How many characters.
    pub limit: Option<usize>,
    /// Only the lines that are not in the snapshot of the page before, and those that have gone.
    pub diff: bool,
}

/// A snapshot that was taken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outline {
    /// One line an element.
    pub text: String,
    /// How many elements there are, those that did not fit included.
    pub nodes: usize,
    /// Whether there are more than fit.
    pub truncated: bool,
}

/// What is read on the way through the frames.
struct Reading {
    frames_left: usize,
    nodes_left: usize,
}

impl Tab<'_> {
    /// Takes a snapshot of the page, or of what is in one element.
    ///
    /// # Errors
    /// As [`Tab::read`].
    pub async fn snapshot(&self, target: Option<&Target>, options: &Snapshot) -> Result<Outline, ErrorReport> {
        let mut reading = Reading { frames_left: SNAPSHOT_FRAMES_MAX, nodes_left: SNAPSHOT_NODES_MAX };
        let roots = match target {
            None => self.frame_nodes(&self.main_frame(), &[], None, &mut reading).await?,
            Some(target) => {
                let place = self.locate(target).await?;
                let kept = self.run_at(&place, "keep", json!({"strict": true, "timeout": null}), Op::Look).await?;
                let node = self.node_of(&place.frame, &kept["handle"]).await?["backendNodeId"].as_i64();
                self.frame_nodes(&place.frame, &[], node, &mut reading).await?
            }
        };
        let chars_max = options.limit.unwrap_or(SNAPSHOT_CHARS_DEFAULT).min(SNAPSHOT_CHARS_MAX);
        let shown = Options { interactive: options.interactive, compact: options.compact, depth: options.depth };
        let lines = outline::lines(&roots, shown);
        let nodes = lines.len();
        let text = lines.join("\n");
        let before = self.verbs.replace_snapshot(&self.id, &text);
        let text = match before.filter(|_| options.diff) {
            Some(before) => outline::diff(&before, &text),
            None => text,
        };
        Ok(fitted(text, nodes, chars_max))
    }

    /// The nodes of a frame, or of what is below one of its nodes, those of the frames in it included.
    async fn frame_nodes(
        &self,
        frame: &Frame,
        owners: &[Owner],
        below: Option<i64>,
        reading: &mut Reading,
    ) -> Result<Vec<Node>, ErrorReport> {
        let Some(left) = reading.frames_left.checked_sub(1) else { return Ok(Vec::new()) };
        reading.frames_left = left;
        let params = json!({"frameId": frame.id});
        let tree: AxTree = self.ask(&frame.target, "Accessibility.getFullAXTree", params).await?;
        let frames = self.send_to(&frame.target, "Page.getFrameTree", json!({})).await?;
        let params = json!({"computedStyles": ["cursor"]});
        let styles: StyleSnapshot = self.ask(&frame.target, "DOMSnapshot.captureSnapshot", params).await?;
        let pointers = styles.pointers();
        drop(styles);
        let document = loader_in(&frames["frameTree"], &frame.id).unwrap_or_default();
        let by_id: HashMap<&str, &AxNode> = tree.nodes.iter().map(|node| (node.node_id.as_str(), node)).collect();
        let root = match below {
            None => tree.nodes.first(),
            Some(below) => tree.nodes.iter().find(|node| node.backend == Some(below)),
        };
        let Some(root) = root else {
            return Err(ErrorReport::new(ErrorCode::ElementNotFound, "the element has no place in the snapshot")
                .with_hint("It may be hidden: take a snapshot of the page."));
        };
        let place = FramePlace { tab: self, frame, owners, document: &document, by_id: &by_id, pointers: &pointers };
        let mut made = place.nodes(root, reading, 0);
        // Frames are nested: only the outlines of those around are kept meanwhile.
        drop(by_id);
        drop(tree);
        for (path, owner) in std::mem::take(&mut made.frames) {
            if let Some(inner) = self.inner_frame(frame, owner).await? {
                let mut owners = owners.to_vec();
                owners.push(Owner { frame: frame.clone(), node: owner });
                let children = Box::pin(self.frame_nodes(&inner, &owners, None, reading)).await;
                // A frame that goes away while it is read has nothing in it.
                outline::put(&mut made.nodes, &path, children.unwrap_or_default());
            }
        }
        Ok(made.nodes)
    }

    /// The frame that an element owns.
    async fn inner_frame(&self, around: &Frame, owner: i64) -> Result<Option<Frame>, ErrorReport> {
        let described = self.send_to(&around.target, "DOM.describeNode", json!({"backendNodeId": owner})).await;
        let id = described.ok().and_then(|node| node["node"]["frameId"].as_str().map(str::to_owned));
        Ok(id.map(|id| self.frame_of(around, &id)))
    }
}

/// A frame whose tree is made an outline.
struct FramePlace<'f> {
    tab: &'f Tab<'f>,
    frame: &'f Frame,
    owners: &'f [Owner],
    document: &'f str,
    by_id: &'f HashMap<&'f str, &'f AxNode>,
    pointers: &'f HashSet<i64>,
}

/// Nodes, and where in them the frames are whose documents are still to be read, with their owners.
#[derive(Default)]
struct Made {
    nodes: Vec<Node>,
    frames: Vec<(Vec<usize>, i64)>,
}

impl Made {
    fn add(&mut self, other: Self) {
        let offset = self.nodes.len();
        self.nodes.extend(other.nodes);
        self.frames.extend(other.frames.into_iter().map(|(mut path, owner)| {
            path[0] += offset;
            (path, owner)
        }));
    }
}

/// Deeper trees are cut: a page decides how deep they are.
const DEPTH_MAX: usize = 400;

impl FramePlace<'_> {
    /// The nodes that an accessibility node becomes: itself, or what is in it.
    fn nodes(&self, node: &AxNode, reading: &mut Reading, depth: usize) -> Made {
        if depth > DEPTH_MAX || reading.nodes_left == 0 {
            return Made::default();
        }
        reading.nodes_left -= 1;
        let mut inside = Made::default();
        for id in &node.child_ids {
            if let Some(child) = self.by_id.get(id.as_str()) {
                inside.add(self.nodes(child, reading, depth + 1));
            }
        }
        let (role, backend) = (node.role(), node.backend);
        let has_hand = backend.is_some_and(|backend| self.pointers.contains(&backend));
        let kind = match (node.ignored, Kind::of(role)) {
            (_, Kind::Left) => return Made::default(),
            (true, _) | (_, Kind::Holder) if has_hand => Kind::Clickable,
            (true, _) | (_, Kind::Holder) => return inside,
            (_, kind) => kind,
        };
        let name = squeezed(node.name());
        if kind == Kind::Text {
            return Made { nodes: vec![Node::text(name)], frames: Vec::new() };
        }
        let shown = match (kind, role) {
            (Kind::Clickable, "" | "none" | "generic") => "generic",
            (_, "Iframe" | "IframePresentational") => "iframe",
            (_, role) => role,
        };
        let gets_ref = kind.gets_ref(!name.is_empty());
        let reference = backend.filter(|_| gets_ref).map(|backend| self.give(backend, role, &name));
        let properties = properties(node);
        let mut made = Node {
            role: shown.to_owned(),
            name,
            states: properties.states,
            value: squeezed(&node.value()),
            url: properties.url.filter(|_| role == "link"),
            reference,
            has_hand,
            is_interactive: kind.is_interactive(),
            children: inside.nodes,
        };
        // Not where frames are to be put: their places are counted.
        if inside.frames.is_empty() {
            made.drop_echo();
        }
        let mut frames: Vec<(Vec<usize>, i64)> =
            inside.frames.into_iter().map(|(path, owner)| ([vec![0], path].concat(), owner)).collect();
        if shown == "iframe"
            && let Some(backend) = backend
        {
            frames.push((vec![0], backend));
        }
        Made { nodes: vec![made], frames }
    }

    fn give(&self, node: i64, role: &str, name: &str) -> String {
        self.tab.verbs.refs().give(Named {
            page: self.tab.id.clone(),
            frame: self.frame.clone(),
            document: self.document.to_owned(),
            node,
            role: role.to_owned(),
            name: name.to_owned(),
            owners: self.owners.to_vec(),
        })
    }
}

struct Properties {
    states: Vec<String>,
    url: Option<String>,
}

/// The states that an outline tells.
fn properties(node: &AxNode) -> Properties {
    let mut found = Properties { states: Vec::new(), url: None };
    for property in &node.properties {
        let value = &property.value.value;
        let is_on = *value == true || *value == "true";
        match property.name.as_str() {
            name @ ("disabled" | "required" | "selected" | "expanded" | "focused") if is_on => {
                found.states.push(name.to_owned())
            }
            name @ ("checked" | "pressed") if is_on => found.states.push(name.to_owned()),
            name @ ("checked" | "pressed") if *value == "mixed" => found.states.push(format!("{name}=mixed")),
            // How deep a list is, its lines show.
            "level" if node.role() != "listitem" => {
                found.states.extend(value.as_i64().map(|level| format!("level={level}")))
            }
            "invalid" if value.as_str().is_some_and(|value| value != "false") => {
                found.states.push("invalid".to_owned())
            }
            "url" => found.url = value.as_str().map(str::to_owned),
            _ => {}
        }
    }
    found
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The text within its bound, cut between lines; the last line says how to read on.
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
