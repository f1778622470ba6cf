//! Finds the rows of the table that can concern a command, without reading the others.

use super::table::{ALL, BROWSER_WIDE_ONLY, Row, TABLE, domain_of};
use std::{collections::HashMap, sync::LazyLock};

static INDEX: LazyLock<Index> = LazyLock::new(Index::new);

struct Index {
    /// By a full name that a row has.
    by_method: HashMap<&'static str, Vec<&'static Row>>,
    /// By the domain of a pattern that a row has, for all other commands of that domain.
    by_domain: HashMap<&'static str, Vec<&'static Row>>,
    /// For the commands of all other domains.
    others: Vec<&'static Row>,
}

impl Index {
    fn new() -> Self {
        let patterns = || TABLE.iter().flat_map(|row| row.methods).copied();
        let names = patterns().filter(|pattern| !pattern.contains('*'));
        let domains = patterns().filter_map(|pattern| pattern.strip_suffix(".*"));
        Self {
            by_method: names.map(|name| (name, rows_that_name(name, domain_of(name)))).collect(),
            by_domain: domains.map(|domain| (domain, rows_that_name("", domain))).collect(),
            others: rows_that_name("", ""),
        }
    }
}

/// The rows that can concern a command, in the order of the table: those that have its name or its domain, and those
/// for every command or every command that affects the browser as a whole.
pub(super) fn rows_for(method: &str) -> &'static [&'static Row] {
    let named = INDEX.by_method.get(method).or_else(|| INDEX.by_domain.get(domain_of(method)));
    named.unwrap_or(&INDEX.others)
}

fn rows_that_name(method: &str, domain: &str) -> Vec<&'static Row> {
    let is_named = |pattern: &&str| match pattern.strip_suffix(".*") {
        Some(of_domain) => of_domain == domain,
        None => [method, ALL, BROWSER_WIDE_ONLY].contains(pattern),
    };
    TABLE.iter().filter(|row| row.methods.iter().any(&is_named)).collect()
}
