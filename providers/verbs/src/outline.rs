//! From nodes to the lines of a snapshot: `- role "name" [state] [ref=e5]: text`, two blanks a level.

use std::collections::HashMap;

/// An element of a page, as assistive technology knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) role: String,
    pub(crate) name: String,
    /// As `checked` or `level=2`.
    pub(crate) states: Vec<String>,
    /// What is in a field.
    pub(crate) value: String,
    /// Where a link leads.
    pub(crate) url: Option<String>,
    pub(crate) reference: Option<String>,
    /// The mouse becomes a hand over it.
    pub(crate) has_hand: bool,
    pub(crate) is_interactive: bool,
    pub(crate) children: Vec<Node>,
}

/// What a role means for an outline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Something to act upon.
    Interactive,
    /// Content that is worth a ref when it has a name.
    Content,
    /// A text.
    Text,
    /// What only holds other elements.
    Holder,
    /// What only holds other elements, and is clicked.
    Clickable,
    /// A part of a text that its parent has whole.
    Left,
    /// Everything else.
    Plain,
}

impl Kind {
    pub(crate) fn of(role: &str) -> Self {
        match role {
            "button"
            | "link"
            | "textbox"
            | "checkbox"
            | "radio"
            | "combobox"
            | "listbox"
            | "menuitem"
            | "menuitemcheckbox"
            | "menuitemradio"
            | "option"
            | "searchbox"
            | "slider"
            | "spinbutton"
            | "switch"
            | "tab"
            | "treeitem"
            | "Iframe"
            | "IframePresentational"
            | "PopUpButton"
            | "Date"
            | "DateTime"
            | "InputTime"
            | "ColorWell"
            | "DisclosureTriangle"
            | "textFieldWithComboBox" => Self::Interactive,
            "heading" | "cell" | "gridcell" | "columnheader" | "rowheader" | "listitem" | "article" | "region"
            | "main" | "navigation" | "img" | "image" | "form" | "dialog" | "alert" | "status" | "row" => Self::Content,
            "StaticText" => Self::Text,
            "InlineTextBox" | "LineBreak" | "ListMarker" => Self::Left,
            "" | "none" | "presentation" | "generic" | "RootWebArea" | "WebArea" | "LayoutTable" | "LayoutTableRow"
            | "LayoutTableCell" | "Section" | "Pre" | "GenericContainer" | "LabelText" | "Legend" | "MenuListPopup" => {
                Self::Holder
            }
            _ => Self::Plain,
        }
    }

    pub(crate) const fn gets_ref(self, has_name: bool) -> bool {
        matches!(self, Self::Interactive | Self::Clickable) || (matches!(self, Self::Content) && has_name)
    }

    pub(crate) const fn is_interactive(self) -> bool {
        matches!(self, Self::Interactive | Self::Clickable)
    }
}

/// What lines are made of nodes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    pub(crate) interactive: bool,
    pub(crate) compact: bool,
    pub(crate) depth: Option<u32>,
}

impl Node {
    /// A text.
    pub(crate) fn text(text: String) -> Self {
        Self { role: "text".to_owned(), name: text, ..Self::default() }
    }

    fn is_text(&self) -> bool {
        self.role == "text" && self.reference.is_none()
    }

    /// A text that only says again what the name says is left out, as is the text in a field.
    pub(crate) fn drop_echo(&mut self) {
        let texts: Vec<&str> =
            self.children.iter().filter(|child| child.is_text()).map(|child| child.name.as_str()).collect();
        let joined = texts.join(" ");
        let is_echo =
            !joined.is_empty() && (joined == self.name || joined == self.value || texts.concat() == self.name);
        self.children.retain(|child| !child.is_text() || !(is_echo || child.name.is_empty()));
    }

    /// What stands in the node's line behind the dash.
    fn words(&self) -> String {
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
        if self.has_hand {
            words.push_str(" [cursor=pointer]");
        }
        words
    }

    /// Whether a compact outline has a line for it.
    fn says_something(&self) -> bool {
        self.is_text() || self.reference.is_some() || !self.name.is_empty() || !self.value.is_empty()
    }
}

/// Puts children into the node at a path.
pub(crate) fn put(nodes: &mut [Node], path: &[usize], children: Vec<Node>) {
    let Some((first, rest)) = path.split_first() else { return };
    let Some(node) = nodes.get_mut(*first) else { return };
    if rest.is_empty() {
        node.children = children;
    } else {
        put(&mut node.children, rest, children);
    }
}

/// The lines of an outline.
pub(crate) fn lines(nodes: &[Node], options: Options) -> Vec<String> {
    let mut lines = Vec::new();
    write(nodes, options, 0, &mut lines);
    lines
}

fn write(nodes: &[Node], options: Options, level: usize, lines: &mut Vec<String>) {
    if options.depth.is_some_and(|depth| level >= depth as usize) {
        return;
    }
    for node in nodes {
        let is_left_out = (options.interactive && !node.is_interactive) || (options.compact && !node.says_something());
        if is_left_out {
            write(&node.children, options, level, lines);
            continue;
        }
        let indent = "  ".repeat(if options.interactive { 0 } else { level });
        if node.is_text() {
            lines.push(format!("{indent}- text: {}", node.name));
            continue;
        }
        let (own, children) = match node.children.as_slice() {
            // One text stands in the element's own line.
            [only] if only.is_text() && node.value.is_empty() && node.url.is_none() => {
                (only.name.as_str(), &[] as &[Node])
            }
            children => (node.value.as_str(), children),
        };
        let inner_from = lines.len();
        lines.push(String::new());
        if let Some(url) = &node.url {
            lines.push(format!("{indent}  - /url: {url}"));
        }
        write(children, options, level + 1, lines);
        let colon = if own.is_empty() && lines.len() == inner_from + 1 { "" } else { ":" };
        let own = if own.is_empty() { String::new() } else { format!(" {own}") };
        lines[inner_from] = format!("{indent}- {}{colon}{own}", node.words());
    }
}

/// The lines that are new, with a plus, and those that have gone, with a minus.
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

    fn node(role: &str, name: &str, reference: &str, children: Vec<Node>) -> Node {
        let mut node = Node {
            role: role.into(),
            name: name.into(),
            reference: (!reference.is_empty()).then(|| reference.to_owned()),
            is_interactive: Kind::of(role).is_interactive(),
            children,
            ..Node::default()
        };
        node.drop_echo();
        node
    }

    fn page() -> Vec<Node> {
        let mut link = node("link", "Home", "e1", vec![Node::text("Home".into())]);
        link.url = Some("/home".into());
        let mut field = node("textbox", "User", "e2", vec![Node::text("ada".into())]);
        field.value = "ada".into();
        field.drop_echo();
        let item = node("listitem", "", "", vec![Node::text("one".into())]);
        vec![link, field, node("list", "", "", vec![item, node("button", "A \"b\"", "e3", Vec::new())])]
    }

    #[test]
    fn nodes_become_lines() {
        let whole = "- link \"Home\" [ref=e1]:\n  - /url: /home\n- textbox \"User\" [ref=e2]: ada\n- list:\n  - listitem: one\n  \
                     - button \"A \\\"b\\\"\" [ref=e3]";
        assert_eq!(lines(&page(), Options::default()).join("\n"), whole);
        let interactive = Options { interactive: true, ..Options::default() };
        assert_eq!(
            lines(&page(), interactive),
            [
                "- link \"Home\" [ref=e1]:",
                "  - /url: /home",
                "- textbox \"User\" [ref=e2]: ada",
                "- button \"A \\\"b\\\"\" [ref=e3]"
            ]
        );
        let shallow = Options { depth: Some(1), ..Options::default() };
        assert_eq!(lines(&page(), shallow).last().unwrap(), "- list");
    }

    #[test]
    fn a_difference_tells_what_came_and_what_went() {
        assert_eq!(diff("- a\n- b\n  - c", "- a\n  - b\n- d\n- a"), "+ - d\n+ - a\n-   - c");
        assert_eq!(diff("- a", "- a"), "(nothing has changed)");
    }
}
