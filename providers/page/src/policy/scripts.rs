//! Guards persistent scripts: those that run in each new document of a page, before the host knows the document's URL.

use serde_json::{Map, Value as Json};

/// The commands that register a persistent script, and the parameter that holds it.
const TAKEN_BY: &[(&str, &str)] = &[
    ("Page.addScriptToEvaluateOnLoad", "scriptSource"),
    ("Page.addScriptToEvaluateOnNewDocument", "source"),
    ("Page.reload", "scriptToEvaluateOnLoad"),
];
/// Ends the script in a document that is not for scripts: the session of a page that navigates to one is detached, but
/// only after the document has started. Declarations of the script cannot shadow `location` or its `protocol`; an
/// `origin` that it declares is not a string, or not initialised yet. The guard is on the first line, so that
/// declarations and line numbers do not change.
const GUARD: &str = "if(!(location.protocol===\"http:\"||location.protocol===\"https:\"||location.protocol===\"data:\"||\
                     (location.protocol===\"about:\"||location.protocol===\"blob:\")&&(origin===\"null\"||\
                     typeof origin===\"string\"&&origin[0]+origin[1]+origin[2]+origin[3]===\"http\")))\
                     throw \"This page is not for scripts.\";";
const STRICT: [&str; 2] = ["\"use strict\"", "'use strict'"];

/// Makes a persistent script run only in documents that are for scripts.
pub(crate) fn guard(method: &str, params: &mut Map<String, Json>) {
    let taken = TAKEN_BY.iter().find(|(taker, _)| *taker == method);
    let Some(Json::String(source)) = taken.and_then(|(_, name)| params.get_mut(*name)) else { return };
    // A directive has an effect only at the beginning.
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
