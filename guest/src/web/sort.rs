//! `sort` and `toSorted`. The engine's own versions pass the script's comparison to Rust's sort, which panics if the
//! comparison is not a consistent order, as in the shuffle `sort(() => Math.random() - 0.5)`. For typed arrays they
//! also treat a result of 0 as "after".

use super::helper::{Helper, define, type_error};
use boa_engine::{
    Context, JsArgs, JsNativeError, JsObject, JsResult, JsString, JsValue, js_string,
    object::builtins::{JsArray, JsTypedArray},
};

/// The maximum length of an array.
const LENGTH_MAX: u64 = u32::MAX as u64;

/// Replaces the engine's four methods.
pub fn install(context: &Context) {
    let constructors = context.intrinsics().constructors();
    let methods: [(JsObject, Helper); 4] = [
        (constructors.array().prototype(), ("sort", 1, array_sort)),
        (constructors.array().prototype(), ("toSorted", 1, array_to_sorted)),
        (constructors.typed_array().prototype(), ("sort", 1, typed_array_sort)),
        (constructors.typed_array().prototype(), ("toSorted", 1, typed_array_to_sorted)),
    ];
    define(methods, context);
}

fn array_sort(this: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let comparator = comparator(arguments)?;
    let array = this.to_object(context)?;
    let length = length_of(&array, context)?;
    let mut items = Vec::new();
    for index in 0..length {
        if array.has_property(index, context)? {
            items.push(array.get(index, context)?);
        }
    }
    let kept = items.len() as u64;
    for (index, item) in sorted(items, comparator.as_ref(), context)?.enumerate() {
        array.set(index, item, true, context)?;
    }
    for index in kept..length {
        array.delete_property_or_throw(index, context)?;
    }
    Ok(array.into())
}

fn array_to_sorted(this: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let comparator = comparator(arguments)?;
    let array = this.to_object(context)?;
    let length = length_of(&array, context)?;
    if length > LENGTH_MAX {
        return Err(JsNativeError::range().with_message("Invalid array length").into());
    }
    let items = (0..length).map(|index| array.get(index, context)).collect::<JsResult<Vec<_>>>()?;
    let items = sorted(items, comparator.as_ref(), context)?;
    Ok(JsArray::from_iter(items, context).into())
}

fn typed_array_sort(this: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let comparator = comparator(arguments)?;
    let array = typed_array(this)?;
    // Called only to throw if the buffer is detached or has become too short.
    array.at(0_i64, context)?;
    write_sorted(&array, comparator.as_ref(), &array, context)
}

fn typed_array_to_sorted(this: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let comparator = comparator(arguments)?;
    let array = typed_array(this)?;
    let copy = array.to_reversed(context)?;
    write_sorted(&array, comparator.as_ref(), &copy, context)
}

fn comparator(arguments: &[JsValue]) -> JsResult<Option<JsObject>> {
    let comparator = arguments.get_or_undefined(0);
    match comparator.as_callable() {
        None if comparator.is_undefined() => Ok(None),
        None => Err(type_error("The comparison function must be either a function or undefined")),
        callable => Ok(callable),
    }
}

fn length_of(array: &JsObject, context: &mut Context) -> JsResult<u64> {
    array.get(js_string!("length"), context)?.to_length(context)
}

fn typed_array(this: &JsValue) -> JsResult<JsTypedArray> {
    let object = this.as_object().ok_or_else(|| type_error("Value is not a typed array object"))?;
    JsTypedArray::from_object(object)
}

/// Sorts the items of an array, by the comparison or as text. `undefined` comes last and is never compared.
fn sorted(
    mut items: Vec<JsValue>,
    comparator: Option<&JsObject>,
    context: &mut Context,
) -> JsResult<impl Iterator<Item = JsValue> + use<>> {
    let count = items.len();
    items.retain(|item| !item.is_undefined());
    let missing = count - items.len();
    let order = match comparator {
        Some(comparator) => {
            merge_sort(items.len(), |left, right| compares_after(comparator, &items[left], &items[right], context))?
        }
        None if items.len() < 2 => (0..items.len()).collect(),
        None => {
            let texts = items.iter().map(|item| item.to_string(context)).collect::<JsResult<Vec<JsString>>>()?;
            merge_sort(items.len(), |left, right| Ok(texts[left] > texts[right]))?
        }
    };
    let items = order.into_iter().map(move |index| items[index].clone());
    Ok(items.chain(std::iter::repeat_n(JsValue::undefined(), missing)))
}

/// Writes the sorted items of a typed array into one of the same length: by the comparison, or as numbers with `-0`
/// before `0` and `NaN` last. If the comparison shrinks the buffer, items that no longer fit are dropped.
fn write_sorted(
    array: &JsTypedArray,
    comparator: Option<&JsObject>,
    target: &JsTypedArray,
    context: &mut Context,
) -> JsResult<JsValue> {
    let length = array.length(context)?;
    let mut items = Vec::with_capacity(length);
    for index in 0..length {
        items.push(array.get(index, context)?);
    }
    let order = match comparator {
        Some(comparator) => {
            merge_sort(length, |left, right| compares_after(comparator, &items[left], &items[right], context))?
        }
        None => merge_sort(length, |left, right| Ok(is_greater(&items[left], &items[right])))?,
    };
    for (index, item) in order.into_iter().enumerate() {
        target.set(index, items[item].clone(), true, context)?;
    }
    Ok(target.clone().into())
}

fn compares_after(comparator: &JsObject, left: &JsValue, right: &JsValue, context: &mut Context) -> JsResult<bool> {
    let result = comparator.call(&JsValue::undefined(), &[left.clone(), right.clone()], context)?;
    Ok(result.to_number(context)? > 0.0)
}

fn is_greater(left: &JsValue, right: &JsValue) -> bool {
    if let (Some(left), Some(right)) = (left.as_bigint(), right.as_bigint()) {
        return left > right;
    }
    // A typed array's order puts `NaN` last, whatever its sign bit.
    let key =
        |value: &JsValue| value.as_number().map_or(f64::NAN, |number| if number.is_nan() { f64::NAN } else { number });
    key(left).total_cmp(&key(right)).is_gt()
}

/// Returns the indices `0..count` in sorted order: stable, and some permutation if `is_after` contradicts itself. Stops
/// at the first error.
fn merge_sort(count: usize, mut is_after: impl FnMut(usize, usize) -> JsResult<bool>) -> JsResult<Vec<usize>> {
    let mut order: Vec<usize> = (0..count).collect();
    let mut merged = Vec::with_capacity(count);
    let mut width = 1;
    while width < count {
        for run in order.chunks(2 * width) {
            let (mut left, mut right) = run.split_at(width.min(run.len()));
            // Two runs that are already in order cost one comparison.
            if let ([.., last], [first, ..]) = (left, right)
                && !is_after(*last, *first)?
            {
                merged.extend_from_slice(run);
                continue;
            }
            while let ([one, left_rest @ ..], [other, right_rest @ ..]) = (left, right) {
                if is_after(*one, *other)? {
                    merged.push(*other);
                    right = right_rest;
                } else {
                    merged.push(*one);
                    left = left_rest;
                }
            }
            merged.extend_from_slice(left);
            merged.extend_from_slice(right);
        }
        std::mem::swap(&mut order, &mut merged);
        merged.clear();
        width *= 2;
    }
    Ok(order)
}
