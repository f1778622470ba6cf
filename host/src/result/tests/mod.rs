//! Tests of shaping results for a model.

mod shaping;
mod truncation;
