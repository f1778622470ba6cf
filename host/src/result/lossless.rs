//! A value's lossless JSON, for values of any depth.

use codemode_spec::Value;
use serde_json::Value as Json;
use std::{iter, thread};
use thiserror::Error;

/// The deepest value that is converted on the caller's thread; the conversion is recursive.
const SHALLOW_DEPTH_MAX: usize = 32;
/// Stack for the deepest value that crosses the boundary, in a build without optimisation.
const STACK_BYTES: usize = 16 << 20;

/// The thread that a deep value needs could not be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the result nests too deeply to be shown on this machine")]
pub(super) struct Unshown;

/// [`Value::to_json`], run on a dedicated thread if the value is deep: it could overflow an ordinary thread's stack,
/// which would abort the host.
pub(super) fn lossless(value: &Value) -> Result<Json, Unshown> {
    if !is_deep(value) {
        return Ok(value.to_json());
    }
    thread::scope(|scope| {
        let builder = thread::Builder::new().name("json".into()).stack_size(STACK_BYTES);
        builder.spawn_scoped(scope, || value.to_json()).ok()?.join().ok()
    })
    .ok_or(Unshown)
}

fn is_deep(value: &Value) -> bool {
    let mut open: Vec<Box<dyn Iterator<Item = &Value> + '_>> = vec![Box::new(iter::once(value))];
    while let Some(parts) = open.last_mut() {
        let Some(part) = parts.next() else {
            open.pop();
            continue;
        };
        match part {
            Value::Array(items) | Value::Set(items) => open.push(Box::new(items.iter())),
            Value::Map(entries) => open.push(Box::new(entries.iter().flat_map(|(key, value)| [key, value]))),
            Value::Object(entries) => open.push(Box::new(entries.iter().map(|(_, value)| value))),
            Value::Error(error) => open.push(Box::new(error.cause.iter())),
            _ => {}
        }
        if open.len() > SHALLOW_DEPTH_MAX {
            return true;
        }
    }
    false
}
