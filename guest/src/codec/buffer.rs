//! The kinds of buffers and views: determining the kind of an object, and creating an object of a kind.

use crate::web::{View, array_buffer};
use boa_engine::{
    Context, JsObject, JsResult, JsValue,
    builtins::{dataview::DataView, typed_array::TypedArrayKind},
    object::builtins::{JsDataView, js_typed_array_from_kind},
};
use codemode_spec::value::BufferKind;

/// The kinds of typed arrays, as the contract and the engine name them.
const TYPED: &[(BufferKind, TypedArrayKind)] = &[
    (BufferKind::Int8Array, TypedArrayKind::Int8),
    (BufferKind::Uint8Array, TypedArrayKind::Uint8),
    (BufferKind::Uint8ClampedArray, TypedArrayKind::Uint8Clamped),
    (BufferKind::Int16Array, TypedArrayKind::Int16),
    (BufferKind::Uint16Array, TypedArrayKind::Uint16),
    (BufferKind::Int32Array, TypedArrayKind::Int32),
    (BufferKind::Uint32Array, TypedArrayKind::Uint32),
    (BufferKind::Float16Array, TypedArrayKind::Float16),
    (BufferKind::Float32Array, TypedArrayKind::Float32),
    (BufferKind::Float64Array, TypedArrayKind::Float64),
    (BufferKind::BigInt64Array, TypedArrayKind::BigInt64),
    (BufferKind::BigUint64Array, TypedArrayKind::BigUint64),
];

/// The kind of an object whose view is `view`. A shared buffer is encoded as an `ArrayBuffer`, because its copy shares
/// no memory with it.
pub fn kind_of(object: &JsObject, view: &View) -> BufferKind {
    let typed = view.kind.and_then(|kind| TYPED.iter().find(|(_, typed)| *typed == kind));
    match typed {
        Some((kind, _)) => *kind,
        None if object.is::<DataView>() => BufferKind::DataView,
        None => BufferKind::ArrayBuffer,
    }
}

/// Creates an object of a kind, with a new buffer of these bytes.
pub fn of_kind(kind: BufferKind, bytes: &[u8], context: &mut Context) -> JsResult<JsValue> {
    let buffer = array_buffer(bytes, context)?;
    if let Some((_, typed)) = TYPED.iter().find(|(typed, _)| *typed == kind) {
        return js_typed_array_from_kind(*typed, buffer, context);
    }
    match kind {
        BufferKind::DataView => Ok(JsDataView::from_js_array_buffer(buffer, None, None, context)?.into()),
        _ => Ok(buffer.into()),
    }
}
