//! The JavaScript layer of the namespace `browser` in the sandbox's interpreter: scripts, and the calls into which they
//! are translated. The cases are next to the layer, in `providers/browser/tests/layer`; a table answers their calls.

use crate::support::{
    lab::{self, Lab},
    root,
};
use codemode_browser::BrowserProvider;
use codemode_host::exec::Request;
use codemode_provider::Provider as _;
use regex::Regex;
use serde_json::json;
use std::fs;

/// The host side, which answers calls from a table.
const HOST: &str = include_str!("support/verb_host.js");
/// Runs the cases, and returns those that failed.
const RUN: &str = r#"
const same = (a, b) => {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || !a || !b) return false;
  const keys = Object.keys(a);
  return keys.length === Object.keys(b).length && keys.every((key) => same(a[key], b[key]));
};
const bad = [];
for (const { name, answers, expected, run } of cases) {
  const host = makeFake(answers);
  const seen = {};
  try {
    const text = JSON.stringify(await run(layer(host.call, "browser", host.fail)));
    if (text !== undefined) seen.result = JSON.parse(text);
  } catch (error) {
    seen.error = { name: error.name, message: error.message };
    for (const key of ["code", "hint", "retryable", "details"]) if (error[key] !== undefined) seen.error[key] = error[key];
  }
  await new Promise((done) => setTimeout(done, 1));
  seen.calls = host.calls;
  if (!same(seen, expected)) bad.push(`${name}\n  seen     ${JSON.stringify(seen)}\n  expected ${JSON.stringify(expected)}`);
}
return { cases: cases.length, bad };
"#;

/// Parses a file of cases into sources.
fn cases(text: &str) -> Vec<String> {
    let case = Regex::new(r"(?s)^([^\n]*)\n(?:// answers: ([^\n]*)\n)?(.*?)/\*\n(.*)\*/\s*$").unwrap();
    let begun = text.split("// case: ").skip(1);
    begun
        .map(|text| {
            let parts = case.captures(text).unwrap_or_else(|| panic!("no case: {text}"));
            let name = json!(&parts[1]);
            let answers = parts.get(2).map_or("{}", |answers| answers.as_str());
            let expected: serde_json::Value =
                serde_json::from_str(&parts[4]).unwrap_or_else(|error| panic!("{name}: {error}"));
            let mut expected = expected.as_object().cloned().unwrap_or_default();
            // Exceptions of listeners are reported by the interpreter, not to the script.
            expected.remove("unhandled");
            format!(
                "{{ name: {name}, answers: {answers}, expected: {}, run: async (browser) => {{\n{}\n}} }}",
                json!(expected),
                &parts[3]
            )
        })
        .collect()
}

#[test]
fn scripts_become_calls() {
    let layer = BrowserProvider::new().manifest().layer.clone().expect("it has one");
    for name in ["basics", "events", "more"] {
        let path = root().join("providers/browser/tests/layer").join(format!("{name}.js"));
        let cases = cases(&fs::read_to_string(path).unwrap());
        let code = format!("const layer = {layer};\n{HOST}\nconst cases = [{}];\n{RUN}", cases.join(",\n"));
        let execution = lab::block_on(Lab::shared().execute(Request::new(code)));
        let result = execution.outcome.unwrap_or_else(|error| panic!("{name}: {error:?}")).result;
        assert_eq!(result["bad"], json!([]), "{name}");
        assert_eq!(result["cases"], cases.len(), "{name}");
        assert!(cases.len() >= 5, "{name} has {} cases", cases.len());
    }
}
