//! Round trips of every kind of value, and malformed bytes.

use super::*;

fn samples() -> Vec<Value> {
    let error = ErrorValue {
        name: "TypeError".into(),
        message: "no".into(),
        stack: "at x".into(),
        cause: Some(Value::Number(1.0)),
    };
    vec![
        Value::Undefined,
        Value::Null,
        Value::Bool(true),
        Value::Number(0.0),
        Value::Number(-7.0),
        Value::Number(0.1),
        Value::Number(f64::INFINITY),
        Value::BigInt("-123456789012345678901234567890".into()),
        "".into(),
        "plain".into(),
        "Zürich 🦀".into(),
        Value::String(Text::from_utf16(vec![0xD800, 65])),
        Value::Date(1_700_000_000_123.0),
        vec![0, 255, 7].into(),
        Value::Array(BufferKind::ALL.iter().map(|kind| Value::Bytes(*kind, vec![7; 16])).collect()),
        Value::Bytes(BufferKind::ArrayBuffer, Vec::new()),
        Value::Map(vec![(Value::Null, Value::Set(vec!["a".into()]))]),
        Value::Error(Box::new(error)),
        Value::Array(vec![
            Value::Object(vec![("a".into(), Value::Number(1.0)), ("b".into(), Value::Object(vec![]))]),
            Value::Object(vec![
                ("b".into(), Value::Object(vec![("a".into(), Value::Null)])),
                ("a".into(), Value::Bool(false)),
            ]),
        ]),
    ]
}

#[test]
fn every_kind_survives_the_codec() {
    for value in samples() {
        assert_eq!(Value::decode(&value.encode()).as_ref(), Ok(&value));
    }
    let all = Value::Array(samples());
    assert_eq!(Value::decode(&all.encode()), Ok(all));
    let Ok(Value::Number(zero)) = Value::decode(&Value::Number(-0.0).encode()) else { panic!() };
    assert!(zero == 0.0 && zero.is_sign_negative());
    assert!(matches!(Value::decode(&Value::Number(f64::NAN).encode()), Ok(Value::Number(n)) if n.is_nan()));
}

#[test]
fn buffers_have_whole_elements_of_a_kind_that_exists() {
    for kind in BufferKind::ALL {
        assert_eq!(BufferKind::of_name(kind.name()), Some(*kind));
        assert_eq!(BufferKind::of_code(kind.code()), Some(*kind));
        let odd = Value::Bytes(*kind, vec![1; 17]);
        assert_eq!(Value::decode(&odd.encode()).is_ok(), kind.element_bytes() == 1, "{kind:?}");
    }
    assert_eq!(BufferKind::of_code(BufferKind::ALL.len() as u8), None);
    assert!(Value::decode(&[tag::BYTES, 200, 0, 0, 0, 0]).is_err());
}

#[test]
fn bytes_cut_anywhere_are_an_error_and_never_a_panic() {
    let bytes = Value::Array(samples()).encode();
    for end in 0..bytes.len() {
        assert!(Value::decode(&bytes[..end]).is_err());
    }
    for place in 0..bytes.len() {
        for wrong in [0, 17, 18, 255] {
            let mut bytes = bytes.clone();
            bytes[place] = wrong;
            let _ = Value::decode(&bytes);
        }
    }
}

#[test]
fn a_count_cannot_ask_for_memory_it_did_not_pay_for() {
    assert!(Value::decode(&[tag::ARRAY, 255, 255, 255, 255]).is_err());
}

#[test]
fn nesting_is_bounded() {
    let mut bytes = [tag::ARRAY, 1, 0, 0, 0].repeat(VALUE_DEPTH_MAX + 2);
    bytes.push(tag::NULL);
    assert_eq!(Value::decode(&bytes), Err(DecodeError("nested too deeply")));
}
