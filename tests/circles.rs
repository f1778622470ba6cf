//! No circle among files: a file can be read with what stands below it, and nothing that stands above.

use crate::tidy::sources;
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};

/// Crates, and the parts of them, whose files import in no circle.
const PARTS: &[(&str, &str)] =
    &[("providers/api/src/", ""), ("providers/page/src/", ""), ("providers/cdp/src/", ""), ("host/src/", "exec")];

#[test]
fn files_do_not_import_each_other_in_a_circle() {
    let sources = sources();
    for (krate, part) in PARTS {
        let files: BTreeMap<_, _> = sources
            .iter()
            .filter_map(|(path, text)| Some((path.strip_prefix(krate)?.to_owned(), text.as_str())))
            .filter(|(path, _)| path.starts_with(part) && !path.ends_with("tests.rs") && !path.starts_with("testkit"))
            .collect();
        assert!(files.len() > 5, "{krate}{part} has files");
        assert_eq!(circles(&files), Vec::<BTreeSet<String>>::new(), "in {krate}{part}");
    }
}

/// What the rule finds, and what it lets pass.
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
    let siblings = [("a.rs", "mod b;\nmod c;"), ("a/b.rs", "use super::c::C;"), ("a/c.rs", "use super::b::B;")];
    assert_eq!(planted(&siblings), [["a/b.rs", "a/c.rs"]]);
    // A module that declares its parts does not import them, and comments and tests import nothing.
    let fine = [
        ("a.rs", "mod b;\n// use b::B;\n#[cfg(test)]\nmod tests { use crate::d::D; }"),
        ("a/b.rs", "use super::A;"),
        ("d.rs", "use crate::a::A;"),
    ];
    assert_eq!(planted(&fine), none);
}

/// Files that can be reached from themselves, those of one circle together.
fn circles(files: &BTreeMap<String, &str>) -> Vec<BTreeSet<String>> {
    let modules: BTreeMap<Vec<&str>, &str> = files.keys().map(|path| (module(path), path.as_str())).collect();
    let imports: BTreeMap<&str, BTreeSet<&str>> =
        files.iter().map(|(path, text)| (path.as_str(), imports(path, text, &modules))).collect();
    let reached: BTreeMap<&str, BTreeSet<&str>> = imports.keys().map(|file| (*file, reached(file, &imports))).collect();
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

/// The files that a file imports, and those that these import, and so on.
fn reached<'a>(from: &'a str, imports: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> BTreeSet<&'a str> {
    let (mut seen, mut todo) = (BTreeSet::new(), vec![from]);
    while let Some(file) = todo.pop() {
        todo.extend(imports[file].iter().copied().filter(|next| seen.insert(*next)));
    }
    seen
}

/// The module that a file is, from the crate's root on.
fn module(path: &str) -> Vec<&str> {
    path.trim_end_matches(".rs").trim_end_matches("/mod").split('/').collect()
}

/// The files of the crate that a file imports from.
fn imports<'a>(path: &str, text: &str, modules: &BTreeMap<Vec<&str>, &'a str>) -> BTreeSet<&'a str> {
    let code: String = text
        .split("#[cfg(test)]\nmod tests")
        .next()
        .into_iter()
        .flat_map(str::lines)
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| [line, "\n"])
        .collect();
    let own = module(path);
    let mut paths: Vec<String> = Vec::new();
    for tree in Regex::new(r"(?m)^\s*(?:pub(?:\([a-z]+\))? )?use ([^;]+);").unwrap().captures_iter(&code) {
        expand("", &tree[1], &mut paths);
    }
    paths.extend(Regex::new(r"\bcrate(?:::\w+)+").unwrap().find_iter(&code).map(|found| found.as_str().to_owned()));
    let resolved = paths.iter().filter_map(|path| {
        let mut parts = path.split("::");
        let from: Vec<&str> = match parts.next()? {
            "crate" => parts.collect(),
            "super" => own[..own.len() - 1].iter().copied().chain(parts).collect(),
            child => own.iter().copied().chain([child]).chain(parts).collect(),
        };
        // The longest beginning that is a file.
        (1..=from.len()).rev().find_map(|length| modules.get(&from[..length]).copied())
    });
    resolved.filter(|file| *file != path).collect()
}

/// The paths of a tree of imports, as `a::{b, c::{d, e}}`.
fn expand(prefix: &str, tree: &str, paths: &mut Vec<String>) {
    let tree = tree.trim();
    let Some((head, list)) = tree.split_once('{') else {
        paths.push(format!("{prefix}{}", tree.split(" as ").next().unwrap_or(tree)));
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
