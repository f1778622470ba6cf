//! The contract's MCP tools. Each is a call of a route: path parameters are taken from the arguments, the rest is the
//! body.

use serde_json::{Map, Value as Json, json};

/// A tool.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) method: &'static str,
    /// The route's path, relative to the prefix of the contract.
    pub(super) path: &'static str,
    pub(super) fields: &'static [Field],
    /// Whether it is an action, which takes the fields of the envelope too.
    pub(super) is_action: bool,
}

/// A field of a tool's arguments.
pub(super) struct Field {
    pub(super) name: &'static str,
    kind: Kind,
    is_required: bool,
    description: &'static str,
}

#[derive(Clone, Copy)]
enum Kind {
    Text,
    Number,
    Truth,
    Texts,
}

/// The field that names a tab. The default is the tab that was activated last.
pub(super) const TAB: &str = "tab_id";
/// An argument whose name differs from the route's field: (argument, field).
pub(super) const RENAMED: (&str, &str) = ("expression", "script");

const fn required(name: &'static str, kind: Kind, description: &'static str) -> Field {
    Field { name, kind, is_required: true, description }
}

const fn optional(name: &'static str, kind: Kind, description: &'static str) -> Field {
    Field { name, kind, is_required: false, description }
}

const fn read(
    name: &'static str,
    description: &'static str,
    (method, path): (&'static str, &'static str),
    fields: &'static [Field],
) -> Row {
    Row { name, description, method, path, fields, is_action: false }
}

const fn action(name: &'static str, description: &'static str, path: &'static str, fields: &'static [Field]) -> Row {
    Row { name, description, method: "POST", path, fields, is_action: true }
}

const TAB_ID: Field = optional(TAB, Kind::Text, "The tab; the active one if it is left out.");
const X: Field = required("x", Kind::Number, "Pixels from the left of the viewport.");
const Y: Field = required("y", Kind::Number, "Pixels from its top.");
const KEY: Field = required("key", Kind::Text, "As a, Enter, ArrowDown.");
const MODIFIERS: Field = optional("modifiers", Kind::Texts, "Shift, Control, Alt, Meta.");
const DOWNLOAD: Field = required("download_id", Kind::Text, "As browser_list_downloads tells it.");

/// All tools.
pub(super) const TOOLS: [Row; 30] = [
    read("browser_get_status", "Whether the browser is ready.", ("GET", "/browser/status"), &[]),
    read("browser_list_tabs", "The open tabs.", ("GET", "/tabs"), &[]),
    read(
        "browser_new_tab",
        "Opens a tab.",
        ("POST", "/tabs"),
        &[
            optional("url", Kind::Text, "Blank if it is left out."),
            optional("active", Kind::Truth, "Yes if it is left out."),
        ],
    ),
    read("browser_close_tab", "Closes a tab.", ("DELETE", "/tabs/{tab_id}"), &[TAB_ID]),
    read(
        "browser_get_tab_info",
        "Address and title of a tab, and whether it loads.",
        ("GET", "/tabs/{tab_id}"),
        &[TAB_ID],
    ),
    action(
        "browser_navigate",
        "Navigates a tab.",
        "/tabs/{tab_id}/navigate",
        &[TAB_ID, required("url", Kind::Text, "The address."), optional("referrer", Kind::Text, "Where from.")],
    ),
    action("browser_go_back", "One page back.", "/tabs/{tab_id}/back", &[TAB_ID]),
    action("browser_go_forward", "One page forward.", "/tabs/{tab_id}/forward", &[TAB_ID]),
    action("browser_reload", "Loads the page again.", "/tabs/{tab_id}/reload", &[TAB_ID]),
    action(
        "browser_click",
        "Clicks at a point.",
        "/tabs/{tab_id}/click",
        &[
            TAB_ID,
            X,
            Y,
            optional("button", Kind::Text, "left, right or middle."),
            optional("click_count", Kind::Number, "2 is a double click, 3 a triple one."),
            MODIFIERS,
        ],
    ),
    action(
        "browser_type",
        "Types a text by key events, where the focus is.",
        "/tabs/{tab_id}/type",
        &[TAB_ID, required("text", Kind::Text, "The text.")],
    ),
    action("browser_screenshot", "A picture of the viewport.", "/tabs/{tab_id}/screenshot", &[TAB_ID]),
    action(
        "browser_execute_javascript",
        "Evaluates an expression in the page.",
        "/tabs/{tab_id}/execute",
        &[TAB_ID, required("expression", Kind::Text, "Its value must be JSON, or a promise of that.")],
    ),
    action(
        "browser_keyboard_press",
        "Presses a key, or several at once.",
        "/tabs/{tab_id}/keyboard/press",
        &[TAB_ID, KEY, MODIFIERS],
    ),
    action(
        "browser_scroll",
        "Turns the mouse wheel at a point.",
        "/tabs/{tab_id}/scroll",
        &[
            TAB_ID,
            X,
            Y,
            optional("delta_x", Kind::Number, "Pixels to the right."),
            optional("delta_y", Kind::Number, "Pixels down."),
        ],
    ),
    action("browser_mouse_move", "Moves the mouse to a point.", "/tabs/{tab_id}/move", &[TAB_ID, X, Y]),
    read("browser_activate_tab", "Switches to a tab.", ("POST", "/tabs/{tab_id}/activate"), &[TAB_ID]),
    read("browser_stop_loading", "Stops loading.", ("POST", "/tabs/{tab_id}/stop"), &[TAB_ID]),
    read("browser_get_dialog", "The dialog that a tab shows.", ("GET", "/tabs/{tab_id}/dialog"), &[TAB_ID]),
    read(
        "browser_accept_dialog",
        "Accepts it.",
        ("POST", "/tabs/{tab_id}/dialog/accept"),
        &[TAB_ID, optional("prompt_text", Kind::Text, "What a prompt is answered.")],
    ),
    read("browser_dismiss_dialog", "Dismisses it.", ("POST", "/tabs/{tab_id}/dialog/dismiss"), &[TAB_ID]),
    read(
        "browser_list_downloads",
        "The downloads, newest first.",
        ("GET", "/downloads"),
        &[
            optional("state", Kind::Text, "in_progress, completed, cancelled or failed."),
            optional("limit", Kind::Number, "How many at most."),
        ],
    ),
    read("browser_get_download", "A download.", ("GET", "/downloads/{download_id}"), &[DOWNLOAD]),
    read("browser_cancel_download", "Cancels a download.", ("POST", "/downloads/{download_id}/cancel"), &[DOWNLOAD]),
    read(
        "browser_provide_files",
        "Gives files to an open file chooser, or dismisses it.",
        ("POST", "/file-chooser/{chooser_id}"),
        &[
            required("chooser_id", Kind::Text, "As the event file_chooser told it."),
            optional("files", Kind::Texts, "Within the folder that the operator has named."),
            optional("cancel", Kind::Truth, "Dismisses it."),
        ],
    ),
    action("browser_keyboard_down", "Holds a key down.", "/tabs/{tab_id}/keyboard/down", &[TAB_ID, KEY, MODIFIERS]),
    action("browser_keyboard_up", "Lets a key go.", "/tabs/{tab_id}/keyboard/up", &[TAB_ID, KEY]),
    read(
        "browser_get_execution_state",
        "Whether the page's JavaScript is paused.",
        ("GET", "/tabs/{tab_id}/execution"),
        &[TAB_ID],
    ),
    read(
        "browser_set_execution_state",
        "Pauses the page's JavaScript, or lets it go on.",
        ("POST", "/tabs/{tab_id}/execution"),
        &[
            TAB_ID,
            required("paused", Kind::Truth, "Whether it is paused."),
            optional("initial_virtual_time", Kind::Number, "Seconds since the Unix epoch."),
        ],
    ),
    read(
        "browser_shutdown",
        "Ends the browser.",
        ("POST", "/browser/shutdown"),
        &[optional("timeout_ms", Kind::Number, "Time for that.")],
    ),
];

impl Row {
    /// The JSON schema of its arguments.
    pub(super) fn schema(&self) -> Map<String, Json> {
        let mut properties: Map<String, Json> =
            self.fields.iter().map(|field| (field.name.to_owned(), field.schema())).collect();
        if self.is_action {
            properties.extend(envelope());
        }
        let required: Vec<&str> =
            self.fields.iter().filter(|field| field.is_required).map(|field| field.name).collect();
        let Json::Object(schema) = json!({"type": "object", "properties": properties, "required": required}) else {
            return Map::new();
        };
        schema
    }
}

impl Field {
    fn schema(&self) -> Json {
        let kind = match self.kind {
            Kind::Text => json!({"type": "string"}),
            Kind::Number => json!({"type": "number"}),
            Kind::Truth => json!({"type": "boolean"}),
            Kind::Texts => json!({"type": "array", "items": {"type": "string"}}),
        };
        let mut schema = kind;
        schema["description"] = json!(self.description);
        schema
    }
}

/// The envelope's fields, which every action takes.
fn envelope() -> [(String, Json); 3] {
    let object = |description: &str, properties: Json| json!({"type": "object", "description": description, "properties": properties});
    let texts = json!({"type": "array", "items": {"type": "string"}});
    let wait = json!({
        "type": {"enum": ["action_complete", "immediate", "time"]}, "timeout_ms": {"type": "number"},
        "duration_ms": {"type": "number"},
    });
    let screenshot = json!({
        "area": {"enum": ["viewport", "none"]}, "disable_markup": texts, "cursor": {"type": "boolean"},
    });
    let network = json!({"tag": {"type": "string"}, "types": texts});
    [
        ("wait_until".to_owned(), object("What is waited for after the action.", wait)),
        ("screenshot".to_owned(), object("What the pictures before and after show.", screenshot)),
        ("network".to_owned(), object("Counts requests, and keeps those of a tag.", network)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tool_has_the_fields_of_its_path() {
        for tool in &TOOLS {
            assert!(tool.name.starts_with("browser_"), "{}", tool.name);
            for part in tool.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}')) {
                assert!(tool.fields.iter().any(|field| field.name == part), "{} {part}", tool.name);
            }
            assert_eq!(tool.schema()["type"], "object");
        }
        let names: std::collections::HashSet<_> = TOOLS.iter().map(|tool| tool.name).collect();
        assert_eq!(names.len(), TOOLS.len());
    }
}
