//! The bytes behind an `ArrayBuffer` and its views.

use super::helper::{Helper, type_error};
use boa_engine::{
    Context, JsArgs, JsNativeError, JsObject, JsResult, JsValue,
    builtins::typed_array::TypedArrayKind,
    object::builtins::{AlignedVec, JsArrayBuffer, JsDataView, JsSharedArrayBuffer, JsTypedArray, JsUint8Array},
};

pub const HELPERS: &[Helper] =
    &[("bufferTransfer", 1, transfer), ("bufferTransferToFixedLength", 1, transfer), ("bufferDetached", 0, detached)];

/// A view of a buffer: the buffer and the byte range.
pub struct View {
    pub buffer: JsObject,
    pub offset: usize,
    pub length: usize,
    /// `None` for a `DataView` or a whole buffer.
    pub kind: Option<TypedArrayKind>,
}

impl View {
    /// The view of a value that is a buffer or a view of one; otherwise `None`.
    pub fn of(value: &JsValue, context: &mut Context) -> JsResult<Option<Self>> {
        let Some(object) = value.as_object() else { return Ok(None) };
        if let Ok(view) = JsTypedArray::from_object(object.clone()) {
            let kind = view.kind();
            let Some(buffer) = view.buffer(context)?.as_object() else { return Ok(None) };
            let (offset, length) = (view.byte_offset(context)?, view.byte_length(context)?);
            return Ok(Some(Self { buffer, offset, length, kind }));
        }
        if let Ok(view) = JsDataView::from_object(object.clone()) {
            let Some(buffer) = view.buffer(context)?.as_object() else { return Ok(None) };
            let (offset, length) = (view.byte_offset(context)? as usize, view.byte_length(context)? as usize);
            return Ok(Some(Self { buffer, offset, length, kind: None }));
        }
        let length = if let Ok(buffer) = JsArrayBuffer::from_object(object.clone()) {
            buffer.byte_length()
        } else if let Ok(buffer) = JsSharedArrayBuffer::from_object(object.clone()) {
            buffer.byte_length()
        } else {
            return Ok(None);
        };
        Ok(Some(Self { buffer: object, offset: 0, length, kind: None }))
    }

    /// Reads the bytes of the view; they are empty if the buffer is detached.
    pub fn read<T>(&self, read: impl FnOnce(&[u8]) -> T) -> T {
        let range = self.offset..self.offset + self.length;
        if let Ok(buffer) = JsArrayBuffer::from_object(self.buffer.clone()) {
            let data = buffer.data();
            return read(data.as_deref().and_then(|data| data.get(range)).unwrap_or_default());
        }
        let shared = JsSharedArrayBuffer::from_object(self.buffer.clone()).map(|buffer| buffer.to_vec());
        read(shared.unwrap_or_default().get(range).unwrap_or_default())
    }

    /// Writes the bytes of the view. Fails for a shared buffer.
    pub fn write<T>(&self, write: impl FnOnce(&mut [u8]) -> T) -> JsResult<T> {
        let buffer = JsArrayBuffer::from_object(self.buffer.clone())?;
        let mut data = buffer.data_mut();
        let range = self.offset..self.offset + self.length;
        let bytes = data.as_deref_mut().and_then(|data| data.get_mut(range));
        Ok(write(bytes.unwrap_or_default()))
    }
}

/// Creates an `ArrayBuffer` with a copy of the bytes.
pub fn array_buffer(bytes: &[u8], context: &mut Context) -> JsResult<JsArrayBuffer> {
    JsArrayBuffer::from_byte_block(AlignedVec::from_slice(0, bytes), context)
}

/// Creates a `Uint8Array` with a copy of the bytes.
pub fn uint8_array(bytes: &[u8], context: &mut Context) -> JsResult<JsObject> {
    let buffer = array_buffer(bytes, context)?;
    Ok(JsUint8Array::from_array_buffer(buffer, context)?.into())
}

/// The view of a value, which must be a `Uint8Array`.
pub fn require_uint8_array(value: &JsValue, context: &mut Context) -> JsResult<View> {
    match View::of(value, context)? {
        Some(view) if view.kind == Some(TypedArrayKind::Uint8) => Ok(view),
        _ => Err(type_error("not a Uint8Array")),
    }
}

/// `ArrayBuffer.prototype.transfer(length)`: moves the bytes to a new buffer, truncated or zero-filled to that length.
fn transfer(this: &JsValue, arguments: &[JsValue], context: &mut Context) -> JsResult<JsValue> {
    let buffer = require_buffer(this)?;
    let length = match arguments.get_or_undefined(0) {
        value if value.is_undefined() => None,
        value => Some(value.to_index(context)?),
    };
    if is_detached(&buffer) {
        return Err(type_error("the ArrayBuffer is detached"));
    }
    let limit = context.host_hooks().max_buffer_size(context);
    if length.is_some_and(|length| length > limit) {
        return Err(JsNativeError::range().with_message("the new length is larger than a buffer can be").into());
    }
    let mut bytes = buffer.detach(&JsValue::undefined())?;
    if let Some(length) = length {
        bytes.resize(length as usize, 0);
    }
    Ok(JsArrayBuffer::from_byte_block(bytes, context)?.into())
}

/// `get ArrayBuffer.prototype.detached`
fn detached(this: &JsValue, _: &[JsValue], _: &mut Context) -> JsResult<JsValue> {
    Ok(is_detached(&require_buffer(this)?).into())
}

fn require_buffer(value: &JsValue) -> JsResult<JsArrayBuffer> {
    let object = value.as_object().ok_or_else(|| type_error("not an ArrayBuffer"))?;
    JsArrayBuffer::from_object(object)
}

pub fn is_detached(buffer: &JsArrayBuffer) -> bool {
    buffer.data().is_none()
}
