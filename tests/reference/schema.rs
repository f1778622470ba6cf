//! Renders JSON schemas of arguments as tables.

use serde_json::{Map, Value as Json};
use std::{collections::BTreeMap, fmt::Write as _};

/// The named types, by name.
pub type Types = BTreeMap<String, Json>;

/// The tables of an argument: one for the common properties, and one per variant. Named types that it refers to are
/// added to `types`.
pub fn tables(schema: &Json, types: &mut Types) -> String {
    let named = schema["$defs"].as_object().cloned().unwrap_or_default();
    types.extend(named);
    let mut out = table(schema, types);
    for variant in schema["oneOf"].as_array().into_iter().flatten() {
        let (tag, value) = tag(variant).unwrap_or_else(|| panic!("a variant has a tag: {variant}"));
        let _ = write!(out, "\nWith `{tag}: {value}`: {}\n", first_small(&description(variant)));
        let mut own = variant.clone();
        own["properties"].as_object_mut().expect("a variant has properties").shift_remove(&tag);
        let own = table(&own, types);
        if !own.is_empty() {
            let _ = write!(out, "\n{own}");
        }
    }
    out
}

/// The sections of the named types.
pub fn sections(types: &Types) -> String {
    let mut out = String::new();
    for (name, schema) in types.iter().filter(|(_, schema)| values(schema, types).is_none()) {
        let _ = write!(out, "\n### {name}\n\n{}\n\n", description(schema));
        match variants(schema) {
            None => out.push_str(&table(schema, types)),
            Some(variants) => {
                for variant in variants {
                    let _ = writeln!(out, "- {}: {}", shape(variant, types), first_small(&meaning(variant, types)));
                }
            }
        }
    }
    out
}

/// A table of an object's properties, including those of a flattened type; empty if it has none.
fn table(schema: &Json, types: &Types) -> String {
    let inner = reference(schema).and_then(|name| types[name]["properties"].as_object());
    let properties: Vec<_> = schema["properties"].as_object().into_iter().chain(inner).flatten().collect();
    if properties.is_empty() {
        return String::new();
    }
    let required = |name: &str| schema["required"].as_array().is_some_and(|names| names.iter().any(|one| one == name));
    // The properties that all verbs have come last.
    let (common, own): (Vec<_>, Vec<_>) =
        properties.into_iter().partition(|(name, _)| ["page", "timeoutMs"].contains(&name.as_str()));
    let mut out = "| Field | Type | If not given | Meaning |\n|---|---|---|---|\n".to_owned();
    for (name, property) in own.into_iter().chain(common) {
        let absent = if required(name) {
            "required".to_owned()
        } else {
            let default = property.get("default").filter(|default| !says_nothing(default));
            default.map(|default| format!("`{}`", default.to_string().trim_end_matches(".0"))).unwrap_or_default()
        };
        let (kind, meaning) = (kind(property, types), meaning(property, types));
        assert!(!meaning.is_empty(), "{name} needs a doc comment: {property}");
        let _ = writeln!(out, "| `{name}` | {kind} | {absent} | {meaning} |");
    }
    out
}

/// Whether a default value means absence.
fn says_nothing(default: &Json) -> bool {
    default.is_null() || default.as_object().is_some_and(|fields| fields.values().all(says_nothing))
}

/// The type of a value as text.
fn kind(schema: &Json, types: &Types) -> String {
    if let Some(values) = values(schema, types) {
        let values: Vec<_> = values.iter().map(|(value, _)| format!("`{value}`")).collect();
        return values.join(", ");
    }
    if let Some(name) = reference(schema) {
        return format!("[{name}](README.md#{})", name.to_lowercase());
    }
    if schema["tsType"] == "Uint8Array" {
        return "bytes".to_owned();
    }
    if let Some(variants) = variants(schema) {
        let kinds: Vec<_> = variants.filter(|variant| variant["type"] != "null").map(|one| kind(one, types)).collect();
        return kinds.join(" or ");
    }
    let names = match &schema["type"] {
        Json::String(name) => vec![name.as_str()],
        Json::Array(names) => names.iter().filter_map(Json::as_str).filter(|name| *name != "null").collect(),
        _ => return "any".to_owned(),
    };
    let words = names.iter().map(|name| match *name {
        "string" => "text".to_owned(),
        "array" => format!("list of {}", kind(&schema["items"], types)),
        "object" if schema["additionalProperties"]["type"] == "string" => "object of texts".to_owned(),
        "object" => shape(schema, types),
        other => other.to_owned(),
    });
    words.collect::<Vec<_>>().join(" or ")
}

/// The notation of an object, as `{ by: "css", value }`.
fn shape(schema: &Json, types: &Types) -> String {
    let Some(properties) = schema["properties"].as_object() else {
        return if schema["type"] == "object" { "object".to_owned() } else { kind(schema, types) };
    };
    let required = |name: &str| schema["required"].as_array().is_some_and(|names| names.iter().any(|one| one == name));
    let inner = reference(schema).and_then(|name| types.get(name)).and_then(|inner| inner["properties"].as_object());
    let optional = inner.into_iter().flatten().map(|(name, _)| format!("{name}?"));
    let own = properties.iter().map(|(name, property)| match &property["const"] {
        Json::Null if required(name) => name.clone(),
        Json::Null => format!("{name}?"),
        value => format!("{name}: {value}"),
    });
    format!("`{{ {} }}`", own.chain(optional).collect::<Vec<_>>().join(", "))
}

/// The description of a value, with those of its alternatives if it is an enumeration.
fn meaning(schema: &Json, types: &Types) -> String {
    let mut out = description(schema);
    if out.is_empty() {
        let refers = std::iter::once(schema).chain(variants(schema).into_iter().flatten()).find_map(reference);
        out = refers.and_then(|name| types.get(name)).map(description).unwrap_or_default();
    }
    let values = values(schema, types).unwrap_or_default();
    let told: Vec<_> = values.iter().filter(|(_, meaning)| !meaning.is_empty()).collect();
    if out.is_empty() && told.is_empty() {
        let fields = schema["properties"].as_object().into_iter().flatten();
        return fields.map(|(_, field)| description(field)).collect::<Vec<_>>().join(" ");
    }
    for (value, meaning) in told {
        let _ = write!(out, " `{value}`: {}", first_small(meaning));
    }
    out
}

/// The values of an enumeration, each with its description.
fn values(schema: &Json, types: &Types) -> Option<Vec<(String, String)>> {
    if let Some(value) = schema.get("const") {
        return Some(vec![(value.to_string(), description(schema))]);
    }
    if let Some(all) = schema["enum"].as_array() {
        return Some(all.iter().map(|value| (value.to_string(), String::new())).collect());
    }
    if let Some(name) = reference(schema) {
        return schema.get("properties").is_none().then(|| values(&types[name], types)).flatten();
    }
    let of_each: Option<Vec<_>> = variants(schema)?.map(|variant| values(variant, types)).collect();
    of_each.map(|values| values.into_iter().flatten().collect())
}

fn variants(schema: &Json) -> Option<impl Iterator<Item = &Json>> {
    Some(schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array())?.iter())
}

fn reference(schema: &Json) -> Option<&str> {
    schema["$ref"].as_str()?.strip_prefix("#/$defs/")
}

/// The property that identifies the variant of an object, and its value.
fn tag(variant: &Json) -> Option<(String, String)> {
    let properties: &Map<String, Json> = variant["properties"].as_object()?;
    properties.iter().find_map(|(name, property)| Some((name.clone(), property.get("const")?.to_string())))
}

/// A doc comment in one line, without link markup.
fn description(schema: &Json) -> String {
    schema["description"].as_str().unwrap_or_default().replace('\n', " ").replace("[`", "`").replace("`]", "`")
}

/// A sentence with a lower-case first letter, for use after a colon.
fn first_small(sentence: &str) -> String {
    let mut letters = sentence.chars();
    let first = letters.next().map(|letter| letter.to_lowercase().to_string()).unwrap_or_default();
    let second = letters.clone().next().is_some_and(char::is_uppercase);
    if second { sentence.to_owned() } else { first + letters.as_str() }
}
