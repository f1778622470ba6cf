//! The reference of the verbs, `spec/verbs`: a page for each, made of what is so. The manifest has its name and what it does,
//! the help of the layer the methods that lead to it, which are found by calling them (`reference/layer.js`), the types of
//! arguments have the tables, and `cases/examples` an example, which is run.
//!
//! `CODEMODE_BLESS=1 cargo test -- reference` writes the pages. Read the difference before it is committed.

mod schema;

use crate::support::{
    case::{self, Example},
    lab::{self, Lab},
    root,
};
use codemode_browser::BrowserProvider;
use codemode_host::exec::Request;
use codemode_provider::Provider as _;
use codemode_spec::{Effect, Manifest, Method};
use schema::Types;
use serde::Deserialize;
use serde_json::Value as Json;
use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    fmt::Write as _,
    fs,
    path::PathBuf,
    sync::LazyLock,
};

/// Finds what the methods of the layer call.
const LAYER: &str = include_str!("reference/layer.js");
/// How the list of the verbs begins.
const ABOUT: &str = "\
# Verbs

What a script does with pages comes down to these calls of the namespace `browser`. A script does not make them itself: it
has pages and locators with Playwright's names, and each page here shows which of their methods lead to the verb, in the
words of `browser.help(name)`. The arguments are those of the engine, for a caller of another kind.

The examples are whole scripts: `codemode run FILE` gives the answer that is shown. Their pages are made on the spot, by
`page.setContent` or by a route that answers for `https://shop.example`, so that nothing leaves the machine.

`changes` is what the audit tells of. What goes wrong is an error with a code of `spec/src/error.rs`, and a hint.

These pages are made by `tests/reference.rs` of the manifest, the help, the types of the arguments and `tests/cases/examples`.
";
/// Stands in an example for where the demo's site is.
const SITE: &str = "{{site}}";
const SITE_SHOWN: &str = "http://127.0.0.1:38303";
/// In an example, that logins are saved.
const SAVED: &str = "storageState({ path";

/// What was found in the layer.
#[derive(Deserialize)]
struct Found {
    lines: Vec<Line>,
    /// The fields of the arguments of each verb.
    fields: BTreeMap<String, Vec<String>>,
}

/// A line of help.
#[derive(Deserialize)]
struct Line {
    text: String,
    /// How many members of its object it is about.
    members: usize,
    /// What these call.
    verbs: Vec<String>,
}

fn folder() -> PathBuf {
    root().join("spec/verbs")
}

fn manifest() -> Manifest {
    BrowserProvider::new().manifest().clone()
}

/// Found once for all tests of a process.
static FOUND: LazyLock<Found> = LazyLock::new(|| {
    let layer = manifest().layer.expect("it has one");
    let execution = lab::block_on(Lab::shared().execute(Request::new(format!("const layer = {layer};\n{LAYER}"))));
    let result = execution.outcome.unwrap_or_else(|error| panic!("{error:?}")).result;
    serde_json::from_value(result).expect("as it is declared")
});

#[test]
fn each_page_says_what_is_so() {
    let pages = pages(&manifest(), &FOUND, &case::examples());
    let folder = folder();
    if env::var_os("CODEMODE_BLESS").is_some_and(|wanted| wanted == "1") {
        // Also those of verbs that there are no more.
        fs::remove_dir_all(&folder).ok();
        fs::create_dir_all(&folder).unwrap();
        for (name, text) in &pages {
            fs::write(folder.join(name), text).unwrap();
        }
    }
    let there =
        fs::read_dir(&folder).map(|entries| entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()));
    let there: BTreeMap<_, _> = there
        .into_iter()
        .flatten()
        .map(|name| (name.clone(), fs::read_to_string(folder.join(&name)).unwrap()))
        .collect();
    let names: BTreeSet<_> = there.keys().chain(pages.keys()).collect();
    let stale: Vec<_> = names.into_iter().filter(|name| there.get(*name) != pages.get(*name)).collect();
    assert!(stale.is_empty(), "CODEMODE_BLESS=1 cargo test -- reference writes them: {stale:?}");
}

#[test]
fn each_verb_has_an_example() {
    let verbs: BTreeSet<_> = manifest().methods.into_iter().map(|method| method.name).collect();
    assert_eq!(verbs, case::examples().into_keys().collect());
}

#[test]
fn each_line_of_help_leads_somewhere() {
    let lost: Vec<_> = FOUND.lines.iter().filter(|line| line.members == 0).map(|line| &line.text).collect();
    assert!(lost.is_empty(), "there is no such member: {lost:?}");
    let reached: BTreeSet<_> = FOUND.lines.iter().flat_map(|line| line.verbs.iter().cloned()).collect();
    let verbs: BTreeSet<_> = manifest().methods.into_iter().map(|method| method.name).collect();
    assert_eq!(reached, verbs, "each verb is called by a method that has a line of help");
}

#[test]
fn what_the_layer_sends_is_in_the_schemas() {
    let schemas: BTreeMap<_, _> = codemode_browser::schemas().into_iter().collect();
    assert_eq!(FOUND.fields.keys().collect::<Vec<_>>(), schemas.keys().collect::<Vec<_>>());
    for (verb, fields) in &FOUND.fields {
        let schema = &schemas[verb];
        let variants = schema["oneOf"].as_array().into_iter().flatten();
        let objects = std::iter::once(schema).chain(variants).filter_map(|object| object["properties"].as_object());
        let known: BTreeSet<_> = objects.flat_map(|properties| properties.keys().cloned()).collect();
        let unknown: Vec<_> = fields.iter().filter(|field| !known.contains(*field)).collect();
        assert!(unknown.is_empty(), "{verb} is sent {unknown:?}, and takes {known:?}");
    }
}

/// The pages by their names.
fn pages(manifest: &Manifest, found: &Found, examples: &BTreeMap<String, Example>) -> BTreeMap<String, String> {
    let mut types = Types::new();
    let schemas: BTreeMap<String, Json> = codemode_browser::schemas().into_iter().collect();
    let mut list = format!("{ABOUT}\n| Verb | What it does | Effect |\n|---|---|---|\n");
    let mut pages = BTreeMap::new();
    for method in &manifest.methods {
        let Method { name, doc, .. } = method;
        let short = if method.effect == Effect::Read { "reads" } else { "changes" };
        let _ = writeln!(list, "| [`{name}`]({name}.md) | {doc} | {short} |");
        let schema = schemas.get(name).unwrap_or_else(|| panic!("{name} has a schema"));
        let example = examples.get(name).unwrap_or_else(|| panic!("tests/cases/examples/{name}.js is missing"));
        let argument = schema::tables(schema, &mut types);
        pages.insert(format!("{name}.md"), page(method, found, example, &argument));
    }
    list.push_str("\n## Types of arguments\n\nThose that the tables of the verbs refer to.\n");
    list.push_str(&schema::sections(&types));
    list.push_str(
        "\n## Methods without a verb\n\nThese only name elements, or tell what the script knows already:\n\n",
    );
    let mut without: Vec<(&str, Vec<String>)> = Vec::new();
    for line in found.lines.iter().filter(|line| line.verbs.is_empty()) {
        let (object, method) = line.text.split_once('.').expect("a line names the object");
        let object = format!("`{object}`");
        match without.iter_mut().find(|(other, _)| *other == method) {
            Some((_, objects)) => objects.push(object),
            None => without.push((method, vec![object])),
        }
    }
    for (method, objects) in without {
        let _ = writeln!(list, "- of {}: `{method}`", objects.join(", "));
    }
    pages.insert("README.md".to_owned(), list);
    pages
}

fn page(method: &Method, found: &Found, example: &Example, argument: &str) -> String {
    let Method { name, doc, .. } = method;
    let mut effect = if method.effect == Effect::Read { "It only reads." } else { "It changes something." }.to_owned();
    if method.background {
        effect.push_str(" It accompanies the script, and is cancelled when the script ends.");
    }
    let mut out = format!("# `{name}`\n\n{doc} {effect}\n\n## In scripts\n\n```text\n");
    for line in found.lines.iter().filter(|line| line.verbs.contains(name)) {
        let _ = writeln!(out, "{}", line.text);
    }
    let Example { title, script, result } = example;
    let mut title = title.chars();
    let first = title.next().map(char::to_uppercase).into_iter().flatten();
    let title: String = first.chain(title).collect();
    let _ = write!(out, "```\n\n## Example\n\n{title}.\n\n```js\n{}\n```\n\n", script.replace(SITE, SITE_SHOWN));
    if script.contains(SITE) {
        out.push_str("`codemode demo --serve` serves this site, and says at which address.\n\n");
    }
    if script.contains(SAVED) {
        out.push_str("What is saved belongs to a session key: `codemode run --session-key KEY FILE`.\n\n");
    }
    // As the command line shows it.
    let (language, answer) = match result {
        Json::String(text) => ("text", text.clone()),
        other => ("json", serde_json::to_string_pretty(other).expect("it is JSON")),
    };
    let _ = write!(out, "The answer:\n\n```{language}\n{answer}\n```\n\n## Argument\n\n");
    out.push_str(if argument.is_empty() { "None.\n" } else { argument });
    out
}
