//! Finds the command or event that a misspelled name most likely meant.

use codemode_spec::limits::METHOD_NAME_CHARS_MAX;

/// Names that other tools use for a command, which string similarity would not find.
const ALIASES: &[(&str, &str)] = &[
    ("goto", "Page.navigate"),
    ("open", "Page.navigate"),
    ("newpage", "Target.createTarget"),
    ("newtab", "Target.createTarget"),
    ("click", "Input.dispatchMouseEvent"),
    ("mouseclick", "Input.dispatchMouseEvent"),
    ("type", "Input.insertText"),
    ("typetext", "Input.insertText"),
    ("fill", "Input.insertText"),
    ("press", "Input.dispatchKeyEvent"),
    ("presskey", "Input.dispatchKeyEvent"),
    ("scroll", "Input.synthesizeScrollGesture"),
    ("eval", "Runtime.evaluate"),
    ("execute", "Runtime.evaluate"),
    ("executescript", "Runtime.evaluate"),
    ("pdf", "Page.printToPDF"),
    ("content", "DOM.getOuterHTML"),
    ("gethtml", "DOM.getOuterHTML"),
    ("setcontent", "Page.setDocumentContent"),
    ("setviewport", "Emulation.setDeviceMetricsOverride"),
    ("setuseragent", "Emulation.setUserAgentOverride"),
];

/// The most common domains, preferred where similarity alone does not decide.
const USUAL_DOMAINS: &[&str] = &["Page", "Runtime", "DOM", "Input", "Network", "Target", "Emulation", "Browser"];

/// The candidate, given as domain and member, that is most similar to a name; `None` if none is similar enough to have
/// been meant.
pub(crate) fn nearest<'a>(name: &str, candidates: impl Iterator<Item = (&'a str, &'a str)>) -> Option<String> {
    // Similarity is expensive to compute for a long name, and no real name is that long.
    let lower = Some(name.trim()).filter(|name| name.len() <= METHOD_NAME_CHARS_MAX)?.to_lowercase();
    let (domain, member) = match lower.split_once('.') {
        Some((domain, member)) => (Some(domain), member),
        None => (None, lower.as_str()),
    };
    let alias = ALIASES.iter().find(|(alias, _)| *alias == member).map(|(_, full)| *full);
    let (mut best, mut best_score) = (None, 0.0);
    for (candidate_domain, candidate_member) in candidates {
        let full = || format!("{candidate_domain}.{candidate_member}");
        let score = if alias.is_some_and(|alias| alias == full()) {
            // Below the score of an exact member in the right domain.
            0.97
        } else {
            score(domain, member, candidate_domain, candidate_member)
        };
        if score > best_score {
            (best, best_score) = (Some(full()), score);
        }
    }
    best.filter(|_| best_score >= 0.6)
}

/// The similarity of a name to a candidate, from 0 to 1.
fn score(domain: Option<&str>, member: &str, candidate_domain: &str, candidate_member: &str) -> f64 {
    let usual = USUAL_DOMAINS.iter().position(|usual| *usual == candidate_domain);
    let usual = usual.map_or(0.0, |place| 1.0 - place as f64 / 20.0);
    let of_domain = match domain {
        None => usual,
        Some(domain) => {
            strsim::normalized_damerau_levenshtein(domain, &candidate_domain.to_lowercase()) * 0.95 + usual * 0.05
        }
    };
    0.75 * likeness(member, &candidate_member.to_lowercase()) + 0.25 * of_domain
}

fn likeness(member: &str, candidate: &str) -> f64 {
    let letters = strsim::normalized_damerau_levenshtein(member, candidate);
    // `screenshot` means `captureScreenshot`, although it is much shorter.
    let part = if member.len() >= 4 && candidate.contains(member) {
        0.55 + 0.4 * member.len() as f64 / candidate.len() as f64
    } else {
        0.0
    };
    letters.max(part)
}
