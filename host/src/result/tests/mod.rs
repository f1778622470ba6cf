//! What becomes of results on their way to a model.

mod shaping;
mod truncation;
