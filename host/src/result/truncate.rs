//! Cuts a value to a budget of characters, so that it stays valid JSON of the same shape.
//!
//! The budget is divided by water-filling: each part of an object or array gets the same share, what small parts do not
//! need is redistributed to the large ones, and each part that is too large for its share is divided in the same way.
//! So one huge string does not hide its neighbours, and of a thousand rows the first ones are shown in full, instead of
//! fragments of all.

use super::{
    measure,
    media::push_token,
    text::{self, Ends},
};
use codemode_spec::{
    envelope::Cut,
    limits::{CUTS_LISTED_MAX, RESULT_CHARS_MIN},
    value::{BufferKind, JSON_TAG},
};
use serde_json::{Map, Value as Json};

/// The depth beyond which a value that does not fit is summarised instead of cut part by part.
const DEPTH_MAX: usize = 64;
/// The number of entries of an object that may not fit before the search for smaller ones stops.
const MISSES_MAX: usize = 64;
/// The key of the entry that reports how many keys of an object were left out.
const LEFT_OUT_KEY: &str = "…";
/// The value's field of a tagged value, see [`codemode_spec::Value::to_json`].
const VALUE_KEY: &str = "value";

/// A value cut to its budget.
#[derive(Clone, Debug, PartialEq)]
pub struct Truncated {
    /// The value.
    pub json: Json,
    /// Where it was cut.
    pub cuts: Vec<Cut>,
    /// The number of cuts that are not listed.
    pub cuts_unlisted: u64,
}

/// Cuts a value to at most `chars_max` characters of compact JSON, but no fewer than [`RESULT_CHARS_MIN`]. A value
/// within the budget is unchanged, so a result that was cut is not cut again.
///
/// A string keeps its beginning and end, an array its first items, an object the keys that fit; each reports how much
/// was left out. Tagged values keep their tag, so that their kind does not change; byte arrays and big integers that
/// were cut can no longer be decoded.
#[must_use]
pub fn truncate(json: Json, chars_max: usize) -> Truncated {
    let mut cutter = Cutter::default();
    let json = cutter.fit(json, chars_max.max(RESULT_CHARS_MIN), Role::Plain, 0);
    Truncated { json, cuts: cutter.cuts, cuts_unlisted: cutter.unlisted }
}

/// The role of a value in its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Plain,
    /// The base64 of bytes.
    Base64,
    /// The entries of a map, or of an object with keys that JSON cannot have.
    Entries,
    /// A key and a value of `Entries`; both must be retained.
    Entry,
}

impl Role {
    /// The role of a tagged value's field.
    fn of_tagged(kind: &Json) -> Self {
        match kind.as_str() {
            Some(kind) if BufferKind::of_name(kind).is_some() => Self::Base64,
            Some("map" | "object") => Self::Entries,
            _ => Self::Plain,
        }
    }

    fn of_item(self) -> Self {
        if self == Self::Entries { Self::Entry } else { Self::Plain }
    }
}

/// A part of a value that shares its budget with others.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Its size, or any number above the budget.
    size: usize,
    /// Its size when summarised.
    least: usize,
}

impl Part {
    fn of(value: &Json, role: Role, most: usize) -> Self {
        let least = least(value, role);
        // Measured up to `least`, so that a size beyond the budget is never taken for less than `least`.
        Self { size: measure::json(value, most.max(least)), least }
    }

    /// The space that the part needs to be useful.
    fn need(self, floor: usize) -> usize {
        self.size.min(floor).max(self.least.min(self.size))
    }

    fn share(self, level: usize) -> usize {
        self.size.min(level.max(self.least))
    }
}

#[derive(Default)]
struct Cutter {
    path: String,
    cuts: Vec<Cut>,
    unlisted: u64,
}

impl Cutter {
    /// Fits a value into a budget, which must be at least its [`least`] size.
    fn fit(&mut self, value: Json, budget: usize, role: Role, depth: usize) -> Json {
        if measure::json(&value, budget) <= budget {
            return value;
        }
        match value {
            Json::String(text) => self.string(&text, budget, role),
            Json::Array(items) if role == Role::Entry => self.entry(items, budget, depth),
            Json::Array(items) => self.array(items, budget, role, depth),
            Json::Object(entries) if is_tagged(&entries) => self.tagged(entries, budget, depth),
            Json::Object(entries) => self.object(entries, budget, depth),
            scalar => scalar,
        }
    }

    fn string(&mut self, text: &str, budget: usize, role: Role) -> Json {
        let ends = if role == Role::Base64 { Ends::HeadInFours } else { Ends::Both };
        let cut = text::cut_json_string(text, budget, ends);
        self.list("string", cut.original_chars, cut.kept_chars);
        Json::String(cut.text)
    }

    fn array(&mut self, items: Vec<Json>, budget: usize, role: Role, depth: usize) -> Json {
        let inside = budget - 2;
        let count = items.len();
        let marker = 1 + measure::string(&items_marker(count, count), usize::MAX);
        let floor = (budget / 32).max(120);
        // Select as many of the first items as fit; if not all do, the marker must fit too.
        let select = |room: usize| {
            let (mut parts, mut used) = (Vec::new(), 0);
            for item in items.iter().take(if depth < DEPTH_MAX { count } else { 0 }) {
                let part = Part::of(item, role.of_item(), budget);
                used += part.need(floor) + usize::from(!parts.is_empty());
                if used > room {
                    break;
                }
                parts.push(part);
            }
            parts
        };
        let mut parts = select(inside);
        let mut room = inside;
        if parts.len() < count {
            room = inside.saturating_sub(marker);
            parts = select(room);
        }
        let kept = parts.len();
        if kept < count {
            self.list("array", count, kept);
        }
        let shares = shares(&parts, room.saturating_sub(kept.saturating_sub(1)));
        let mut out: Vec<Json> = Vec::with_capacity(kept + 1);
        for (index, (item, share)) in items.into_iter().zip(shares).enumerate() {
            out.push(self.at(&index.to_string(), |it| it.fit(item, share, role.of_item(), depth + 1)));
        }
        if kept < count {
            out.push(Json::String(items_marker(count - kept, count)));
        }
        Json::Array(out)
    }

    /// A key and its value, both of which are retained.
    fn entry(&mut self, items: Vec<Json>, budget: usize, depth: usize) -> Json {
        let parts: Vec<_> = items.iter().map(|item| Part::of(item, Role::Plain, budget)).collect();
        let shares = shares(&parts, budget - 1 - items.len());
        let fitted = items.into_iter().zip(shares).enumerate();
        Json::Array(
            fitted
                .map(|(index, (item, share))| {
                    self.at(&index.to_string(), |it| it.fit(item, share, Role::Plain, depth + 1))
                })
                .collect(),
        )
    }

    fn tagged(&mut self, mut entries: Map<String, Json>, budget: usize, depth: usize) -> Json {
        let role = Role::of_tagged(&entries[JSON_TAG]);
        let value = entries[VALUE_KEY].take();
        let share = budget - around(&entries);
        entries[VALUE_KEY] = self.at(VALUE_KEY, |it| it.fit(value, share, role, depth));
        Json::Object(entries)
    }

    fn object(&mut self, mut entries: Map<String, Json>, budget: usize, depth: usize) -> Json {
        let inside = budget - 2;
        let count = entries.len();
        let marker = 1 + left_out_size(count);
        let floor = (budget / 64).max(48);
        // Prefer many keys with small values: skip an entry that does not fit, since a later one may.
        let select = |room: usize| {
            let (mut parts, mut used, mut misses) = (Vec::new(), 0, 0);
            for (key, value) in entries.iter().take(if depth < DEPTH_MAX { count } else { 0 }) {
                let before = measure::string(key, budget) + 1 + usize::from(!parts.is_empty());
                let part = Part::of(value, Role::Plain, floor);
                if used + before + part.need(floor) > room || key == LEFT_OUT_KEY {
                    misses += 1;
                    if misses > MISSES_MAX {
                        break;
                    }
                    continue;
                }
                used += before + part.need(floor);
                parts.push((key.clone(), before, Part::of(value, Role::Plain, budget)));
            }
            parts
        };
        let mut selected = select(inside);
        let mut room = inside;
        if selected.len() < count {
            room = inside.saturating_sub(marker);
            selected = select(room);
        }
        let kept = selected.len();
        if kept < count {
            self.list("object", count, kept);
        }
        let keys: usize = selected.iter().map(|(_, before, _)| before).sum();
        let parts: Vec<_> = selected.iter().map(|(_, _, part)| *part).collect();
        let mut out = Map::with_capacity(kept + 1);
        for ((key, ..), share) in selected.into_iter().zip(shares(&parts, room.saturating_sub(keys))) {
            let value = entries[&key].take();
            let value = self.at(&key, |it| it.fit(value, share, Role::Plain, depth + 1));
            out.insert(key, value);
        }
        if kept < count {
            out.insert(LEFT_OUT_KEY.to_owned(), Json::String(keys_marker(count - kept, count)));
        }
        Json::Object(out)
    }

    /// Runs `work` with the path extended by one token.
    fn at(&mut self, token: &str, work: impl FnOnce(&mut Self) -> Json) -> Json {
        let length = self.path.len();
        push_token(&mut self.path, token);
        let value = work(self);
        self.path.truncate(length);
        value
    }

    fn list(&mut self, kind: &str, original: usize, kept: usize) {
        if self.cuts.len() >= CUTS_LISTED_MAX {
            self.unlisted += 1;
            return;
        }
        let (original, kept) = (original as u64, kept as u64);
        self.cuts.push(Cut { path: self.path.clone(), kind: kind.to_owned(), original, kept });
    }
}

/// Divides a budget among parts so that as few as possible are cut, all of those to the same size. The sum of the
/// parts' least sizes must fit.
fn shares(parts: &[Part], budget: usize) -> Vec<usize> {
    let total = |level: usize| parts.iter().map(|part| part.share(level)).fold(0, usize::saturating_add);
    let (mut low, mut high) = (0, budget);
    while low < high {
        let level = low + (high - low).div_ceil(2);
        if total(level) <= budget { low = level } else { high = level - 1 }
    }
    let mut rest = budget.saturating_sub(total(low));
    let mut share = |part: &Part| {
        let share = part.share(low);
        let more = rest.min(part.size - share);
        rest -= more;
        share + more
    };
    parts.iter().map(&mut share).collect()
}

/// The size of a value when it is summarised as far as possible.
fn least(value: &Json, role: Role) -> usize {
    // Larger than any summary except that of an `Entry`.
    const MOST: usize = 160;
    let summary = match value {
        Json::String(text) => 2 + text::marker(text.len()).chars().count(),
        Json::Array(items) if role == Role::Entry => {
            return 1 + items.len() + items.iter().map(|item| least(item, Role::Plain)).sum::<usize>();
        }
        Json::Array(items) => 2 + measure::string(&items_marker(items.len(), items.len()), MOST),
        Json::Object(entries) if is_tagged(entries) => {
            around(entries) + least(&entries[VALUE_KEY], Role::of_tagged(&entries[JSON_TAG]))
        }
        Json::Object(entries) => {
            let tag = entries.get(JSON_TAG).map_or(0, |kind| 10 + measure::json(kind, MOST));
            2 + left_out_size(entries.len()) + tag
        }
        _ => MOST,
    };
    measure::json(value, MOST).min(summary)
}

/// Whether an object consists of a tag and a value.
fn is_tagged(entries: &Map<String, Json>) -> bool {
    entries.len() == 2 && entries.contains_key(JSON_TAG) && entries.contains_key(VALUE_KEY)
}

/// The size of a tagged value without its inner value: `{"$type":"map","value":}`.
fn around(entries: &Map<String, Json>) -> usize {
    let tag = measure::json(&entries[JSON_TAG], usize::MAX);
    r#"{"$type":,"value":}"#.len() + tag
}

fn items_marker(left_out: usize, all: usize) -> String {
    format!("…[{} more of {} items]…", text::grouped(left_out as u64), text::grouped(all as u64))
}

fn keys_marker(left_out: usize, all: usize) -> String {
    format!("…[{} more of {} keys]…", text::grouped(left_out as u64), text::grouped(all as u64))
}

/// The size of the entry that reports how many keys were left out: `"…":"…[…]…"`.
fn left_out_size(count: usize) -> usize {
    measure::string(LEFT_OUT_KEY, usize::MAX) + 1 + measure::string(&keys_marker(count, count), usize::MAX)
}
