//! The keys of a US keyboard, by name and by the text that they insert.

/// A key with the fields of the protocol's key events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    /// `KeyboardEvent.key`
    pub(crate) key: String,
    /// `KeyboardEvent.code`
    pub(crate) code: &'static str,
    /// `KeyboardEvent.keyCode`
    pub(crate) number: u32,
    /// The text that it inserts.
    pub(crate) text: Option<String>,
    /// 1 left, 2 right, 3 keypad.
    pub(crate) location: u32,
}

/// Keys that insert text: code, number, text without Shift, and with Shift.
const WRITING: &[(&str, u32, &str, &str)] = &[
    ("Backquote", 192, "`", "~"),
    ("Digit1", 49, "1", "!"),
    ("Digit2", 50, "2", "@"),
    ("Digit3", 51, "3", "#"),
    ("Digit4", 52, "4", "$"),
    ("Digit5", 53, "5", "%"),
    ("Digit6", 54, "6", "^"),
    ("Digit7", 55, "7", "&"),
    ("Digit8", 56, "8", "*"),
    ("Digit9", 57, "9", "("),
    ("Digit0", 48, "0", ")"),
    ("Minus", 189, "-", "_"),
    ("Equal", 187, "=", "+"),
    ("BracketLeft", 219, "[", "{"),
    ("BracketRight", 221, "]", "}"),
    ("Backslash", 220, "\\", "|"),
    ("Semicolon", 186, ";", ":"),
    ("Quote", 222, "'", "\""),
    ("Comma", 188, ",", "<"),
    ("Period", 190, ".", ">"),
    ("Slash", 191, "/", "?"),
    ("Space", 32, " ", " "),
];

/// The letters' codes.
const LETTERS: [&str; 26] = [
    "KeyA", "KeyB", "KeyC", "KeyD", "KeyE", "KeyF", "KeyG", "KeyH", "KeyI", "KeyJ", "KeyK", "KeyL", "KeyM", "KeyN",
    "KeyO", "KeyP", "KeyQ", "KeyR", "KeyS", "KeyT", "KeyU", "KeyV", "KeyW", "KeyX", "KeyY", "KeyZ",
];

/// Keys that insert no text: name, code, number, location.
const ACTING: &[(&str, &str, u32, u32)] = &[
    ("Enter", "Enter", 13, 0),
    ("Tab", "Tab", 9, 0),
    ("Escape", "Escape", 27, 0),
    ("Backspace", "Backspace", 8, 0),
    ("Delete", "Delete", 46, 0),
    ("Insert", "Insert", 45, 0),
    ("Home", "Home", 36, 0),
    ("End", "End", 35, 0),
    ("PageUp", "PageUp", 33, 0),
    ("PageDown", "PageDown", 34, 0),
    ("ArrowLeft", "ArrowLeft", 37, 0),
    ("ArrowUp", "ArrowUp", 38, 0),
    ("ArrowRight", "ArrowRight", 39, 0),
    ("ArrowDown", "ArrowDown", 40, 0),
    ("Shift", "ShiftLeft", 16, 1),
    ("Control", "ControlLeft", 17, 1),
    ("Alt", "AltLeft", 18, 1),
    ("Meta", "MetaLeft", 91, 1),
    ("CapsLock", "CapsLock", 20, 0),
    ("ContextMenu", "ContextMenu", 93, 0),
    ("F1", "F1", 112, 0),
    ("F2", "F2", 113, 0),
    ("F3", "F3", 114, 0),
    ("F4", "F4", 115, 0),
    ("F5", "F5", 116, 0),
    ("F6", "F6", 117, 0),
    ("F7", "F7", 118, 0),
    ("F8", "F8", 119, 0),
    ("F9", "F9", 120, 0),
    ("F10", "F10", 121, 0),
    ("F11", "F11", 122, 0),
    ("F12", "F12", 123, 0),
];

/// Finds a key by name (`Enter`, `ArrowLeft`), code (`KeyA`, `Digit1`) or inserted text (`a`, `%`), as it is with or
/// without Shift; `None` if a US keyboard does not have it.
pub(crate) fn find(name: &str, shift: bool) -> Option<Key> {
    if let Some((name, code, number, location)) = ACTING.iter().find(|(key, code, ..)| *key == name || *code == name) {
        let text = (*name == "Enter").then(|| "\r".to_owned());
        return Some(Key { key: (*name).to_owned(), code, number: *number, text, location: *location });
    }
    if let Some(at) = LETTERS.iter().position(|code| *code == name) {
        return Some(letter(at, shift));
    }
    for (code, number, plain, shifted) in WRITING {
        let written = match name {
            _ if name == *code => {
                if shift {
                    *shifted
                } else {
                    *plain
                }
            }
            _ if name == *plain => {
                if shift {
                    *shifted
                } else {
                    *plain
                }
            }
            _ if name == *shifted => *shifted,
            _ => continue,
        };
        let text = Some(written.to_owned());
        return Some(Key { key: written.to_owned(), code, number: *number, text, location: 0 });
    }
    let mut letters = name.chars();
    match (letters.next(), letters.next()) {
        (Some('\n' | '\r'), None) => find("Enter", shift),
        (Some('\t'), None) => find("Tab", shift),
        (Some(written), None) if written.is_ascii_alphabetic() => {
            let at = usize::from(written.to_ascii_lowercase() as u8 - b'a');
            Some(letter(at, shift || written.is_ascii_uppercase()))
        }
        _ => None,
    }
}

fn letter(at: usize, shift: bool) -> Key {
    let at_u8 = at as u8;
    let written = char::from(if shift { b'A' } else { b'a' } + at_u8).to_string();
    Key { key: written.clone(), code: LETTERS[at], number: u32::from(b'A' + at_u8), text: Some(written), location: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_names_codes_and_what_they_write() {
        type Expected = Option<(&'static str, &'static str, u32, Option<&'static str>)>;
        let rows: &[(&str, bool, Expected)] = &[
            ("a", false, Some(("a", "KeyA", 65, Some("a")))),
            ("a", true, Some(("A", "KeyA", 65, Some("A")))),
            ("Z", false, Some(("Z", "KeyZ", 90, Some("Z")))),
            ("KeyB", false, Some(("b", "KeyB", 66, Some("b")))),
            ("%", false, Some(("%", "Digit5", 53, Some("%")))),
            ("5", true, Some(("%", "Digit5", 53, Some("%")))),
            ("Enter", false, Some(("Enter", "Enter", 13, Some("\r")))),
            ("\n", false, Some(("Enter", "Enter", 13, Some("\r")))),
            ("Space", false, Some((" ", "Space", 32, Some(" ")))),
            ("ShiftLeft", false, Some(("Shift", "ShiftLeft", 16, None))),
            ("ArrowUp", false, Some(("ArrowUp", "ArrowUp", 38, None))),
            ("ä", false, None),
            ("Return", false, None),
            ("", false, None),
        ];
        for (name, shift, expected) in rows {
            let found = find(name, *shift);
            let found = found.as_ref().map(|key| (key.key.as_str(), key.code, key.number, key.text.as_deref()));
            assert_eq!(found, *expected, "{name} {shift}");
        }
    }
}
