//! URL patterns: a glob, a regular expression, or a whole URL.

use codemode_spec::{ErrorCode, ErrorReport, limits::PATTERN_BYTES_MAX};
use regex::{Captures, Regex, RegexBuilder};
use serde::{Deserialize, Serialize};
use std::{fmt, sync::LazyLock};
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
        let fits = |text: &str| match text.len() {
            0..=PATTERN_BYTES_MAX => Ok(()),
            _ => Err(invalid(format!("the pattern of an address may have {PATTERN_BYTES_MAX} bytes"))),
        };
        let (source, flags) = match self {
            Self::Glob { glob } => {
                fits(glob)?;
                (regex_of(glob, base), "")
            }
            Self::Regex { regex, flags } => (regex.clone(), flags.as_str()),
        };
        fits(&source)?;
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

/// What marks a part of a glob that is no part of a URL. As in Playwright, `?` and `[` stand for themselves.
const SPECIAL: [char; 4] = ['*', '{', '}', '\\'];

/// Translates a glob to a regular expression, as Playwright and `../../browser/js/steps.js` do.
fn regex_of(glob: &str, base: &str) -> String {
    let glob = resolved(glob, base);
    let mut source = String::from("^");
    let mut letters = glob.chars().peekable();
    let mut before = None;
    let mut groups = 0;
    while let Some(letter) = letters.next() {
        match letter {
            '*' if letters.next_if_eq(&'*').is_some() => {
                while letters.next_if_eq(&'*').is_some() {}
                source.push_str(match letters.next_if_eq(&'/') {
                    Some(_) if before == Some('/') => "(.+/)?",
                    Some(_) => "(.*/)",
                    None => ".*",
                });
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
        before = Some(letter);
    }
    source.push('$');
    source
}

/// The words that take the place of the special parts of a glob while it is resolved: they are the same in any URL.
static WORD: LazyLock<Regex> = LazyLock::new(|| Regex::new("codemode-([0-9]+)-glob").expect("it is valid"));

/// Resolves a glob against the URL of its page, unless it begins with a wildcard.
fn resolved(glob: &str, base: &str) -> String {
    if glob.starts_with('*') {
        return glob.to_owned();
    }
    let mut special = Vec::new();
    let mut word = |part| {
        special.push(part);
        format!("codemode-{}-glob", special.len() - 1)
    };
    let mut plain = Vec::new();
    for (at, part) in glob.split('/').enumerate() {
        plain.push(match part.find('?') {
            _ if !part.contains(SPECIAL) => part.to_owned(),
            // The special part is in the scheme, or in what has no path.
            _ if at == 0 && part.contains(':') => return glob.to_owned(),
            Some(0) => format!("?{}", word(&part[1..])),
            Some(query) => format!("{}?{}", word(&part[..query]), word(&part[query + 1..])),
            None => word(part),
        });
    }
    let base = Url::parse(base).ok();
    let Ok(url) = Url::options().base_url(base.as_ref()).parse(&plain.join("/")) else { return glob.to_owned() };
    let part = |word: &Captures<'_>| word[1].parse().ok().and_then(|at: usize| special.get(at).copied()).unwrap_or("");
    WORD.replace_all(url.as_str(), part).into_owned()
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
            (glob("results?q=1"), "http://localhost:1/a/results?q=1", true),
            (glob("results?q=1"), "http://localhost:1/a/resultsXq=1", false),
            (glob("results\\?q=1"), "http://localhost:1/a/results?q=1", true),
            (glob("?q=[1]"), "http://localhost:1/a/b?q=[1]", true),
            (glob("?q=*"), "http://localhost:1/a/b?q=2", true),
            (glob("?q=1"), "http://localhost:1/a/b?q=2", false),
            (glob("../{x,y}/z*"), "http://localhost:1/y/z1", true),
            (glob("../{x,y}/z*"), "http://localhost:1/a/y/z1", false),
            (glob("{x,y}?q"), "http://localhost:1/a/x?q", true),
            (glob("x/*?to=/../y"), "http://localhost:1/a/x/1?to=/../y", true),
            (glob("http://localhost:1"), "http://localhost:1/", true),
            (glob("http://LOCALHOST:1/a b/*"), "http://localhost:1/a%20b/c", true),
            (glob("{http,https}://localhost:*/d"), "https://localhost:2/d", true),
            (glob("//other/*"), "http://other/d", true),
            (glob("data:*"), "data:,x", true),
            (glob("about:blank"), "about:blank", true),
            (glob("*"), "http://localhost:1/a/b", false),
            (glob("http://h/**/x"), "http://h/x", true),
            (glob("http://h/**/x"), "http://h/y/z/x", true),
            (glob("http://h/a**/x"), "http://h/ab/x", true),
            (glob("http://h/a**/x"), "http://h/ax", false),
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
