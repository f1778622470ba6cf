//! The layout of an object's entries: on one line if they fit, in columns for short array items, otherwise one per
//! line.

/// The width of a line, which is exceeded only by entries that are too long themselves.
const LINE_WIDTH_MAX: usize = 80;
/// An object that contains this many levels or more gets one line per entry.
const LEVELS_PER_LINE: usize = 3;
/// An array with more items than this may be laid out in columns.
const COLUMNS_FROM: usize = 6;
const COLUMNS_MAX: usize = 15;
/// The approximate ratio of a character's height to its width.
const CHARACTER_RATIO: f64 = 2.5;

/// The text around the entries of an object, and the object's position.
pub struct Frame<'a> {
    /// A text before the opening bracket: `[Function: f]`, `<ref *1>`.
    pub base: &'a str,
    /// The prefix with the opening bracket: `Map(2) {`.
    pub open: &'a str,
    pub close: &'a str,
    /// The object's indentation.
    pub indentation: usize,
    /// The number of levels in the deepest entry.
    pub levels: usize,
}

/// The alignment of an array's items in columns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Columns {
    /// No columns.
    None,
    /// Right-aligned: numbers.
    Right,
    /// Left-aligned: other items.
    Left,
}

/// Lays out an object. `left_out` is an entry such as `... 3 more items`, which is put below the columns.
pub fn lay_out(frame: &Frame<'_>, mut entries: Vec<String>, left_out: Option<String>, columns: Columns) -> String {
    let count = entries.len() + usize::from(left_out.is_some());
    let mut in_columns = false;
    if columns != Columns::None && count > COLUMNS_FROM {
        let rows = into_columns(&entries, frame.indentation, columns, count);
        in_columns = rows.is_some();
        entries = rows.unwrap_or(entries);
    }
    entries.extend(left_out);
    let base = if frame.base.is_empty() { String::new() } else { format!("{} ", frame.base) };
    if !in_columns && frame.levels < LEVELS_PER_LINE && fits(frame, &entries) {
        return format!("{base}{} {} {}", frame.open, entries.join(", "), frame.close);
    }
    let line = format!("\n{}", " ".repeat(frame.indentation));
    format!("{base}{}{line}  {}{line}{}", frame.open, entries.join(&format!(",{line}  ")), frame.close)
}

fn fits(frame: &Frame<'_>, entries: &[String]) -> bool {
    let around = frame.indentation + width(frame.open) + width(frame.base) + 10;
    let text: usize = entries.iter().map(|entry| width(entry)).sum();
    text + entries.len() * 2 + around <= LINE_WIDTH_MAX
        && !frame.base.contains('\n')
        && !entries.iter().any(|entry| entry.contains('\n'))
}

/// Groups the items into rows, with as many columns as make the whole roughly square. `None` if the items are too wide.
fn into_columns(items: &[String], indentation: usize, columns: Columns, count: usize) -> Option<Vec<String>> {
    const SEPARATOR: usize = 2;
    if items.iter().any(|item| item.contains('\n')) {
        return None;
    }
    let widths: Vec<usize> = items.iter().map(|item| width(item)).collect();
    let widest = widths.iter().copied().max()?;
    let total: usize = widths.iter().map(|width| width + SEPARATOR).sum();
    let widest_cell = widest + SEPARATOR;
    let is_even = total as f64 / widest_cell as f64 > 5.0 || widest <= 6;
    if widest_cell * 3 + indentation >= LINE_WIDTH_MAX || !is_even {
        return None;
    }
    // If only few items are wide, the columns may be narrower than the widest item.
    let bias = (widest_cell as f64 - total as f64 / count as f64).sqrt();
    let biased = (widest_cell as f64 - 3.0 - bias).max(1.0);
    let square = ((CHARACTER_RATIO * biased * items.len() as f64).sqrt() / biased).round() as usize;
    let column_count =
        square.min((LINE_WIDTH_MAX - indentation) / widest_cell).min(LEVELS_PER_LINE * 4).min(COLUMNS_MAX);
    if column_count <= 1 {
        return None;
    }
    let column_widths: Vec<usize> = (0..column_count)
        .map(|column| widths.iter().skip(column).step_by(column_count).copied().max().unwrap_or(0))
        .collect();
    let rows = items.chunks(column_count).map(|row| {
        let mut line = String::new();
        for (column, item) in row.iter().enumerate() {
            let is_last = column + 1 == row.len();
            let padding = " ".repeat(column_widths[column].saturating_sub(width(item)));
            let separator = if is_last { "" } else { ", " };
            match columns {
                Columns::Right => line.extend([padding.as_str(), item, separator]),
                _ if is_last => line.push_str(item),
                _ => line.extend([item.as_str(), separator, padding.as_str()]),
            }
        }
        line
    });
    Some(rows.collect())
}

/// The approximate width of a text: wide characters count as one column.
pub fn width(text: &str) -> usize {
    text.chars().count()
}
