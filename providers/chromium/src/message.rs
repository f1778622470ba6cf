//! Parses the browser's protocol messages in one pass, with bounds on memory and nesting for any content.

use crate::events::Event;
use codemode_spec::{
    limits::{CDP_REPLY_BYTES_MAX, EVENT_NAME_BYTES_MAX, EVENT_RING_BYTES_MAX, REPLY_BYTES_MAX, VALUE_DEPTH_MAX},
    value::{JsonEncoder, JsonRefusal},
};
use serde::de::{self, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value as Json, error::Category};
use std::{borrow::Cow, cell::Cell, fmt};

/// The start of the error message for a value that is nested too deep; serde_json's errors carry only text.
const TOO_DEEP: &str = "nested too deep";
/// The start of the error message for a value that takes too much memory.
const TOO_HEAVY: &str = "too much memory";

/// The size of an array item, doubled because a growing array doubles its capacity.
const ITEM_BYTES: usize = 2 * size_of::<Json>();
/// The size of an object member (hash, name, value and index entry), doubled for the same reason.
const MEMBER_BYTES: usize = 2 * (8 + size_of::<String>() + size_of::<Json>() + 16);
/// The overhead of one allocation.
const ALLOCATION_BYTES: usize = 32;
/// The size of an event without its parameters and names.
const EVENT_BYTES: usize = size_of::<Event>() + 4 * ALLOCATION_BYTES;

/// The relay's own error code for an answer that was too long; the error's data contain the answer's size in bytes.
pub(crate) const PASSED_OVER_CODE: i64 = -32_090;
/// The relay's own event that replaces an event that was too long.
pub(crate) const PASSED_OVER_EVENT: &str = "Codemode.messagePassedOver";

/// A parsed message of the browser.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Incoming {
    /// For a reply: the id of the command.
    pub id: Option<u64>,
    /// For an event: its name.
    pub method: Option<String>,
    /// The protocol session.
    pub session: Option<String>,
    /// For an event: its parameters.
    pub params: Json,
    /// For a reply: the result, encoded for the sandbox. No tree is built, because the result may be large.
    pub result: Option<Vec<u8>>,
    /// For a reply that reports an error.
    pub error: Option<Json>,
    /// The approximate size of the event in memory.
    pub bytes: usize,
}

/// Why a message could not be parsed.
#[derive(Debug, PartialEq)]
pub(crate) enum Unreadable {
    /// It is nested deeper than the bound. The id is that of the command, if the message is a reply.
    TooDeep { id: Option<u64> },
    /// It is larger than a reply may be, as text or as a value, or it is an event larger than the whole event log may
    /// be. Nothing of it was retained.
    TooLarge { id: Option<u64> },
    /// It is not the JSON of a message.
    Malformed { id: Option<u64>, reason: String },
}

/// Parses a message. Memory is bounded by the size of the parsed value, not of the text: `0,` is two bytes on the wire,
/// but seventy in a tree. Nesting is followed down to the bound for values that may cross into a sandbox, which is
/// deeper than serde_json's default of 128 levels: a page's DOM easily exceeds that.
pub(crate) fn parse(text: &str) -> Result<Incoming, Unreadable> {
    if text.len() > CDP_REPLY_BYTES_MAX {
        return Err(Unreadable::TooLarge { id: id_only(text) });
    }
    let mut error = match parse_in_one_pass(text) {
        Ok(incoming) => return Ok(incoming),
        Err(error) => error,
    };
    // Text of pages may contain lone surrogates, which Chromium writes as `\ud800` and no Rust string can hold.
    if error.classify() == Category::Syntax
        && let Cow::Owned(text) = replace_lone_surrogates(text)
    {
        match parse_in_one_pass(&text) {
            Ok(incoming) => return Ok(incoming),
            Err(second) => error = second,
        }
    }
    let reason = error.to_string();
    if reason.starts_with(TOO_DEEP) {
        return Err(Unreadable::TooDeep { id: id_only(text) });
    }
    if reason.starts_with(TOO_HEAVY) {
        return Err(Unreadable::TooLarge { id: id_only(text) });
    }
    Err(Unreadable::Malformed { id: id_only(text), reason })
}

fn parse_in_one_pass(text: &str) -> serde_json::Result<Incoming> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    // Safe because every visitor below limits its depth, and skipping a value does not recurse.
    deserializer.disable_recursion_limit();
    let incoming = deserializer.deserialize_map(IncomingVisitor)?;
    deserializer.end()?;
    Ok(incoming)
}

struct IncomingVisitor;

impl IncomingVisitor {
    fn result<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Vec<u8>, A::Error> {
        let encoder = JsonEncoder::new(REPLY_BYTES_MAX);
        map.next_value_seed(&encoder).map_err(|error| match encoder.refusal() {
            Some(JsonRefusal::TooDeep) => de::Error::custom(TOO_DEEP),
            Some(JsonRefusal::TooLarge) => de::Error::custom(TOO_HEAVY),
            None => error,
        })
    }
}

impl<'de> Visitor<'de> for IncomingVisitor {
    type Value = Incoming;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a protocol message")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Incoming, A::Error> {
        let mut incoming = Incoming::default();
        let room = Cell::new(EVENT_RING_BYTES_MAX);
        let bounded = BoundedJson { left: VALUE_DEPTH_MAX, room: &room };
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            match &*key {
                "id" => incoming.id = map.next_value()?,
                "method" => incoming.method = map.next_value()?,
                "sessionId" => incoming.session = map.next_value()?,
                "params" => incoming.params = map.next_value_seed(bounded)?,
                "result" => incoming.result = Some(Self::result(&mut map)?),
                "error" => incoming.error = Some(map.next_value_seed(bounded)?),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        let names = [&incoming.method, &incoming.session].map(|name| name.as_ref().map_or(0, String::len));
        if names.into_iter().any(|bytes| bytes > EVENT_NAME_BYTES_MAX) {
            return Err(de::Error::custom("the name of an event or of a session is too long"));
        }
        incoming.bytes = EVENT_RING_BYTES_MAX - room.get() + EVENT_BYTES + names.iter().sum::<usize>();
        Ok(incoming)
    }
}

/// Deserializes a JSON value of at most `left` levels; all values of one message share a memory budget of `room` bytes.
#[derive(Clone, Copy)]
struct BoundedJson<'m> {
    left: usize,
    room: &'m Cell<usize>,
}

impl BoundedJson<'_> {
    fn inner<E: de::Error>(self) -> Result<Self, E> {
        match self.left.checked_sub(1) {
            Some(left) => Ok(Self { left, ..self }),
            None => Err(E::custom(TOO_DEEP)),
        }
    }

    fn take<E: de::Error>(self, bytes: usize) -> Result<(), E> {
        let left = self.room.get().checked_sub(bytes).ok_or_else(|| E::custom(TOO_HEAVY))?;
        self.room.set(left);
        Ok(())
    }

    fn text<E: de::Error>(self, text: &str) -> Result<String, E> {
        self.take(text.len() + ALLOCATION_BYTES)?;
        Ok(text.to_owned())
    }
}

impl<'de> DeserializeSeed<'de> for BoundedJson<'_> {
    type Value = Json;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Json, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for BoundedJson<'_> {
    type Value = Json;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(value.into())
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Json, E> {
        self.text(value).map(Json::String)
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Json, A::Error> {
        let inner = self.inner()?;
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(inner)? {
            self.take(ITEM_BYTES)?;
            items.push(item);
        }
        Ok(Json::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let inner = self.inner()?;
        let mut members = Map::new();
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            self.take(MEMBER_BYTES)?;
            let key = self.text(&key)?;
            let value = map.next_value_seed(inner)?;
            members.insert(key, value);
        }
        Ok(Json::Object(members))
    }
}

/// The id of a message of which only the first bytes are available.
pub(crate) fn id_of_head(head: &[u8]) -> Option<u64> {
    id_only(head.utf8_chunks().next()?.valid())
}

/// The id of a message that cannot be parsed as a whole.
fn id_only(text: &str) -> Option<u64> {
    struct IdVisitor;
    impl<'de> Visitor<'de> for IdVisitor {
        type Value = Option<u64>;

        fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            out.write_str("a protocol message")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Option<u64>, A::Error> {
            // Chromium writes the id first, so the rest of the message need not be parsed.
            while let Some(key) = map.next_key::<Cow<'de, str>>()? {
                if key == "id" {
                    return map.next_value();
                }
                map.next_value::<IgnoredAny>()?;
            }
            Ok(None)
        }
    }
    let mut id = None;
    let mut deserializer = serde_json::Deserializer::from_str(text);
    deserializer.disable_recursion_limit();
    // The visitor stops in the middle of the map, which serde_json reports as an error, so the id is stored separately.
    let _ = deserializer.deserialize_map(Capture { inner: IdVisitor, into: &mut id });
    return id;

    struct Capture<'a> {
        inner: IdVisitor,
        into: &'a mut Option<u64>,
    }
    impl<'de> Visitor<'de> for Capture<'_> {
        type Value = ();

        fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.inner.expecting(out)
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
            *self.into = self.inner.visit_map(map)?;
            Ok(())
        }
    }
}

/// Replaces each escape of a lone surrogate with the replacement character.
fn replace_lone_surrogates(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut replaced = String::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(found) = bytes[at..].iter().position(|byte| *byte == b'\\') {
        at += found;
        match surrogate_at(bytes, at) {
            Some(0xD800..0xDC00) if matches!(surrogate_at(bytes, at + 6), Some(0xDC00..0xE000)) => at += 12,
            Some(_) => {
                replaced.push_str(&text[copied..at]);
                replaced.push_str("\\ufffd");
                at += 6;
                copied = at;
            }
            // Another escape: skip the character after the backslash, which may itself be a backslash.
            None => at = (at + 2).min(bytes.len()),
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    replaced.push_str(&text[copied..]);
    Cow::Owned(replaced)
}

/// The surrogate that is escaped at an index, if any.
fn surrogate_at(bytes: &[u8], at: usize) -> Option<u16> {
    let escape = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    let unit = u16::from_str_radix(std::str::from_utf8(escape).ok()?, 16).ok()?;
    (0xD800..0xE000).contains(&unit).then_some(unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use codemode_spec::Value;
    use serde_json::json;

    fn result(incoming: &Incoming) -> Json {
        Value::decode(incoming.result.as_deref().unwrap()).unwrap().to_plain_json().unwrap()
    }

    #[test]
    fn replies_events_and_refusals_are_read() {
        let reply = parse(r#"{"id":7,"result":{"a":[1,-2,1.5,true,null,"x\n"]},"sessionId":"S"}"#).unwrap();
        assert_eq!((reply.id, reply.session.as_deref()), (Some(7), Some("S")));
        assert_eq!(result(&reply), json!({"a": [1, -2, 1.5, true, null, "x\n"]}));
        let event = parse(r#"{"method":"Page.x","params":{"a":1},"later":[[]]}"#).unwrap();
        assert_eq!((event.id, event.method.as_deref(), event.params), (None, Some("Page.x"), json!({"a": 1})));
        let refusal = parse(r#"{"id":1,"error":{"code":-32601,"message":"m","data":{"k":1}}}"#).unwrap();
        assert_eq!(refusal.error, Some(json!({"code": -32601, "message": "m", "data": {"k": 1}})));
        assert_eq!(refusal.result, None);
    }

    #[test]
    fn a_value_may_nest_to_the_bound_and_beyond_it_the_id_is_known() {
        let nested = |depth: usize| format!(r#"{{"id":3,"result":{}1{}}}"#, "[".repeat(depth), "]".repeat(depth));
        assert_eq!(parse(&nested(VALUE_DEPTH_MAX)).unwrap().id, Some(3));
        assert_eq!(parse(&nested(VALUE_DEPTH_MAX + 1)), Err(Unreadable::TooDeep { id: Some(3) }));
        assert_eq!(parse(&nested(3_000_000)), Err(Unreadable::TooDeep { id: Some(3) }));
        let id_last = format!(r#"{{"result":{}1{},"id":3}}"#, "[".repeat(9_999), "]".repeat(9_999));
        assert_eq!(parse(&id_last), Err(Unreadable::TooDeep { id: Some(3) }));
    }

    #[test]
    fn a_message_takes_so_much_memory_and_beyond_it_the_id_is_known() {
        let too_large = Err(Unreadable::TooLarge { id: Some(3) });
        // An integer has five bytes in the codec, two in the text.
        let zeros = |count: usize| format!(r#"{{"id":3,"result":[0{}]}}"#, ",0".repeat(count - 1));
        let most = parse(&zeros(REPLY_BYTES_MAX / 6)).unwrap();
        assert_eq!(result(&most).as_array().unwrap().len(), REPLY_BYTES_MAX / 6);
        assert_eq!(parse(&zeros(REPLY_BYTES_MAX / 5)), too_large);
        let objects = |count: usize| format!(r#"{{"id":3,"params":[{{}}{}]}}"#, r#",{"a":{}}"#.repeat(count));
        let most = parse(&objects(EVENT_RING_BYTES_MAX / 600)).unwrap();
        assert!(most.bytes > EVENT_RING_BYTES_MAX / 2 && most.bytes <= EVENT_RING_BYTES_MAX, "{}", most.bytes);
        assert_eq!(parse(&objects(EVENT_RING_BYTES_MAX / 300)), too_large);
        let text = |length: usize| format!(r#"{{"id":3,"result":"{}"}}"#, "x".repeat(length));
        assert_eq!(parse(&text(CDP_REPLY_BYTES_MAX - 100)).unwrap().id, Some(3));
        assert_eq!(parse(&text(CDP_REPLY_BYTES_MAX)), too_large);
    }

    #[test]
    fn half_surrogate_pairs_are_replaced_and_whole_ones_kept() {
        let text = r#"{"id":1,"result":["\ud800","a\udc00b","\ud83d\ude00","\\ud800","\ud800\ud83d\ude00"]}"#;
        let hidden = format!(r#"{{"id":3,"result":["\ud800"{}]}}"#, ",0".repeat(REPLY_BYTES_MAX / 5));
        assert_eq!(parse(&hidden), Err(Unreadable::TooLarge { id: Some(3) }), "the other fault is told");
        let expected = json!(["\u{fffd}", "a\u{fffd}b", "😀", "\\ud800", "\u{fffd}😀"]);
        assert_eq!(result(&parse(text).unwrap()), expected);
        assert!(matches!(replace_lone_surrogates(r#"{"a":"\ud83d\ude00\n"}"#), Cow::Borrowed(_)));
    }

    #[test]
    fn what_is_no_message_is_malformed() {
        for text in ["", "nonsense", "[1]", r#"{"id":"seven"}"#, r#"{"id":1} {"id":2}"#, r#"{"id":4,"result":{"a":"#] {
            assert!(matches!(parse(text), Err(Unreadable::Malformed { .. })), "{text}");
        }
        let broken = parse(r#"{"id":4,"result":{"a":"#);
        assert!(matches!(broken, Err(Unreadable::Malformed { id: Some(4), .. })), "{broken:?}");
    }
}
