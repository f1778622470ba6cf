//! Describes a target in messages, as the locator that a script would write for it.

use crate::target::{Role, Step, Text, Tristate};

/// The locator of these steps.
pub(crate) fn locator(steps: &[Step]) -> String {
    let mut words = String::new();
    for step in steps {
        if !words.is_empty() {
            words.push('.');
        }
        words.push_str(&step_call(step));
    }
    words
}

/// The locator of the frame element with which a target enters its frame number `entered`, counted from 0.
pub(crate) fn frame_owner(steps: &[Step], entered: usize) -> String {
    let enters = |step: &Step| matches!(step, Step::Frame { frame: None });
    let end = steps.iter().enumerate().filter(|(_, step)| enters(step)).nth(entered).map_or(steps.len(), |(at, _)| at);
    locator(&steps[..end])
}

fn step_call(step: &Step) -> String {
    match step {
        Step::Selector { value } | Step::Css { value } => format!("locator({})", quoted(value)),
        Step::XPath { value } => format!("locator({})", quoted(&format!("xpath={value}"))),
        Step::Ref { value } => format!("locator({})", quoted(&format!("@{value}"))),
        Step::Given => "locator(\":scope\")".to_owned(),
        Step::Role(role) => by_role(role),
        Step::Text { text } => by("Text", text),
        Step::Label { text } => by("Label", text),
        Step::Placeholder { text } => by("Placeholder", text),
        Step::Alt { text } => by("AltText", text),
        Step::Title { text } => by("Title", text),
        Step::TestId { text } => format!("getByTestId({})", text_literal(text)),
        Step::Nth { index: 0 } => "first()".to_owned(),
        Step::Nth { index: -1 } => "last()".to_owned(),
        Step::Nth { index } => format!("nth({index})"),
        Step::Visible { visible } => format!("filter({{ visible: {visible} }})"),
        Step::Has { steps, not } => {
            format!("filter({{ {}: {} }})", if *not { "hasNot" } else { "has" }, locator(steps))
        }
        Step::HasText { text, not } => {
            format!("filter({{ {}: {} }})", if *not { "hasNotText" } else { "hasText" }, text_literal(text))
        }
        Step::And { steps } => format!("and({})", locator(steps)),
        Step::Or { steps } => format!("or({})", locator(steps)),
        Step::Frame { frame: None } => "contentFrame()".to_owned(),
        Step::Frame { frame: Some(frame) } => format!("frame({})", quoted(frame)),
    }
}

fn by(what: &str, text: &Text) -> String {
    match text {
        Text::Plain { exact: true, .. } => format!("getBy{what}({}, {{ exact: true }})", text_literal(text)),
        _ => format!("getBy{what}({})", text_literal(text)),
    }
}

fn by_role(role: &Role) -> String {
    let mut options = Vec::new();
    let texts = [("name", &role.name), ("description", &role.description)];
    let texts = texts.iter().filter_map(|(option, text)| text.as_ref().map(|text| (option, text)));
    options.extend(texts.clone().map(|(option, text)| format!("{option}: {}", text_literal(text))));
    if texts.into_iter().any(|(_, text)| matches!(text, Text::Plain { exact: true, .. })) {
        options.push("exact: true".to_owned());
    }
    let flags = [
        ("checked", role.checked),
        ("disabled", role.disabled.map(Tristate::Known)),
        ("expanded", role.expanded.map(Tristate::Known)),
        ("pressed", role.pressed),
        ("selected", role.selected.map(Tristate::Known)),
    ];
    options.extend(flags.iter().filter_map(|(name, flag)| flag.map(|flag| format!("{name}: {flag}"))));
    options.extend(role.level.map(|level| format!("level: {level}")));
    if role.include_hidden {
        options.push("includeHidden: true".to_owned());
    }
    let role = quoted(&role.role);
    if options.is_empty() {
        format!("getByRole({role})")
    } else {
        format!("getByRole({role}, {{ {} }})", options.join(", "))
    }
}

fn text_literal(text: &Text) -> String {
    match text {
        Text::Regex { regex, flags } => format!("/{regex}/{flags}"),
        Text::Plain { text, .. } => quoted(text),
    }
}

/// In single quotes, as a script would write it.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::{Mixed, Target};

    #[test]
    fn a_target_reads_as_the_locator_that_was_written() {
        let steps = vec![
            Step::Selector { value: "#a".into() },
            Step::Frame { frame: None },
            Step::Role(Role { role: "button".into(), name: Some(Text::whole("It's")), ..Role::default() }),
            Step::HasText { text: Text::Regex { regex: "a+".into(), flags: "i".into() }, not: true },
            Step::Nth { index: -1 },
        ];
        assert_eq!(
            locator(&steps),
            "locator('#a').contentFrame().getByRole('button', { name: 'It\\'s', exact: true }).filter({ hasNotText: /a+/i }).last()"
        );
        assert_eq!(frame_owner(&steps, 0), "locator('#a')");
        let described = Role {
            role: "checkbox".into(),
            description: Some(Text::part("Of all")),
            checked: Some(Tristate::Mixed(Mixed::Mixed)),
            selected: Some(false),
            ..Role::default()
        };
        let words = "getByRole('checkbox', { description: 'Of all', checked: 'mixed', selected: false })";
        assert_eq!(locator(&[Step::Role(described)]), words);
        assert_eq!(locator(&Target::selector("a >> b").steps), "locator('a >> b')");
    }
}
