//! What snapshots are made of, as the browser tells it: read as types, so that of a large page only that is kept.

use serde::Deserialize;
use serde_json::Value as Json;
use std::collections::HashSet;

/// The accessibility tree of a frame.
#[derive(Default, Deserialize)]
pub(crate) struct AxTree {
    pub(crate) nodes: Vec<AxNode>,
}

/// A node of it.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct AxNode {
    pub(crate) node_id: String,
    pub(crate) ignored: bool,
    role: AxText,
    name: AxText,
    value: AxText,
    pub(crate) properties: Vec<AxProperty>,
    pub(crate) child_ids: Vec<String>,
    #[serde(rename = "backendDOMNodeId")]
    pub(crate) backend: Option<i64>,
}

impl AxNode {
    pub(crate) fn role(&self) -> &str {
        self.role.text()
    }

    pub(crate) fn name(&self) -> &str {
        self.name.text()
    }

    /// What is in a field; numbers are texts here.
    pub(crate) fn value(&self) -> String {
        match &self.value.value {
            Json::String(text) => text.clone(),
            Json::Number(number) => number.to_string(),
            _ => String::new(),
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct AxText {
    value: Json,
}

impl AxText {
    fn text(&self) -> &str {
        self.value.as_str().unwrap_or_default()
    }
}

/// A property of a node.
#[derive(Deserialize)]
pub(crate) struct AxProperty {
    pub(crate) name: String,
    pub(crate) value: AxValue,
}

/// Its value. Lists of related nodes are not read.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct AxValue {
    pub(crate) value: Json,
}

/// A snapshot of the styles of a process's documents.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct StyleSnapshot {
    documents: Vec<StyleDocument>,
    strings: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct StyleDocument {
    nodes: StyleNodes,
    layout: StyleLayout,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct StyleNodes {
    parent_index: Vec<i64>,
    backend_node_id: Vec<i64>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct StyleLayout {
    node_index: Vec<i64>,
    styles: Vec<Vec<i64>>,
}

impl StyleSnapshot {
    /// The nodes that give the mouse the form of a hand, by their backend ids: not those in them, which inherit it.
    pub(crate) fn pointers(&self) -> HashSet<i64> {
        let mut pointers = HashSet::new();
        let Some(pointer) = self.strings.iter().position(|text| text == "pointer") else { return pointers };
        for document in &self.documents {
            let StyleDocument { nodes, layout } = document;
            let with_hand: HashSet<i64> = layout
                .styles
                .iter()
                .zip(&layout.node_index)
                .filter(|(style, _)| style.first().is_some_and(|cursor| *cursor == pointer as i64))
                .map(|(_, node)| *node)
                .collect();
            for node in &with_hand {
                let Ok(at) = usize::try_from(*node) else { continue };
                let is_inherited = nodes.parent_index.get(at).is_some_and(|parent| with_hand.contains(parent));
                if let (false, Some(id)) = (is_inherited, nodes.backend_node_id.get(at)) {
                    pointers.insert(*id);
                }
            }
        }
        pointers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_hand_is_told_of_the_outermost_element_that_has_it() {
        let snapshot: StyleSnapshot = serde_json::from_value(json!({
            "strings": ["auto", "pointer"],
            "documents": [{
                "nodes": {"parentIndex": [-1, 0, 1, 0], "backendNodeId": [10, 11, 12, 13]},
                "layout": {"nodeIndex": [0, 1, 2, 3], "styles": [[0], [1], [1], [0]]},
            }],
        }))
        .unwrap();
        assert_eq!(snapshot.pointers(), HashSet::from([11]));
        assert!(StyleSnapshot::default().pointers().is_empty());
    }
}
