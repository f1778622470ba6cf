//! Runs the case files, one test per file.

use crate::support::case;
use std::{collections::BTreeSet, fs};

macro_rules! cases {
    ($($group:ident: $($name:ident)+;)+) => {
        $(mod $group {
            $(#[test]
            fn $name() {
                super::case::run_file(stringify!($group), stringify!($name));
            })+
        })+

        const FILES: &[&str] = &[$($(concat!(stringify!($group), "/", stringify!($name), ".js")),+),+];
    };
}

cases! {
    bounds: calls console cpu memory recursion sizes source wall;
    browser: pages protocol;
    calls: arguments errors unknown;
    forms: bytes expressions fences functions modules statements syntax_errors typescript;
    hostile: forged leaks namespaces pollution rejections results throws;
    sandbox: clock console missing random timers web;
    values: arguments host_made objects returned;
    verbs: actionability api capture choosers clicks clock credentials dialogs downloads evaluate events fields files foreign frames
        hanging har keyboard locators long_pages navigation permissions responses routes selects
        snapshots tabs traffic unsupported workflows;
}

mod examples {
    /// `reference.rs` checks that there is exactly one example per verb.
    #[test]
    fn of_all_verbs() {
        super::case::run_examples();
    }
}

#[test]
fn every_case_file_has_its_test() {
    let mut found = BTreeSet::new();
    for group in fs::read_dir(case::folder()).unwrap().flatten().filter(|group| group.file_name() != case::EXAMPLES) {
        for file in fs::read_dir(group.path()).unwrap().flatten() {
            found.insert(format!("{}/{}", group.file_name().to_str().unwrap(), file.file_name().to_str().unwrap()));
        }
    }
    assert_eq!(found, FILES.iter().map(|file| (*file).to_owned()).collect());
}
