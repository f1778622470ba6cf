//! Checks that no files import each other in a cycle, so that each file can be read with only the files below it.

use crate::tidy::sources;
use regex::Regex;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

/// The crates that are checked: all of the project.
const CRATES: &[&str] = &[
    "spec/src/",
    "guest/src/",
    "providers/api/src/",
    "providers/chromium/src/",
    "providers/page/src/",
    "providers/verbs/src/",
    "providers/browser/src/",
    "providers/cdp/src/",
    "host/src/",
];

#[test]
fn files_do_not_import_each_other_in_a_circle() {
    let sources = sources();
    for krate in CRATES {
        let files: BTreeMap<_, _> = sources
            .iter()
            .filter_map(|(path, text)| Some((path.strip_prefix(krate)?.to_owned(), text.as_str())))
            .filter(|(path, _)| !path.ends_with("tests.rs") && !path.contains("tests/") && !path.starts_with("testkit"))
            .collect();
        assert!(files.len() > 5, "{krate} has files");
        assert_eq!(circles(&files), Vec::<BTreeSet<String>>::new(), "in {krate}");
    }
}

/// Tests the rule itself: what it detects, and what it accepts.
#[test]
fn a_planted_circle_is_found() {
    let planted = |texts: &[(&str, &'static str)]| {
        let files = texts.iter().map(|(path, text)| ((*path).to_owned(), *text)).collect();
        circles(&files).into_iter().map(|circle| circle.into_iter().collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    let none: Vec<Vec<String>> = Vec::new();
    let direct = [("a.rs", "use crate::b::B;"), ("b.rs", "use crate::{c, a::A};"), ("c.rs", "struct C;")];
    assert_eq!(planted(&direct), [["a.rs", "b.rs"]]);
    let long =
        [("a.rs", "use crate::{b::{B, E}, x};"), ("b.rs", "fn f() { crate::c::g() }"), ("c.rs", "use crate::a::A;")];
    assert_eq!(planted(&long), [["a.rs", "b.rs", "c.rs"]]);
    let child = [("a.rs", "mod b;\nuse b::B;"), ("a/b.rs", "use super::A;")];
    assert_eq!(planted(&child), [["a.rs", "a/b.rs"]]);
    let called = [("a.rs", "mod b;\nfn f() { b::g(); }"), ("a/b.rs", "fn h() { super::f(); }")];
    assert_eq!(planted(&called), [["a.rs", "a/b.rs"]]);
    let siblings = [("a.rs", "mod b;\nmod c;"), ("a/b.rs", "use super::c::C;"), ("a/c.rs", "use super::b::B;")];
    assert_eq!(planted(&siblings), [["a/b.rs", "a/c.rs"]]);
    // An import of an item that a `mod.rs` re-exports counts as an import of the file that defines it.
    let offered = [
        ("a/mod.rs", "mod b;\nmod c;\npub use b::B;\npub(crate) use c::{C, D as E};"),
        ("a/b.rs", "use super::E;"),
        ("a/c.rs", "use crate::{a::{B, X}, y};"),
    ];
    assert_eq!(planted(&offered), [["a/b.rs", "a/c.rs"]]);
    let offered_and_used = [("a.rs", "mod b;\npub use b::B;\nfn f(b: B) {}"), ("a/b.rs", "use super::f;")];
    assert_eq!(planted(&offered_and_used), [["a.rs", "a/b.rs"]]);
    // Leaving out the unit tests at a file's end must not hide imports.
    let tested = [("a.rs", "#[cfg(test)]\nmod tests;\nuse crate::b::B;"), ("b.rs", "use crate::a::A;")];
    assert_eq!(planted(&tested), [["a.rs", "b.rs"]]);
    // Declaring or re-exporting submodules is no import, and comments and tests import nothing.
    let fine = [
        ("a.rs", "mod b;\n// use b::B;\npub use b::B;\n#[cfg(test)]\nmod tests { use crate::d::D; }"),
        ("a/b.rs", "use super::A;"),
        ("d.rs", "use crate::a::{A, B};"),
    ];
    assert_eq!(planted(&fine), none);
}

/// A module's path from the crate's root.
type Module = Vec<String>;

/// The imports of a file.
struct Imports {
    module: Module,
    /// The paths that its code imports.
    used: BTreeSet<String>,
    /// The names that it re-exports, with the path of each.
    offered: BTreeMap<String, String>,
}

/// The cycles: sets of files that import each other directly or indirectly.
fn circles(files: &BTreeMap<String, &str>) -> Vec<BTreeSet<String>> {
    let read: BTreeMap<&str, Imports> = files.iter().map(|(path, text)| (path.as_str(), imports(path, text))).collect();
    let modules: BTreeMap<Module, &str> = read.iter().map(|(path, file)| (file.module.clone(), *path)).collect();
    let edges: BTreeMap<&str, BTreeSet<&str>> = read
        .iter()
        .map(|(path, file)| {
            let imported = file.used.iter().filter_map(|used| source_of(used, &file.module, &modules, &read));
            (*path, imported.filter(|other| other != path).collect())
        })
        .collect();
    let reached: BTreeMap<&str, BTreeSet<&str>> = edges.keys().map(|file| (*file, reached(file, &edges))).collect();
    let mut found: Vec<BTreeSet<String>> = Vec::new();
    for (file, others) in reached.iter().filter(|(file, others)| others.contains(*file)) {
        if !found.iter().any(|circle| circle.contains(*file)) {
            found.push(
                others.iter().filter(|other| reached[*other].contains(file)).map(|other| (*other).to_owned()).collect(),
            );
        }
    }
    found
}

/// The files that a file imports directly or indirectly.
fn reached<'a>(from: &'a str, imports: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> BTreeSet<&'a str> {
    let (mut seen, mut todo) = (BTreeSet::new(), vec![from]);
    while let Some(file) = todo.pop() {
        todo.extend(imports[file].iter().copied().filter(|next| seen.insert(*next)));
    }
    seen
}

/// The file that defines the item of a path: the file of its longest prefix that is a module, or, if that only
/// re-exports the item, the file from which it comes.
fn source_of<'a>(
    path: &str,
    from: &[String],
    modules: &BTreeMap<Module, &'a str>,
    read: &BTreeMap<&'a str, Imports>,
) -> Option<&'a str> {
    let parts: Vec<&str> = path.split("::").collect();
    let ups = parts.iter().take_while(|part| **part == "super").count();
    let is_local = matches!(parts[0], "self" | "super");
    let base = if parts[0] == "crate" { &[][..] } else { &from[..from.len().checked_sub(ups)?] };
    let rest = &parts[usize::from(parts[0] == "crate" || parts[0] == "self") + ups..];
    let full: Module = base.iter().cloned().chain(rest.iter().map(|part| (*part).to_owned())).collect();
    // A bare name is a child module or another crate.
    if parts[0] != "crate" && !is_local && !modules.contains_key(&full[..(base.len() + 1).min(full.len())]) {
        return None;
    }
    let length = (1..=full.len()).rev().find(|length| modules.contains_key(&full[..*length]))?;
    let file = modules[&full[..length]];
    let offered = full.get(length).and_then(|item| read[file].offered.get(item));
    offered.and_then(|offered| source_of(offered, &full[..length], modules, read)).or(Some(file))
}

static USE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?m)^\s*(pub(?:\([a-z]+\))? )?use ([^;]+);").unwrap());
static DECLARED: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?m)^\s*(?:pub(?:\([a-z]+\))? )?mod \w+;").unwrap());
static PATH: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?:\b(?:crate|super|self)|\b[a-z_]\w*)(?:::\w+)+").unwrap());

/// Parses the imports and re-exports of a file. The crate's root file is not a module that can be imported from.
fn imports(path: &str, text: &str) -> Imports {
    let module = path.trim_end_matches(".rs").trim_end_matches("/mod").split('/').map(str::to_owned).collect();
    let code: String = text
        .split("#[cfg(test)]\nmod tests {")
        .next()
        .into_iter()
        .flat_map(str::lines)
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| [line, "\n"])
        .collect();
    let body = DECLARED.replace_all(&USE.replace_all(&code, ""), "").into_owned();
    let (mut used, mut offered) = (BTreeSet::new(), BTreeMap::new());
    for tree in USE.captures_iter(&code) {
        let mut paths = Vec::new();
        expand("", &tree[2], &mut paths);
        for (path, name) in paths {
            let is_used = || Regex::new(&format!(r"\b{name}\b")).unwrap().is_match(&body);
            if tree.get(1).is_none() || is_used() {
                used.insert(path.clone());
            }
            if tree.get(1).is_some() {
                offered.insert(name, path);
            }
        }
    }
    used.extend(PATH.find_iter(&body).map(|found| found.as_str().to_owned()));
    Imports { module, used, offered }
}

/// Expands a tree of imports, as `a::{b, c::{d, e as f}}`, into paths and the names that they get.
fn expand(prefix: &str, tree: &str, paths: &mut Vec<(String, String)>) {
    let tree = tree.trim();
    let Some((head, list)) = tree.split_once('{') else {
        let (path, name) = tree.split_once(" as ").unwrap_or((tree, tree.rsplit("::").next().unwrap_or(tree)));
        let path = format!("{prefix}{path}");
        let own = path.trim_end_matches("::self").to_owned();
        let name = if name == "self" { own.rsplit("::").next().unwrap_or_default() } else { name };
        paths.push((own.clone(), name.to_owned()));
        return;
    };
    let (mut depth, mut start, list) = (0_usize, 0, list.trim_end().trim_end_matches('}'));
    let head = format!("{prefix}{head}");
    for (at, letter) in list.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                expand(&head, &list[start..at], paths);
                start = at + 1;
            }
            _ => {}
        }
    }
    if !list[start..].trim().is_empty() {
        expand(&head, &list[start..], paths);
    }
}
