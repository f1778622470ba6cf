//! `console.table`: rows and columns of an array of objects.

use super::{
    format::bare,
    inspect::Inspector,
    layout::width,
    own::{enumerable_keys, own_property},
    quote,
};
use boa_engine::{
    Context, JsObject, JsValue,
    builtins::{map::ordered_map::OrderedMap, set::ordered_set::OrderedSet},
    property::PropertyKey,
};
use codemode_spec::limits::CONSOLE_LINE_BYTES_MAX;

const ROWS_MAX: usize = 200;
const COLUMNS_MAX: usize = 30;

/// A row: the text of its first column, and its value.
type Row = (String, JsValue);

/// Formats a value as a table; `None` if it is not an object. `only` is an array of the columns to show.
pub fn table(value: &JsValue, only: Option<&JsValue>, context: &mut Context) -> Option<String> {
    let object = value.as_object()?;
    let (heading, rows) = rows(&object, context);
    let mut columns: Vec<String> = Vec::new();
    let mut cells: Vec<Vec<(usize, String)>> = Vec::new();
    let (mut has_values, mut values) = (false, Vec::new());
    let mut spent = 0;
    for (_, value) in &rows {
        let mut row = Vec::new();
        let mut plain = String::new();
        match value.as_object().filter(|object| !object.is_callable()) {
            Some(object) => {
                for key in enumerable_keys_and_items(&object) {
                    let name = column_name(&key);
                    let column = columns.iter().position(|column| *column == name).unwrap_or_else(|| {
                        columns.push(name);
                        columns.len() - 1
                    });
                    let value = own_property(&object, &key).and_then(|property| property.value().cloned());
                    row.push((column, cell(&value.unwrap_or_default(), context)));
                }
            }
            None => {
                has_values = true;
                plain = cell(value, context);
            }
        }
        spent += row.iter().map(|(_, cell)| cell.len()).sum::<usize>() + plain.len();
        cells.push(row);
        values.push(plain);
        if spent > CONSOLE_LINE_BYTES_MAX {
            break;
        }
    }
    let shown: Vec<usize> = match only.and_then(JsValue::as_object) {
        None => (0..columns.len().min(COLUMNS_MAX)).collect(),
        Some(only) => {
            let names = enumerable_keys_and_items(&only).into_iter().filter_map(|key| {
                own_property(&only, &key)?.value()?.as_string().map(|name| quote::beginning(&name, 256).0)
            });
            names.filter_map(|name| columns.iter().position(|column| *column == name)).take(COLUMNS_MAX).collect()
        }
    };
    let mut grid: Vec<Vec<String>> = Vec::new();
    let mut header = vec![heading.to_owned()];
    header.extend(shown.iter().map(|column| columns[*column].clone()));
    if has_values {
        header.push("Values".to_owned());
    }
    grid.push(header);
    for ((row, plain), (index, _)) in cells.into_iter().zip(values).zip(&rows) {
        let mut line = vec![index.clone()];
        for column in &shown {
            line.push(row.iter().find(|(place, _)| place == column).map(|(_, cell)| cell.clone()).unwrap_or_default());
        }
        if has_values {
            line.push(plain);
        }
        grid.push(line);
    }
    Some(draw(&grid))
}

fn rows(object: &JsObject, context: &mut Context) -> (&'static str, Vec<Row>) {
    let map = object
        .downcast_ref::<OrderedMap<JsValue>>()
        .map(|map| map.iter().take(ROWS_MAX).map(|(key, value)| (key.clone(), value.clone())).collect::<Vec<_>>());
    if let Some(entries) = map {
        let rows = entries.into_iter().map(|(key, value)| (cell(&key, context), value));
        return ("(key)", rows.collect());
    }
    let set = object.downcast_ref::<OrderedSet>().map(|set| set.iter().take(ROWS_MAX).cloned().collect::<Vec<_>>());
    if let Some(items) = set {
        let rows = items.into_iter().enumerate().map(|(index, value)| (index.to_string(), value));
        return ("(iteration index)", rows.collect());
    }
    let keys = enumerable_keys_and_items(object).into_iter().take(ROWS_MAX);
    let rows = keys.map(|key| {
        let value = own_property(object, &key).and_then(|property| property.value().cloned());
        (column_name(&key), value.unwrap_or_default())
    });
    ("(index)", rows.collect())
}

/// The enumerable keys, including the indices of an array's items.
fn enumerable_keys_and_items(object: &JsObject) -> Vec<PropertyKey> {
    let mut keys = enumerable_keys(object);
    if object.is_array() {
        let object = object.borrow();
        let mut indices: Vec<u32> = object.properties().index_property_keys().collect();
        indices.sort_unstable();
        indices.truncate(ROWS_MAX);
        keys.splice(0..0, indices.into_iter().map(PropertyKey::from));
    }
    keys.truncate(ROWS_MAX);
    keys
}

fn column_name(key: &PropertyKey) -> String {
    match key {
        PropertyKey::String(name) => quote::beginning(name, 256).0,
        PropertyKey::Index(index) => index.get().to_string(),
        PropertyKey::Symbol(_) => quote::key(key),
    }
}

/// A value as text on one line.
fn cell(value: &JsValue, context: &mut Context) -> String {
    let text = if value.is_object() {
        Inspector::new(200, context).with_depth_max(0).value(value)
    } else if value.is_string() {
        format!("'{}'", bare(value, 200, context))
    } else {
        bare(value, 200, context)
    };
    text.split('\n').map(str::trim).collect::<Vec<_>>().join(" ")
}

fn draw(grid: &[Vec<String>]) -> String {
    let count = grid.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count)
        .map(|column| grid.iter().filter_map(|row| row.get(column)).map(|cell| width(cell)).max().unwrap_or(0) + 2)
        .collect();
    let rule = |left: &str, middle: &str, right: &str| {
        let lines: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
        format!("{left}{}{right}", lines.join(middle))
    };
    let line = |row: &Vec<String>| {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .map(|(cell, column)| format!(" {cell}{} ", " ".repeat(column - 2 - width(cell))))
            .collect();
        format!("│{}│", cells.join("│"))
    };
    let mut lines = vec![rule("┌", "┬", "┐")];
    for (index, row) in grid.iter().enumerate() {
        lines.push(line(row));
        if index == 0 {
            lines.push(rule("├", "┼", "┤"));
        }
    }
    lines.push(rule("└", "┴", "┘"));
    lines.join("\n")
}
