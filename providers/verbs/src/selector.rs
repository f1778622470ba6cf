//! Parses selector strings into steps: `css`, `//xpath`, `text=…`, `role=…[name="…"]`, `@e5`, joined by `>>`.

use crate::target::{Mixed, Role, Step, Target, Text, Tristate};
use codemode_spec::{ErrorCode, ErrorReport, limits::TARGET_STEPS_MAX};

impl Target {
    /// Expands every selector to steps, and enforces the limit of steps.
    ///
    /// # Errors
    /// `INVALID_SELECTOR`.
    pub(crate) fn expanded(&self) -> Result<Vec<Step>, ErrorReport> {
        let mut left = TARGET_STEPS_MAX;
        let steps = expand(&self.steps, &mut left)?;
        if steps.is_empty() {
            return Err(ErrorReport::new(ErrorCode::InvalidSelector, "the target names nothing")
                .with_hint("Name an element by a selector, a role, a label, a text or a ref."));
        }
        Ok(steps)
    }
}

fn expand(steps: &[Step], left: &mut usize) -> Result<Vec<Step>, ErrorReport> {
    let mut expanded = Vec::with_capacity(steps.len());
    for step in steps {
        let parsed = match step {
            Step::Selector { value } => parse(value)?,
            Step::Has { steps, not } => vec![Step::Has { steps: expand(steps, left)?, not: *not }],
            Step::And { steps } => vec![Step::And { steps: expand(steps, left)? }],
            Step::Or { steps } => vec![Step::Or { steps: expand(steps, left)? }],
            step => vec![step.clone()],
        };
        *left = left.checked_sub(parsed.len()).ok_or_else(|| {
            ErrorReport::new(ErrorCode::InvalidSelector, format!("a target may have {TARGET_STEPS_MAX} steps"))
        })?;
        expanded.extend(parsed);
    }
    Ok(expanded)
}

/// The steps of a selector.
///
/// # Errors
/// `INVALID_SELECTOR`.
fn parse(selector: &str) -> Result<Vec<Step>, ErrorReport> {
    if selector.trim().is_empty() {
        return Err(invalid("a selector must not be empty"));
    }
    parts(selector).into_iter().map(|part| step(part.trim())).collect()
}

/// Splits at each `>>` outside of quotes and brackets.
fn parts(selector: &str) -> Vec<&str> {
    let bytes = selector.as_bytes();
    let (mut parts, mut start, mut quote, mut at) = (Vec::new(), 0, None, 0);
    while at < bytes.len() {
        match (quote, bytes[at]) {
            (_, b'\\') => at += 1,
            (Some(open), byte) if byte == open => quote = None,
            (None, byte @ (b'"' | b'\'' | b'`')) if opens_quote(selector, start, at) => quote = Some(byte),
            (None, b'>') if bytes.get(at + 1) == Some(&b'>') => {
                parts.push(&selector[start..at]);
                at += 1;
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    parts.push(&selector[start..]);
    parts
}

/// Whether a quotation mark begins a quoted text: in the bare text of `text=it's` it does not.
fn opens_quote(selector: &str, start: usize, at: usize) -> bool {
    let before = selector[start..at].trim_start();
    match before.split_once('=').map(|(engine, value)| (engine.trim(), value)) {
        Some(("text", value)) => value.is_empty(),
        Some(("label" | "placeholder" | "alt" | "title" | "data-testid" | "id", value)) => value.trim().is_empty(),
        _ => true,
    }
}

fn step(part: &str) -> Result<Step, ErrorReport> {
    if part.is_empty() {
        return Err(invalid("there is nothing between two >>"));
    }
    if let Some(value) = reference(part) {
        return Ok(Step::Ref { value });
    }
    if part.trim_start_matches('(').starts_with("//") || part.starts_with("..") {
        return Ok(Step::XPath { value: part.to_owned() });
    }
    if unquoted(part).is_some() {
        return Ok(Step::Text { text: own_text(part) });
    }
    let Some((engine, body)) = part.split_once('=').map(|(engine, body)| (engine.trim(), body)) else {
        return Ok(Step::Css { value: part.to_owned() });
    };
    // As in Playwright, a space before a quotation mark is part of the text.
    if engine == "text" {
        return Ok(Step::Text { text: own_text(body) });
    }
    let body = body.trim();
    Ok(match engine {
        "css" => Step::Css { value: body.to_owned() },
        "xpath" => Step::XPath { value: body.to_owned() },
        "label" => Step::Label { text: text(body) },
        "placeholder" => Step::Placeholder { text: text(body) },
        "alt" => Step::Alt { text: text(body) },
        "title" => Step::Title { text: text(body) },
        "id" => Step::Css { value: format!("[id={}]", quoted(body)) },
        "data-testid" | "data-test-id" | "data-test" => Step::Css { value: format!("[{engine}={}]", quoted(body)) },
        "role" => Step::Role(role(body)?),
        "ref" | "aria-ref" => Step::Ref { value: reference(body).unwrap_or_else(|| body.to_owned()) },
        "nth" => {
            let index = body.parse().map_err(|_| invalid(format!("nth={body} is not a number")))?;
            Step::Nth { index }
        }
        "visible" => match body {
            "true" | "false" => Step::Visible { visible: body == "true" },
            _ => return Err(invalid("visible is true or false")),
        },
        engine if is_engine_name(engine) => {
            return Err(invalid(format!("Unknown engine \"{engine}\" while parsing selector {part}")).with_hint(
                "Write CSS, or one of text=, role=, label=, placeholder=, alt=, title=, data-testid=, xpath=.",
            ));
        }
        // The equals sign of a CSS attribute selector.
        _ => Step::Css { value: part.to_owned() },
    })
}

/// Whether the text before an equals sign looks like the name of a selector engine: no CSS selector begins so.
fn is_engine_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-+:*".contains(&byte))
}

/// `e5`, written as `@e5`, `e5` or `ref=e5`.
fn reference(part: &str) -> Option<String> {
    let bare = part.strip_prefix('@').unwrap_or(part);
    let digits = bare.strip_prefix('e')?;
    (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| bare.to_owned())
}

/// A text: a quoted one matches the whole text, one between slashes is a regular expression, any other matches a part.
fn text(body: &str) -> Text {
    match unquoted(body) {
        Some(text) => Text::whole(text),
        None => regex(body).unwrap_or_else(|| Text::part(body)),
    }
}

/// The content of quotation marks; a backslash escapes the next character.
fn unquoted(body: &str) -> Option<String> {
    let inner = ['"', '\''].iter().find_map(|quote| body.strip_prefix(*quote)?.strip_suffix(*quote))?;
    let mut letters = inner.chars();
    let mut text = String::with_capacity(inner.len());
    while let Some(letter) = letters.next() {
        text.push(if letter == '\\' { letters.next().unwrap_or(letter) } else { letter });
    }
    Some(text)
}

/// The text of `text=`: a quoted one must be a text node of the element itself.
fn own_text(body: &str) -> Text {
    match text(body) {
        Text::Plain { text, exact: true, .. } => Text::own(text),
        text => text,
    }
}

/// `/source/flags`
fn regex(body: &str) -> Option<Text> {
    let (source, flags) = body.strip_prefix('/')?.rsplit_once('/')?;
    let is_flags = flags.bytes().all(|flag| b"dgimsuy".contains(&flag));
    (is_flags && !source.is_empty()).then(|| Text::Regex { regex: source.to_owned(), flags: flags.to_owned() })
}

/// `button[name="OK" i][checked]`
fn role(body: &str) -> Result<Role, ErrorReport> {
    let (name, mut rest) = body.split_at(body.find('[').unwrap_or(body.len()));
    let mut role = Role { role: name.trim().to_owned(), ..Role::default() };
    while let Some(inner) = rest.strip_prefix('[') {
        let end = closing(inner).ok_or_else(|| invalid(format!("role={body}: a bracket is not closed")))?;
        attribute(&mut role, &inner[..end])
            .ok_or_else(|| invalid(format!("role={body}: [{}] is not known", &inner[..end])))?;
        rest = inner[end + 1..].trim_start();
    }
    Ok(role)
}

/// The index of the bracket that closes the one opened before the text.
fn closing(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut is_escaped = false;
    text.char_indices().find_map(|(at, letter)| {
        if std::mem::take(&mut is_escaped) {
            return None;
        }
        match (quote, letter) {
            (_, '\\') => is_escaped = true,
            (Some(open), _) if open == letter => quote = None,
            (None, '"' | '\'' | '/') => quote = Some(letter),
            (None, ']') => return Some(at),
            _ => {}
        }
        None
    })
}

fn attribute(role: &mut Role, attribute: &str) -> Option<()> {
    let (name, value) = match attribute.split_once('=') {
        Some((name, value)) => (name.trim(), Some(value.trim())),
        None => (attribute.trim(), None),
    };
    let (name, operator) = match name.strip_suffix(['*', '^', '$', '~', '|']) {
        Some(name) => (name.trim_end(), attribute.split_once('=')?.0.trim_end().chars().last()),
        None => (name, None),
    };
    if operator.is_some() && !matches!(name, "name" | "description") {
        return None;
    }
    let flag = || match value {
        None | Some("true") => Some(true),
        Some("false") => Some(false),
        Some(_) => None,
    };
    let tristate = || match value.map(|value| unquoted(value).unwrap_or_else(|| value.to_owned())).as_deref() {
        Some("mixed") => Some(Tristate::Mixed(Mixed::Mixed)),
        _ => flag().map(Tristate::Known),
    };
    match name {
        "name" => role.name = Some(role_text(value?, operator)?),
        "description" => role.description = Some(role_text(value?, operator)?),
        "checked" => role.checked = Some(tristate()?),
        "disabled" => role.disabled = Some(flag()?),
        "expanded" => role.expanded = Some(flag()?),
        "pressed" => role.pressed = Some(tristate()?),
        "selected" => role.selected = Some(flag()?),
        "level" => role.level = Some(value?.parse().ok()?),
        "include-hidden" => role.include_hidden = flag()?,
        _ => return None,
    }
    Some(())
}

/// The text of `[name="text" i]` and similar attributes.
fn role_text(value: &str, operator: Option<char>) -> Option<Text> {
    let (value, in_any_case) = match value.strip_suffix(['i', 's']) {
        Some(rest) if rest.ends_with([' ', '"', '\'']) => (rest.trim_end(), value.ends_with('i')),
        _ => (value, false),
    };
    Some(match (text(value), operator) {
        (Text::Plain { text, .. }, None) if in_any_case => Text::part(text),
        (Text::Plain { text, .. }, None) => Text::whole(text),
        (Text::Plain { text, .. }, Some(operator)) => part_of_name(&text, operator, in_any_case),
        (regex, None) => regex,
        (_, Some(_)) => return None,
    })
}

/// Translates `[name*="text"]` and the other CSS operators to a test of an accessible name.
fn part_of_name(text: &str, operator: char, in_any_case: bool) -> Text {
    let special = |letter: char| r"\^$.*+?()[]{}|/-".contains(letter);
    let escaped: String =
        text.chars().flat_map(|letter| special(letter).then_some('\\').into_iter().chain([letter])).collect();
    let regex = match operator {
        '^' => format!("^{escaped}"),
        '$' => format!("{escaped}$"),
        '~' => format!(r"(?:^|\s){escaped}(?:\s|$)"),
        '|' => format!("^{escaped}(?:-|$)"),
        _ => escaped,
    };
    Text::Regex { regex, flags: if in_any_case { "i".to_owned() } else { String::new() } }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text.trim_matches('"')).to_string()
}

fn invalid(message: impl Into<String>) -> ErrorReport {
    ErrorReport::new(ErrorCode::InvalidSelector, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value as Json, json};

    #[test]
    fn selectors_become_steps() {
        let rows: &[(&str, Json)] = &[
            ("#a > b", json!([{"by": "css", "value": "#a > b"}])),
            ("css=a >> nth=-1", json!([{"by": "css", "value": "a"}, {"by": "nth", "index": -1}])),
            ("//a[b='>>']", json!([{"by": "xpath", "value": "//a[b='>>']"}])),
            (
                "text=it's >> visible=true",
                json!([
                {"by": "text", "text": {"text": "it's", "exact": false}}, {"by": "visible", "visible": true}]),
            ),
            ("text=\"A >> B\"", json!([{"by": "text", "text": {"text": "A >> B", "exact": true, "own": true}}])),
            ("text=/a+/i", json!([{"by": "text", "text": {"regex": "a+", "flags": "i"}}])),
            ("'Save'", json!([{"by": "text", "text": {"text": "Save", "exact": true, "own": true}}])),
            ("@e12", json!([{"by": "ref", "value": "e12"}])),
            ("e12", json!([{"by": "ref", "value": "e12"}])),
            ("em", json!([{"by": "css", "value": "em"}])),
            ("[data-x=\"1\"]", json!([{"by": "css", "value": "[data-x=\"1\"]"}])),
            ("data-testid=a", json!([{"by": "css", "value": "[data-testid=\"a\"]"}])),
            (
                "role=button[name=\"a]b\" i][pressed=false]",
                json!([
                {"by": "role", "role": "button", "name": {"text": "a]b", "exact": false}, "pressed": false}]),
            ),
            (
                "role=button[name*=\"a.b\"] >> role=link[name^='x' i]",
                json!([
                {"by": "role", "role": "button", "name": {"regex": "a\\.b", "flags": ""}},
                {"by": "role", "role": "link", "name": {"regex": "^x", "flags": "i"}}]),
            ),
            ("role=heading[level=2]", json!([{"by": "role", "role": "heading", "level": 2}])),
            (
                "role=checkbox[checked=\"mixed\"] >> role=button[pressed=mixed]",
                json!([
                {"by": "role", "role": "checkbox", "checked": "mixed"}, {"by": "role", "role": "button", "pressed": "mixed"}]),
            ),
            (
                "role=button[description=\"Goes away\"i][name='A']",
                json!([
                {"by": "role", "role": "button", "name": {"text": "A", "exact": true},
                 "description": {"text": "Goes away", "exact": false}}]),
            ),
            (
                r#"text="a \"b\" \\ c""#,
                json!([{"by": "text", "text": {"text": r#"a "b" \ c"#, "exact": true, "own": true}}]),
            ),
            (r#"text='a "b"'"#, json!([{"by": "text", "text": {"text": "a \"b\"", "exact": true, "own": true}}])),
            (r#"text= "a""#, json!([{"by": "text", "text": {"text": " \"a\"", "exact": false}}])),
            (
                r"text=/a\/'b/i >> i",
                json!([
                {"by": "text", "text": {"regex": r"a\/'b", "flags": "i"}}, {"by": "css", "value": "i"}]),
            ),
            ("((//a)[1])", json!([{"by": "xpath", "value": "((//a)[1])"}])),
        ];
        for (selector, steps) in rows {
            assert_eq!(json!(parse(selector).unwrap()), *steps, "{selector}");
        }
        for selector in
            ["", "  ", "a >> ", "nth=x", "visible=1", "role=a[b]", "role=a[name=\"x\"", "role=a[level*=2]", "txt=a"]
        {
            assert_eq!(parse(selector).unwrap_err().code, ErrorCode::InvalidSelector, "{selector}");
        }
    }
}
