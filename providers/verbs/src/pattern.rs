//! URL patterns: a glob, a regular expression, or a whole URL.

use codemode_spec::{ErrorCode, ErrorReport, limits::PATTERN_BYTES_MAX};
use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Serialize};
use std::fmt;
use url::Url;

/// A pattern of an address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum UrlPattern {
    /// `*` is any part without a slash, `**` any part, `{a,b}` one of several. Without any of them the address itself, as
    /// the page would resolve it.
    Glob {
        /// The glob.
        glob: String,
    },
    /// A regular expression that is found in the address.
    Regex {
        /// Its source.
        regex: String,
        /// Its flags, in the form of JavaScript.
        #[serde(default)]
        flags: String,
    },
}

impl fmt::Display for UrlPattern {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Glob { glob } => write!(out, "{glob:?}"),
            Self::Regex { regex, flags } => write!(out, "/{regex}/{flags}"),
        }
    }
}

/// A compiled pattern.
#[derive(Debug)]
pub(crate) struct Compiled(Regex);

impl Compiled {
    pub(crate) fn matches(&self, url: &str) -> bool {
        self.0.is_match(url)
    }
}

impl UrlPattern {
    /// Compiles the pattern; a relative URL is resolved against `base`.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if it is not a valid regular expression, or is too long. This host's regular expressions have
    /// neither look-around nor back-references, so that matching takes time linear in the URL, whatever pattern a
    /// script passes.
    pub(crate) fn compiled(&self, base: &str) -> Result<Compiled, ErrorReport> {
        let (source, flags) = match self {
            Self::Glob { glob } => (regex_of(glob, base), ""),
            Self::Regex { regex, flags } => (regex.clone(), flags.as_str()),
        };
        if source.len() > PATTERN_BYTES_MAX {
            return Err(invalid(format!("the pattern of an address may have {PATTERN_BYTES_MAX} bytes")));
        }
        let built = RegexBuilder::new(&source)
            .case_insensitive(flags.contains('i'))
            .multi_line(flags.contains('m'))
            .dot_matches_new_line(flags.contains('s'))
            .build();
        built.map(Compiled).map_err(|error| {
            invalid(format!("{self} cannot be used as a pattern of addresses: {error}"))
                .with_hint("Use a simpler expression, a glob such as \"**/path*\", or a function.")
        })
    }
}

/// Translates a glob to a regular expression.
fn regex_of(glob: &str, base: &str) -> String {
    let is_literal = !glob.contains(['*', '{', '?', '[']);
    let glob = match (is_literal, Url::parse(base)) {
        (true, Ok(base)) => base.join(glob).map_or_else(|_| glob.to_owned(), Into::into),
        (false, Ok(base)) if glob.starts_with('/') => format!("{}{glob}", base.origin().ascii_serialization()),
        _ => glob.to_owned(),
    };
    let mut source = String::from("^");
    let mut letters = glob.chars().peekable();
    let mut groups = 0;
    while let Some(letter) = letters.next() {
        match letter {
            '*' if letters.next_if_eq(&'*').is_some() => {
                while letters.next_if_eq(&'*').is_some() {}
                if letters.next_if_eq(&'/').is_some() {
                    source.push_str("(.*/)?");
                } else {
                    source.push_str(".*");
                }
            }
            '*' => source.push_str("[^/]*"),
            '{' => {
                groups += 1;
                source.push_str("(?:");
            }
            '}' if groups > 0 => {
                groups -= 1;
                source.push(')');
            }
            ',' if groups > 0 => source.push('|'),
            '\\' => source.push_str(&regex::escape(&letters.next().unwrap_or('\\').to_string())),
            letter => source.push_str(&regex::escape(&letter.to_string())),
        }
    }
    source.push('$');
    source
}

fn invalid(message: String) -> ErrorReport {
    ErrorReport::new(ErrorCode::InvalidArgument, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_and_expressions_match_addresses() {
        let glob = |glob: &str| UrlPattern::Glob { glob: glob.into() };
        let regex = |regex: &str, flags: &str| UrlPattern::Regex { regex: regex.into(), flags: flags.into() };
        let base = "http://localhost:1/a/b?c";
        let rows = [
            (glob("**/home"), "http://localhost:1/x/home", true),
            (glob("**/home"), "http://localhost:1/home", true),
            (glob("**/home"), "http://localhost:1/homes", false),
            (glob("**/*.{png,jpg}"), "http://h/x/y.jpg", true),
            (glob("**/*.{png,jpg}"), "http://h/x/y.gif", false),
            (glob("http://h/*"), "http://h/a/b", false),
            (glob("/done"), "http://localhost:1/done", true),
            (glob("next"), "http://localhost:1/a/next", true),
            (glob("/q*"), "http://localhost:1/q2", true),
            (glob("http://h/a+b"), "http://h/a+b", true),
            (regex("HOME$", "i"), "http://h/home", true),
            (regex("^home$", ""), "http://h/home", false),
        ];
        for (pattern, url, expected) in rows {
            assert_eq!(pattern.compiled(base).unwrap().matches(url), expected, "{pattern} {url}");
        }
        for bad in [regex("(", ""), regex("(?=a)", ""), glob(&"a".repeat(PATTERN_BYTES_MAX + 1)), glob("{a")] {
            assert_eq!(bad.compiled(base).unwrap_err().code, ErrorCode::InvalidArgument, "{bad}");
        }
    }
}
