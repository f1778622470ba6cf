//! Maps positions between texts: from the guest's positions back to the model's text.

use std::{borrow::Cow, ops::Range};

/// A position in the model's text: line and character, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub line: u32,
    pub column: u32,
}

/// The distance in bytes between two of [`Lines`]' marks, which bounds the counting for one column.
const MARK_BYTES: usize = 512;

/// The unit of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// Characters, as the engine and people count.
    Char,
    /// UTF-16 code units, as source maps count.
    Utf16,
}

impl Unit {
    fn of(self, c: char) -> usize {
        match self {
            Self::Char => 1,
            Self::Utf16 => c.len_utf16(),
        }
    }
}

/// The lines of a text, by JavaScript's line terminators, with a fast conversion between bytes and characters.
///
/// Built in one pass, so that each position of a stack trace is cheap to convert, also on a line of a mebibyte.
pub(super) struct Lines<'a> {
    text: &'a str,
    /// The byte offset at which each line starts.
    starts: Vec<usize>,
    unit: Unit,
    /// Byte offsets at intervals, with the number of units before each; empty if every character is one byte.
    marks: Vec<(usize, usize)>,
}

impl<'a> Lines<'a> {
    pub fn new(text: &'a str, unit: Unit) -> Self {
        let bytes = text.as_bytes();
        let mut starts = vec![0];
        for (at, byte) in bytes.iter().enumerate() {
            let ends = match byte {
                b'\n' => true,
                b'\r' => bytes.get(at + 1) != Some(&b'\n'),
                // U+2028 and U+2029 end a line in JavaScript: E2 80 A8 and E2 80 A9.
                0xA8 | 0xA9 => at >= 2 && bytes[at - 2..at] == [0xE2, 0x80],
                _ => false,
            };
            if ends {
                starts.push(at + 1);
            }
        }
        let mut marks = Vec::new();
        if !text.is_ascii() {
            let (mut units, mut next) = (0, 0);
            for (at, c) in text.char_indices() {
                if at >= next {
                    marks.push((at, units));
                    next = at + MARK_BYTES;
                }
                units += unit.of(c);
            }
        }
        Self { text, starts, unit, marks }
    }

    /// The number of lines.
    pub fn count(&self) -> usize {
        self.starts.len()
    }

    /// A line, counted from 1, without its terminator.
    pub fn line(&self, line: usize) -> &'a str {
        self.text[self.range(line)].trim_end_matches(['\n', '\r', '\u{2028}', '\u{2029}'])
    }

    /// The position of a byte.
    pub fn place(&self, offset: usize) -> Place {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.starts.partition_point(|start| *start <= offset);
        let column = self.units_before(offset) - self.units_before(self.starts[line - 1]) + 1;
        Place { line: saturate(line), column: saturate(column) }
    }

    /// The byte offset of a position, or the nearest one if the text has no such position.
    pub fn offset(&self, place: Place) -> usize {
        let line = (place.line.max(1) as usize).min(self.count());
        let range = self.range(line);
        let index = self.units_before(range.start) + place.column.max(1) as usize - 1;
        self.byte_of(index).min(range.end)
    }

    fn range(&self, line: usize) -> Range<usize> {
        let line = line.clamp(1, self.count());
        self.starts[line - 1]..self.starts.get(line).copied().unwrap_or(self.text.len())
    }

    fn units_before(&self, offset: usize) -> usize {
        let mark = self.marks.partition_point(|(at, _)| *at <= offset);
        let Some((at, units)) = mark.checked_sub(1).map(|index| self.marks[index]) else { return offset };
        units + self.text[at..offset].chars().map(|c| self.unit.of(c)).sum::<usize>()
    }

    fn byte_of(&self, index: usize) -> usize {
        let mark = self.marks.partition_point(|(_, units)| *units <= index);
        let Some((mut at, mut units)) = mark.checked_sub(1).map(|index| self.marks[index]) else {
            return index.min(self.text.len());
        };
        for c in self.text[at..].chars() {
            if units >= index {
                break;
            }
            units += self.unit.of(c);
            at += c.len_utf8();
        }
        at
    }
}

fn saturate(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// A transformation of one text into the next, for mapping offsets back.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Texts were inserted; nothing was removed.
    Inserted(Vec<Insertion>),
    /// The text was regenerated: pairs of a byte offset in the new text and in the old one, ascending in the new.
    Printed(Vec<(usize, usize)>),
}

/// An inserted text.
#[derive(Clone, Debug)]
pub(super) struct Insertion {
    /// Its byte range in the new text.
    pub new: Range<usize>,
    /// The byte offset in the old text before which it was inserted.
    pub old: usize,
}

impl Step {
    /// Inserts texts, each before a byte of the old text, and returns the new text with the mapping back. Insertions at
    /// the same byte keep the order of the list.
    pub fn insert(old: &str, mut inserts: Vec<(usize, Cow<'static, str>)>) -> (String, Self) {
        inserts.sort_by_key(|(at, _)| *at);
        let mut new = String::with_capacity(old.len() + inserts.iter().map(|(_, text)| text.len()).sum::<usize>());
        let mut insertions = Vec::with_capacity(inserts.len());
        let mut copied = 0;
        for (at, text) in inserts {
            new.push_str(&old[copied..at]);
            let start = new.len();
            new.push_str(&text);
            insertions.push(Insertion { new: start..new.len(), old: at });
            copied = at;
        }
        new.push_str(&old[copied..]);
        (new, Self::Inserted(insertions))
    }

    /// Maps an offset in the new text to the old one.
    pub fn back(&self, offset: usize) -> usize {
        match self {
            Self::Inserted(insertions) => {
                let before = insertions.partition_point(|insertion| insertion.new.start <= offset);
                match before.checked_sub(1).map(|index| &insertions[index]) {
                    None => offset,
                    Some(insertion) => insertion.old + offset.saturating_sub(insertion.new.end),
                }
            }
            Self::Printed(pairs) => {
                let before = pairs.partition_point(|(new, _)| *new <= offset);
                before.checked_sub(1).map_or(0, |index| pairs[index].1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_where_javascript_ends_them() {
        let lines = Lines::new("a\r\nb\rc\u{2028}d\n", Unit::Char);
        let all: Vec<_> = (1..=lines.count()).map(|line| lines.line(line)).collect();
        assert_eq!(all, ["a", "b", "c", "d", ""]);
    }

    #[test]
    fn places_and_offsets_are_each_other_s_inverse() {
        for text in ["", "abc", "ab\ncd\n", "Zürich 🦀\r\né\n\n漢字", &"é🦀x\n".repeat(2_000), &"🦀x".repeat(3_000)]
        {
            for unit in [Unit::Char, Unit::Utf16] {
                let lines = Lines::new(text, unit);
                for (offset, _) in text.char_indices().step_by(7) {
                    assert_eq!(lines.offset(lines.place(offset)), offset, "{offset} of {unit:?}");
                }
                assert_eq!(lines.offset(Place { line: u32::MAX, column: u32::MAX }), text.len());
                assert_eq!(lines.offset(Place { line: 0, column: 0 }), 0);
            }
        }
        assert_eq!(Lines::new("é🦀x", Unit::Char).place("é🦀".len()), Place { line: 1, column: 3 });
        assert_eq!(Lines::new("é🦀x", Unit::Utf16).place("é🦀".len()), Place { line: 1, column: 4 });
    }

    #[test]
    fn insertions_are_undone() {
        let (new, step) =
            Step::insert("abcd", vec![(4, "!".into()), (0, "<<".into()), (2, "(".into()), (2, "[".into())]);
        assert_eq!(new, "<<ab([cd!");
        let back: Vec<_> = (0..=new.len()).map(|offset| step.back(offset)).collect();
        assert_eq!(back, [0, 0, 0, 1, 2, 2, 2, 3, 4, 4]);
    }
}
