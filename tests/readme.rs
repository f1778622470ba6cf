//! Checks the examples and promises of the README.

use crate::support::{program::Place, root};
use std::fs;

#[test]
fn it_shows_the_declarations_as_they_are() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let output = Place::new().run(&["types"]);
    let types = String::from_utf8(output.stdout).unwrap();
    assert!(
        readme.contains(&format!("```ts\n{types}```\n")),
        "README.md must show what `codemode types` prints:\n{types}"
    );
}

#[test]
fn its_test_command_is_what_continuous_integration_runs() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let script = fs::read_to_string(root().join(".ci/run")).unwrap();
    let test = script.lines().rfind(|line| line.starts_with("cargo test")).unwrap();
    assert!(readme.contains(&format!("\n$ {test}\n")), "README.md must name {test:?}");
}
