//! `localeCompare`: by letters, then by accents, then by case with lower case first.

use super::options::Options;
use crate::web::{helper::type_error, intrinsic::decomposed};
use boa_engine::{Context, JsArgs, JsResult, JsString, JsValue};
use std::{cmp::Ordering, iter::Peekable};

/// ASCII punctuation and symbols in the order of the Unicode root collation, before digits and letters.
const MARKS: &[u8] = b"\t\n\x0B\x0C\r _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$";

/// The differences that the comparison considers.
#[derive(Clone, Copy)]
struct Strength {
    accents: bool,
    case: bool,
    /// Whether runs of digits are compared as numbers.
    numeric: bool,
}

pub fn locale_compare(this: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    if this.is_null_or_undefined() {
        return Err(type_error("String.prototype.localeCompare called on null or undefined"));
    }
    let one = this.to_string(context)?;
    let other = arguments.get_or_undefined(0).to_string(context)?;
    let options = Options::of(arguments.get(2));
    let sensitivity = options.text("sensitivity", context)?;
    let sensitivity = sensitivity.as_deref().unwrap_or("variant");
    let strength = Strength {
        accents: matches!(sensitivity, "accent" | "variant"),
        case: matches!(sensitivity, "case" | "variant"),
        numeric: options.truth("numeric", context)?.unwrap_or(false),
    };
    let (one, other) = (units(&one, context), units(&other, context));
    Ok(JsValue::from(compare(&one, &other, strength) as i32))
}

/// The characters, with accents as separate characters.
fn units(text: &JsString, context: &mut Context) -> Vec<char> {
    let is_ascii = text.as_str().iter().all(|unit| unit < 0x80);
    let text = if is_ascii { text.clone() } else { decomposed(text, context) };
    text.as_str().code_points_lossy().collect()
}

const fn is_accent(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36F}')
}

/// Characters that are invisible and do not affect the order.
const fn is_ignored(character: char) -> bool {
    matches!(character, '\0'..='\x08' | '\x0E'..='\x1F' | '\x7F' | '\u{AD}' | '\u{200B}'..='\u{200F}' | '\u{FEFF}')
}

fn compare(one: &[char], other: &[char], strength: Strength) -> Ordering {
    let accents = || {
        let marks = |text: &[char]| text.iter().copied().filter(|character| is_accent(*character)).collect::<Vec<_>>();
        marks(one).cmp(&marks(other))
    };
    let case = || {
        let upper = |text: &[char]| text.iter().map(|character| character.is_uppercase()).collect::<Vec<_>>();
        upper(one).cmp(&upper(other))
    };
    let letters = compare_letters(one, other, strength.numeric);
    letters
        .then_with(|| if strength.accents { accents() } else { Ordering::Equal })
        .then_with(|| if strength.case { case() } else { Ordering::Equal })
}

fn compare_letters(one: &[char], other: &[char], numeric: bool) -> Ordering {
    let letters = |text: &'_ [char]| {
        text.iter().copied().filter(|character| !is_accent(*character) && !is_ignored(*character)).collect::<Vec<_>>()
    };
    let (one, other) = (letters(one), letters(other));
    let (mut one, mut other) = (one.into_iter().peekable(), other.into_iter().peekable());
    loop {
        let (Some(left), Some(right)) = (one.peek().copied(), other.peek().copied()) else {
            return one.peek().is_some().cmp(&other.peek().is_some());
        };
        if numeric && left.is_ascii_digit() && right.is_ascii_digit() {
            let (left, right) = (number(&mut one), number(&mut other));
            match left.len().cmp(&right.len()).then_with(|| left.cmp(&right)) {
                Ordering::Equal => continue,
                order => return order,
            }
        }
        match weight(left).cmp(&weight(right)) {
            Ordering::Equal => {
                one.next();
                other.next();
            }
            order => return order,
        }
    }
}

/// The digits of a number without leading zeros, so that the longer of two numbers is the larger.
fn number(text: &mut Peekable<impl Iterator<Item = char>>) -> Vec<char> {
    let mut digits = Vec::new();
    while let Some(digit) = text.next_if(char::is_ascii_digit) {
        if digit != '0' || !digits.is_empty() {
            digits.push(digit);
        }
    }
    digits
}

/// Punctuation and symbols come before digits, digits before letters, and letters of other scripts last.
fn weight(character: char) -> (u8, u32) {
    if let Some(place) = u8::try_from(character).ok().and_then(|byte| MARKS.iter().position(|mark| *mark == byte)) {
        return (0, place as u32);
    }
    if let Some(digit) = character.to_digit(10) {
        return (2, digit);
    }
    let small = character.to_lowercase().next().unwrap_or(character);
    if character.is_alphabetic() { (3, small.into()) } else { (1, character.into()) }
}
