//! From a script's result to what an answer carries of it.

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
use media::{RESULT, Taken};
use serde_json::Value as Json;
use std::path::Path;

pub use kept::KeptFiles;
pub use truncate::{Truncated, truncate};

/// What an answer carries of a result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shaped {
    /// The result within its budget, of the same shape.
    pub result: Json,
    /// Images that stood in it.
    pub images: Vec<Image>,
    /// Other data that stood in it.
    pub files: Vec<DataFile>,
    /// Where it was cut.
    pub cuts: Vec<Cut>,
    /// Cuts beyond those that are listed.
    pub cuts_unlisted: u64,
    /// Where the whole result was kept, if it was cut.
    pub artifact: Option<String>,
    /// What the reader should know of it.
    pub warnings: Vec<String>,
}

/// What an answer carries of the console.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ShapedConsole {
    /// The lines.
    pub lines: Vec<ConsoleLine>,
    /// Data that stood in them.
    pub files: Vec<DataFile>,
    /// What the reader should know of it.
    pub warnings: Vec<String>,
}

/// The step of a tool between a script's result and its answer. An option of the executor, never of a provider.
pub trait Transform: Send + Sync {
    /// Shapes a result for a reader of so many characters. `artifacts` is the execution's own folder, which need not exist
    /// yet; what is kept goes there.
    ///
    /// Blocks while it works and while it writes: up to a second for the largest result.
    fn transform(&self, result: Value, chars: usize, artifacts: &Path) -> Shaped;

    /// Shapes what the script wrote to the console, of an execution that failed too. As [`Self::transform`] otherwise.
    fn console(&self, lines: Vec<ConsoleLine>, _artifacts: &Path) -> ShapedConsole {
        ShapedConsole { lines, ..ShapedConsole::default() }
    }
}

/// The result as it is, for programs.
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

/// The result as a model can take it in: images as images, other data as files, and the rest cut to a budget, so that it
/// stays valid and of the same shape. What was left out is kept whole in a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct ForModel;

impl Transform for ForModel {
    fn transform(&self, result: Value, chars: usize, artifacts: &Path) -> Shaped {
        let mut json = match lossless::lossless(&result) {
            Ok(json) => json,
            Err(why) => return Shaped { warnings: vec![why.to_string()], ..Shaped::default() },
        };
        let kept_in = Files { folder: artifacts };
        let mut taken = Taken::new(kept_in, "file");
        taken.take_from(&mut json, RESULT);
        let Truncated { json, cuts, cuts_unlisted } = truncate(json, chars);
        let warning = taken.warning();
        let Taken { images, files, .. } = taken;
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
        let mut taken = Taken::new(Files { folder: artifacts }, "log");
        for line in &mut lines {
            taken.take_from_text(&mut line.text, "/logs");
        }
        let warnings = taken.warning().into_iter().collect();
        ShapedConsole { lines, files: taken.files, warnings }
    }
}

#[cfg(test)]
mod tests;
