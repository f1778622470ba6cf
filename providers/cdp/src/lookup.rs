//! Lookup in the protocol's description: an index, everything about one name, or a search.

use crate::arguments::{Lookup, check_length};
use codemode_page::{CommandSpec, Domain, EventSpec, Property, Protocol, Shape, cut, is_of_a_page, is_refused, short};
use codemode_spec::{ErrorCode, ErrorReport};
use serde_json::{Map, Value as Json, json};
use std::collections::{BTreeMap, VecDeque};

/// The maximum number of search results.
const FOUND_MAX: usize = 25;
/// The maximum number of named types described along with a command or an event.
const TYPES_MAX: usize = 20;
/// The maximum length of a domain's description in the index.
const ABOUT_CHARS_MAX: usize = 60;

/// Answers a lookup.
///
/// # Errors
/// `INVALID_ARGUMENT` with the nearest name.
pub(crate) fn answer(protocol: &Protocol, lookup: &Lookup) -> Result<Json, ErrorReport> {
    match lookup {
        Lookup::Index => Ok(index(protocol)),
        Lookup::Named(name) => describe(protocol, name),
        Lookup::Search(query) => Ok(search(protocol, query)),
    }
}

/// Every domain with the names of its commands and events, small enough for one answer; looking up a domain then
/// describes its commands.
fn index(protocol: &Protocol) -> Json {
    let domain = |domain: &Domain| {
        let mut entry = Map::new();
        if let Some(description) = &domain.description {
            entry.insert("description".into(), cut(&first_sentence(description), ABOUT_CHARS_MAX).into());
        }
        // Deprecated ones are listed only when the domain is looked up.
        let commands = domain.commands.iter().filter(|command| !command.deprecated);
        let events = domain.events.iter().filter(|event| !event.deprecated);
        let commands: Vec<_> = commands.map(|command| command.name.as_str()).collect();
        let events: Vec<_> = events.map(|event| event.name.as_str()).collect();
        for (name, names) in [("commands", commands), ("events", events)] {
            if !names.is_empty() {
                entry.insert(name.into(), names.join(" ").into());
            }
        }
        (domain.name.clone(), Json::Object(entry))
    };
    Json::Object(protocol.domains().filter(|domain| !is_refused(&domain.name)).map(domain).collect())
}

/// Everything about a domain, a command, an event or a type.
fn describe(protocol: &Protocol, name: &str) -> Result<Json, ErrorReport> {
    check_length(name)?;
    if let Some(domain) = protocol.domain(name) {
        return Ok(describe_domain(domain));
    }
    if let Some(command) = protocol.command(name) {
        return Ok(with_types(
            protocol,
            name,
            describe_command(name, command),
            &[&command.parameters, &command.returns],
        ));
    }
    if let Some(event) = protocol.event(name) {
        return Ok(with_types(protocol, name, describe_event(name, event), &[&event.parameters]));
    }
    if let Some(type_) = protocol.type_(name) {
        let mut entry = json!({"kind": "type", "name": name});
        entry["shape"] = json!(type_.shape);
        return Ok(with_types(protocol, name, entry, &[&type_.shape.properties]));
    }
    let near = protocol.nearest_command(name).or_else(|| protocol.nearest_event(name)).or_else(|| {
        let domains = protocol.domains().map(|domain| domain.name.as_str());
        codemode_provider::nearest(name, domains).map(str::to_owned)
    });
    let shown = short(name);
    let hint = match near {
        Some(near) => format!("Did you mean {near}? cdp.spec({{search: \"word\"}}) searches names and descriptions."),
        None => "cdp.spec() lists everything; cdp.spec({search: \"word\"}) searches names and descriptions.".to_owned(),
    };
    Err(ErrorReport::new(ErrorCode::InvalidArgument, format!("the protocol has nothing named {shown:?}"))
        .with_hint(hint))
}

/// Commands and events whose name or description contains all the words, matches in names first.
fn search(protocol: &Protocol, query: &str) -> Json {
    let words: Vec<_> = query.split_whitespace().map(str::to_lowercase).collect();
    let mut found: Vec<(usize, Json)> = Vec::new();
    for domain in protocol.domains() {
        for command in &domain.commands {
            let name = format!("{}.{}", domain.name, command.name);
            if let Some(rank) = rank(&words, &name, command.description.as_deref(), command.deprecated) {
                found.push((rank, describe_command(&name, command)));
            }
        }
        for event in &domain.events {
            let name = format!("{}.{}", domain.name, event.name);
            if let Some(rank) = rank(&words, &name, event.description.as_deref(), event.deprecated) {
                found.push((rank, describe_event(&name, event)));
            }
        }
    }
    found.sort_by_key(|(rank, _)| *rank);
    let total = found.len();
    let results: Vec<_> = found.into_iter().take(FOUND_MAX).map(|(_, entry)| entry).collect();
    json!({"total": total, "results": results})
}

/// The rank of a match, 0 being best; `None` if a word is missing.
fn rank(words: &[String], name: &str, description: Option<&str>, deprecated: bool) -> Option<usize> {
    let (name, description) = (name.to_lowercase(), description.unwrap_or_default().to_lowercase());
    let mut rank = usize::from(deprecated);
    for word in words {
        if !name.contains(word.as_str()) {
            if !description.contains(word.as_str()) {
                return None;
            }
            rank += 2;
        }
    }
    Some(rank)
}

fn describe_domain(domain: &Domain) -> Json {
    let command = |command: &CommandSpec| {
        let line = json!({"parameters": signature(&command.parameters), "returns": signature(&command.returns)});
        (command.name.clone(), with_description(line, command.description.as_deref(), command.deprecated))
    };
    let event = |event: &EventSpec| {
        let line = json!({"params": signature(&event.parameters)});
        (event.name.clone(), with_description(line, event.description.as_deref(), event.deprecated))
    };
    let mut entry = json!({"kind": "domain", "name": domain.name});
    if let Some(description) = &domain.description {
        entry["description"] = json!(description);
    }
    entry["commands"] = Json::Object(domain.commands.iter().map(command).collect());
    entry["events"] = Json::Object(domain.events.iter().map(event).collect());
    entry["types"] = domain.types.iter().map(|spec| spec.id.as_str()).collect();
    entry
}

fn with_description(mut entry: Json, description: Option<&str>, deprecated: bool) -> Json {
    if let Some(description) = description {
        entry["description"] = json!(first_sentence(description));
    }
    if deprecated {
        entry["deprecated"] = json!(true);
    }
    entry
}

fn describe_command(name: &str, command: &CommandSpec) -> Json {
    let mut entry = json!({"kind": "command", "name": name, "needsSessionId": is_of_a_page(name)});
    if let Some(description) = &command.description {
        entry["description"] = json!(description);
    }
    for (flag, set) in [("experimental", command.experimental), ("deprecated", command.deprecated)] {
        if set {
            entry[flag] = json!(true);
        }
    }
    entry["parameters"] = json!(command.parameters);
    entry["returns"] = json!(command.returns);
    entry
}

fn describe_event(name: &str, event: &EventSpec) -> Json {
    let mut entry = json!({"kind": "event", "name": name, "needsSessionId": is_of_a_page(name)});
    if let Some(description) = &event.description {
        entry["description"] = json!(description);
    }
    for (flag, set) in [("experimental", event.experimental), ("deprecated", event.deprecated)] {
        if set {
            entry[flag] = json!(true);
        }
    }
    entry["params"] = json!(event.parameters);
    entry
}

/// Adds the named types that an entry refers to, and those that these refer to.
fn with_types(protocol: &Protocol, name: &str, mut entry: Json, properties: &[&[Property]]) -> Json {
    let domain = name.split('.').next().unwrap_or_default();
    let mut todo: VecDeque<String> = VecDeque::new();
    for property in properties.iter().copied().flatten() {
        references(domain, &property.shape, &mut todo);
    }
    let mut types: BTreeMap<String, Json> = BTreeMap::new();
    while let Some(reference) = todo.pop_front() {
        if types.len() == TYPES_MAX {
            break;
        }
        let Some(spec) = protocol.type_(&reference) else { continue };
        if reference == name || types.contains_key(&reference) {
            continue;
        }
        let domain = reference.split('.').next().unwrap_or_default();
        references(domain, &spec.shape, &mut todo);
        types.insert(reference, json!(spec.shape));
    }
    if !types.is_empty() {
        entry["types"] = json!(types);
    }
    entry
}

fn references(domain: &str, shape: &Shape, into: &mut VecDeque<String>) {
    if let Some(reference) = &shape.reference {
        into.push_back(if reference.contains('.') { reference.clone() } else { format!("{domain}.{reference}") });
    }
    if let Some(items) = &shape.items {
        references(domain, items, into);
    }
    for property in &shape.properties {
        references(domain, &property.shape, into);
    }
}

/// Properties in one line, such as `url: string, referrer?: string`.
fn signature(properties: &[Property]) -> String {
    let one = |property: &Property| {
        format!("{}{}: {}", property.name, if property.optional { "?" } else { "" }, type_name(&property.shape))
    };
    properties.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn type_name(shape: &Shape) -> String {
    if let Some(reference) = &shape.reference {
        return reference.clone();
    }
    match (shape.kind.as_deref(), &shape.items) {
        (Some("array"), Some(items)) => format!("{}[]", type_name(items)),
        (Some(kind), _) => kind.to_owned(),
        (None, _) => "any".to_owned(),
    }
}

fn first_sentence(text: &str) -> String {
    let line = text.split("\n\n").next().unwrap_or(text).replace('\n', " ");
    match line.find(". ") {
        Some(end) => line[..=end].to_owned(),
        None => line,
    }
}
