//! The encodings of a secret in which pages, protocols and programs usually pass it on.
//!
//! A value that was transformed in any other way, split or reversed is not recognised.

use base64::{
    Engine as _,
    prelude::{BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE_NO_PAD},
};
use codemode_spec::limits::SECRET_BASE64_BYTES_MIN;
use std::{collections::BTreeSet, fmt::Write as _};

/// All encodings of a value, as bytes in UTF-8, Latin-1 and UTF-16.
pub(super) fn forms(value: &str) -> BTreeSet<Vec<u8>> {
    let collapsed = value.split_whitespace().collect::<Vec<_>>().join(" ");
    let plain = BTreeSet::from([value.to_owned(), collapsed]);
    let mut texts: BTreeSet<String> =
        plain.iter().flat_map(|text| escaped_in_json(text)).chain(plain.clone()).collect();
    // Apply one more level of escaping: JSON in JSON, in a URL, in markup.
    let around: Vec<String> = texts
        .iter()
        .flat_map(|text| escaped_in_json(text).into_iter().chain(escaped_in_markup(text)).chain(escaped_in_urls(text)))
        .collect();
    texts.extend(around);
    let mut forms: BTreeSet<Vec<u8>> = texts.iter().flat_map(|text| encodings(text)).collect();
    for bytes in encodings(value) {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut encoded = vec![hex.to_uppercase(), hex];
        encoded.extend(in_base64(&bytes));
        forms.extend(encoded.iter().flat_map(|text| encodings(text)));
    }
    forms.retain(|form| !form.is_empty());
    forms
}

/// A text in UTF-8, in UTF-16, and in Latin-1 if that can represent it.
fn encodings(text: &str) -> Vec<Vec<u8>> {
    let utf16 = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let latin1: Option<Vec<u8>> = text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect();
    [text.as_bytes().to_vec(), utf16].into_iter().chain(latin1).collect()
}

/// A text within a JSON or JavaScript string, as different serialisers escape it.
fn escaped_in_json(text: &str) -> Vec<String> {
    let plain = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        _ => c.to_string(),
    };
    let slashes = |c: char| if c == '/' { "\\/".to_owned() } else { plain(c) };
    let units = |c: char, upper: bool| {
        let mut units = [0; 2];
        c.encode_utf16(&mut units)
            .iter()
            .map(|unit| if upper { format!("\\u{unit:04X}") } else { format!("\\u{unit:04x}") })
            .collect::<String>()
    };
    let in_markup = |c: char| matches!(c, '<' | '>' | '&' | '\'');
    let ascii = |upper: bool| move |c: char| if c.is_ascii() { plain(c) } else { units(c, upper) };
    let safe = |upper: bool| move |c: char| if in_markup(c) || !c.is_ascii() { units(c, upper) } else { plain(c) };
    let safe_text = |upper: bool| move |c: char| if in_markup(c) { units(c, upper) } else { plain(c) };
    vec![
        text.chars().map(plain).collect(),
        text.chars().map(slashes).collect(),
        text.chars().map(ascii(false)).collect(),
        text.chars().map(ascii(true)).collect(),
        text.chars().map(safe(false)).collect(),
        text.chars().map(safe(true)).collect(),
        text.chars().map(safe_text(false)).collect(),
        text.chars().map(safe_text(true)).collect(),
    ]
}

/// A text within HTML, as text content and as an attribute.
fn escaped_in_markup(text: &str) -> Vec<String> {
    let escape = |of: &dyn Fn(char) -> Option<&'static str>| -> String {
        text.chars().map(|c| of(c).map_or_else(|| c.to_string(), str::to_owned)).collect()
    };
    let as_text = |c: char| match c {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        '\u{a0}' => Some("&nbsp;"),
        _ => None,
    };
    let quoted = |c: char, double: &'static str, single: Option<&'static str>| match c {
        '"' => Some(double),
        '\'' => single,
        _ => as_text(c),
    };
    vec![
        escape(&as_text),
        escape(&|c| quoted(c, "&quot;", None)),
        escape(&|c| quoted(c, "&quot;", Some("&#39;"))),
        escape(&|c| quoted(c, "&quot;", Some("&#x27;"))),
        escape(&|c| quoted(c, "&quot;", Some("&apos;"))),
        escape(&|c| quoted(c, "&#34;", Some("&#39;"))),
        // Attributes as older serialisers write them.
        escape(&|c| match c {
            '&' => Some("&amp;"),
            '"' => Some("&quot;"),
            _ => None,
        }),
    ]
}

/// A text within a URL or the body of a form.
fn escaped_in_urls(text: &str) -> Vec<String> {
    // The characters that each serialiser leaves unescaped, besides letters and digits: encodeURIComponent, forms, RFC
    // 3986, encodeURI, a query, a path, a fragment.
    const LEFT: [&str; 7] = [
        "-_.!~*'()",
        "*-._",
        "-._~",
        "-_.!~*'();,/?:@&=+$#",
        "-_.!~*();,/?:@&=+$[]\\^`{|}%",
        "-_.!~*'();,/:@&=+$[]\\|%",
        "-_.!~*'();,/?:@&=+$#[]\\^{|}%",
    ];
    let mut escaped = Vec::new();
    for left in LEFT {
        for (space, upper) in [("%20", true), ("%20", false), ("+", true), ("+", false)] {
            let mut written = String::new();
            for byte in text.bytes() {
                let c = char::from(byte);
                if byte.is_ascii_alphanumeric() || (byte.is_ascii() && left.contains(c)) {
                    written.push(c);
                } else if byte == b' ' {
                    written.push_str(space);
                } else {
                    // Writing to a string cannot fail.
                    let _ = if upper { write!(written, "%{byte:02X}") } else { write!(written, "%{byte:02x}") };
                }
            }
            escaped.push(written);
        }
    }
    escaped
}

/// The part of a text's base64 that does not depend on the surrounding bytes, for each of the three possible
/// alignments.
fn in_base64(bytes: &[u8]) -> Vec<String> {
    if bytes.len() < SECRET_BASE64_BYTES_MIN {
        return Vec::new();
    }
    let mut encoded = Vec::new();
    for before in 0..3 {
        let padded = [&vec![0; before], bytes].concat();
        // Each letter encodes six bits: the first letter that holds bits of the text alone, and the first after those.
        let (first, end) = ((before * 8).div_ceil(6), padded.len() * 8 / 6);
        for text in [BASE64_STANDARD_NO_PAD.encode(&padded), BASE64_URL_SAFE_NO_PAD.encode(&padded)] {
            encoded.push(text[first..end].to_owned());
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_known_in_the_forms_in_which_it_usually_appears() {
        let value = "p@ss\"<wört>/7 &'";
        let forms = forms(value);
        let rows = [
            value,
            "p@ss\\\"<wört>/7 &'",
            "p@ss\\\"<w\\u00f6rt>/7 &'",
            "p@ss\\\"\\u003cw\\u00f6rt\\u003e/7 \\u0026\\u0027",
            "p@ss\\\\\\\"<wört>/7 &'",
            "p@ss\\\"<wört>\\/7 &'",
            "p%40ss%22%3Cw%C3%B6rt%3E%2F7%20%26'",
            "p%40ss%22%3Cw%C3%B6rt%3E%2F7+%26%27",
            "p%40ss%22%3cw%c3%b6rt%3e%2f7+%26%27",
            "p@ss%22%3Cw%C3%B6rt%3E/7%20&'",
            "p%40ss%5C%22%3Cw%C3%B6rt%3E%2F7%20%26'",
            "p@ss\"&lt;wört&gt;/7 &amp;'",
            "p@ss&quot;&lt;wört&gt;/7 &amp;&#39;",
            "7040737322",
        ];
        for row in &rows[..rows.len() - 1] {
            assert!(forms.contains(row.as_bytes()), "{row}");
        }
        let hex = forms.iter().any(|form| form.starts_with(rows[rows.len() - 1].as_bytes()));
        assert!(hex, "in hexadecimal digits");
        let utf16: Vec<u8> = value.encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert!(forms.contains(&utf16));
        assert!(forms.contains(&value.chars().map(|c| c as u32 as u8).collect::<Vec<u8>>()), "in Latin-1");
    }

    #[test]
    fn base64_is_known_wherever_the_value_stands_in_it() {
        let value = "hunter2?>";
        let forms = forms(value);
        for before in ["", "a", "ab", "abc", "user="] {
            for after in ["", "z", "zy", "&x=1"] {
                let text = format!("{before}{value}{after}");
                for encoded in [BASE64_STANDARD_NO_PAD.encode(&text), BASE64_URL_SAFE_NO_PAD.encode(&text)] {
                    let known = forms.iter().any(|form| {
                        form.len() > 8 && encoded.as_bytes().windows(form.len()).any(|window| window == form)
                    });
                    assert!(known, "{text}: {encoded}");
                }
            }
        }
        assert!(!super::forms("1234").iter().any(|form| form == b"MTIzN"), "so short a text stands there by chance");
    }
}
