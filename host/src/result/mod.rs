//! Shapes a script's result and console for the answer: extracts images and files, and cuts the rest to a budget.

mod artifact;
pub mod console;
mod kept;
mod lossless;
mod measure;
mod media;
pub mod text;
mod truncate;

use artifact::Files;
use codemode_spec::{
    Value,
    envelope::{Cut, DataFile, Image},
    message::ConsoleLine,
};
use media::{Extracted, RESULT};
use serde_json::Value as Json;
use std::path::Path;

pub use kept::KeptFiles;
pub use truncate::{Truncated, truncate};

/// The parts of an answer that come from a result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shaped {
    /// The result, cut to its budget, with its shape preserved.
    pub result: Json,
    /// Images that were extracted from it.
    pub images: Vec<Image>,
    /// Other data that was extracted from it.
    pub files: Vec<DataFile>,
    /// Where it was cut.
    pub cuts: Vec<Cut>,
    /// The number of cuts that are not listed.
    pub cuts_unlisted: u64,
    /// The path of the file with the whole result, if it was cut.
    pub artifact: Option<String>,
    /// Problems that the reader should know of.
    pub warnings: Vec<String>,
}

/// The parts of an answer that come from the console.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ShapedConsole {
    /// The lines.
    pub lines: Vec<ConsoleLine>,
    /// Data that was extracted from them.
    pub files: Vec<DataFile>,
    /// Problems that the reader should know of.
    pub warnings: Vec<String>,
}

/// The step between a script's result and its answer. It is an option of the executor, not of a provider.
pub trait Transform: Send + Sync {
    /// Shapes a result for a budget of so many characters. `artifacts` is the folder for files of the execution; it
    /// need not exist yet.
    ///
    /// Blocks while it works and while it writes: up to a second for the largest result.
    fn transform(&self, result: Value, chars: usize, artifacts: &Path) -> Shaped;

    /// Shapes the script's console output, also when the execution failed. It may block like [`Self::transform`].
    fn console(&self, lines: Vec<ConsoleLine>, _artifacts: &Path) -> ShapedConsole {
        ShapedConsole { lines, ..ShapedConsole::default() }
    }
}

/// Passes the result through unchanged, for programs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Identity;

impl Transform for Identity {
    fn transform(&self, result: Value, _chars: usize, _artifacts: &Path) -> Shaped {
        match lossless::lossless(&result) {
            Ok(json) => Shaped { result: json, ..Shaped::default() },
            Err(why) => Shaped { warnings: vec![why.to_string()], ..Shaped::default() },
        }
    }
}

/// Shapes the result for a model: extracts images and other data, and cuts the rest to a budget so that it stays valid
/// JSON of the same shape. The whole of a cut result is stored in a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct ForModel;

impl Transform for ForModel {
    fn transform(&self, result: Value, chars: usize, artifacts: &Path) -> Shaped {
        let mut json = match lossless::lossless(&result) {
            Ok(json) => json,
            Err(why) => return Shaped { warnings: vec![why.to_string()], ..Shaped::default() },
        };
        let kept_in = Files { folder: artifacts };
        let mut extracted = Extracted::new(kept_in, "file");
        extracted.extract_from(&mut json, RESULT);
        let Truncated { json, cuts, cuts_unlisted } = truncate(json, chars);
        let warning = extracted.warning();
        let Extracted { images, files, .. } = extracted;
        let mut shaped = Shaped { result: json, images, files, cuts, cuts_unlisted, ..Shaped::default() };
        if !shaped.cuts.is_empty() || warning.is_some() {
            match kept_in.keep_result(&result) {
                Ok(path) => shaped.artifact = Some(path),
                Err(why) => shaped.warnings.push(format!("the whole result was not kept: {why}")),
            }
        }
        shaped.warnings.extend(warning);
        shaped
    }

    fn console(&self, mut lines: Vec<ConsoleLine>, artifacts: &Path) -> ShapedConsole {
        let mut extracted = Extracted::new(Files { folder: artifacts }, "log");
        for line in &mut lines {
            extracted.extract_from_text(&mut line.text, "/logs");
        }
        let warnings = extracted.warning().into_iter().collect();
        ShapedConsole { lines, files: extracted.files, warnings }
    }
}

#[cfg(test)]
mod tests;
