//! Scripts that stay: run in each document that a page loads, before the host can know what it is.

use serde_json::{Map, Value as Json};

/// The commands that take one, and its parameter.
const TAKEN_BY: &[(&str, &str)] = &[
    ("Page.addScriptToEvaluateOnLoad", "scriptSource"),
    ("Page.addScriptToEvaluateOnNewDocument", "source"),
    ("Page.reload", "scriptToEvaluateOnLoad"),
];
/// Ends the script in a document that is not for scripts: the session of one that goes there is detached, but only after
/// the document has begun. Nothing that the script declares can stand in for `location` or its `protocol`; an `origin`
/// of its own is no text, or is not there yet. It is an expression and stands in the first line, so that declarations
/// and line numbers stay what they were.
const GUARD: &str = "if(!(location.protocol===\"http:\"||location.protocol===\"https:\"||location.protocol===\"data:\"||\
                     (location.protocol===\"about:\"||location.protocol===\"blob:\")&&(origin===\"null\"||\
                     typeof origin===\"string\"&&origin[0]+origin[1]+origin[2]+origin[3]===\"http\")))\
                     throw \"This page is not for scripts.\";";
const STRICT: [&str; 2] = ["\"use strict\"", "'use strict'"];

/// Has a script that stays run only in documents that are for scripts.
pub(crate) fn guard(method: &str, params: &mut Map<String, Json>) {
    let taken = TAKEN_BY.iter().find(|(taker, _)| *taker == method);
    let Some(Json::String(source)) = taken.and_then(|(_, name)| params.get_mut(*name)) else { return };
    // Only at the beginning does it mean something.
    let is_strict = STRICT.iter().any(|directive| source.trim_start().starts_with(directive));
    source.insert_str(0, GUARD);
    if is_strict {
        source.insert_str(0, "\"use strict\";");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn scripts_that_stay_are_guarded_and_others_are_not() {
        let guarded = |method: &str, params: Json| {
            let Json::Object(mut params) = params else { panic!("an object") };
            guard(method, &mut params);
            Json::Object(params)
        };
        let stays = guarded("Page.addScriptToEvaluateOnNewDocument", json!({"source": "let a", "worldName": "w"}));
        assert_eq!(stays, json!({"source": format!("{GUARD}let a"), "worldName": "w"}));
        let strict = guarded("Page.reload", json!({"scriptToEvaluateOnLoad": " 'use strict'; a = 1"}));
        assert_eq!(strict["scriptToEvaluateOnLoad"], format!("\"use strict\";{GUARD} 'use strict'; a = 1"));
        assert_eq!(guarded("Page.reload", json!({})), json!({}));
        assert_eq!(guarded("Runtime.evaluate", json!({"source": "1"})), json!({"source": "1"}));
    }
}
