//! Files that a script attaches to its answer because they are too large for its result, such as downloads.

use super::artifact::{Files, KeepError};
use codemode_provider::{AnswerFiles, KeptFile};
use codemode_spec::{
    ErrorCode, ErrorReport,
    envelope::DataFile,
    limits::{DIRECT_FILES_MAX, KEPT_FILE_NAME_CHARS_MAX, KEPT_FILES_MAX},
};
use std::{
    collections::VecDeque,
    io::Read,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

/// The path of these files in an answer's data.
const PATH: &str = "/files";
/// The type of content that is not recognised.
const OCTETS: &str = "application/octet-stream";
/// Enough bytes to recognise the content: a tar archive's signature is at byte 257.
const HEAD_BYTES: u64 = 300;

/// The attached files of one execution.
pub struct KeptFiles {
    folder: PathBuf,
    kept: Mutex<Vec<DataFile>>,
    surface_files: Mutex<SurfaceFiles>,
}

/// The files that a surface has stored.
#[derive(Default)]
struct SurfaceFiles {
    count: u64,
    names: VecDeque<String>,
}

impl KeptFiles {
    /// An empty set of files. They will be written to the execution's folder, which need not exist yet.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, kept: Mutex::default(), surface_files: Mutex::default() }
    }

    /// Stores a file for the client of a surface, and removes the oldest one at [`DIRECT_FILES_MAX`]. Blocks.
    ///
    /// # Errors
    /// `RESULT_TOO_LARGE` or `IO_ERROR`.
    pub fn put(&self, name: &str, content: &[u8]) -> Result<DataFile, ErrorReport> {
        let mut surface_files = self.surface_files.lock().unwrap_or_else(PoisonError::into_inner);
        let files = Files { folder: &self.folder };
        while surface_files.names.len() >= DIRECT_FILES_MAX {
            let oldest = surface_files.names.pop_front().unwrap_or_default();
            files.remove(&oldest);
        }
        surface_files.count += 1;
        let name = format!("{}-{}", surface_files.count, safe_name(name));
        let (file, bytes) = files.keep_read(&name, &mut &*content).map_err(not_kept)?;
        surface_files.names.push_back(name);
        let mime_type = infer::get(content).map_or(OCTETS, |known| known.mime_type()).to_owned();
        Ok(DataFile { path: PATH.to_owned(), mime_type, bytes, file })
    }

    /// Takes the attached files out.
    #[must_use]
    pub fn take(&self) -> Vec<DataFile> {
        std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl AnswerFiles for KeptFiles {
    fn keep(&self, name: &str, content: &mut dyn Read) -> Result<KeptFile, ErrorReport> {
        // Hold the lock while the file is written: the file's number is part of its name.
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT_FILES_MAX {
            let message = format!("an answer can have {KEPT_FILES_MAX} files of a script's own");
            return Err(ErrorReport::new(ErrorCode::ResultTooLarge, message)
                .with_hint("Return now, and go on in the next script."));
        }
        let name = format!("kept-{}-{}", kept.len() + 1, safe_name(name));
        let mut head = Vec::new();
        let unreadable = |error: std::io::Error| ErrorReport::new(ErrorCode::IoError, format!("{}", error.kind()));
        content.take(HEAD_BYTES).read_to_end(&mut head).map_err(unreadable)?;
        let mime_type = infer::get(&head).map_or(OCTETS, |known| known.mime_type()).to_owned();
        let mut whole = head.as_slice().chain(content);
        let written = Files { folder: &self.folder }.keep_read(&name, &mut whole);
        let (file, bytes) = written.map_err(not_kept)?;
        kept.push(DataFile { path: PATH.to_owned(), mime_type: mime_type.clone(), bytes, file });
        Ok(KeptFile { name, mime_type, bytes })
    }
}

fn not_kept(why: KeepError) -> ErrorReport {
    let code = if matches!(why, KeepError::TooLarge) { ErrorCode::ResultTooLarge } else { ErrorCode::IoError };
    ErrorReport::new(code, format!("the file was not kept: {why}"))
}

/// A safe file name: the last component, with all but ASCII letters, digits, hyphens, full stops and underscores
/// replaced.
fn safe_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_') { c } else { '_' };
    // Keep the end of a long name, which has the extension.
    let letters: Vec<char> = last.chars().map(safe).collect();
    let from = letters.len().saturating_sub(KEPT_FILE_NAME_CHARS_MAX);
    letters[from..].iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn names_of_pages_lead_nowhere_else() {
        for (name, expected) in [
            ("report.csv", "report.csv"),
            ("/etc/passwd", "passwd"),
            ("..\\..\\x.txt", "x.txt"),
            ("..", ".."),
            ("a b\n\u{202e}c.pdf", "a_b__c.pdf"),
            ("", ""),
        ] {
            assert_eq!(safe_name(name), expected);
        }
        assert_eq!(safe_name(&("x".repeat(300) + ".zip")).len(), KEPT_FILE_NAME_CHARS_MAX);
        assert!(safe_name(&("x".repeat(300) + ".zip")).ends_with("x.zip"));
    }

    #[test]
    fn files_are_kept_with_their_type_and_no_more_than_an_answer_has() {
        let folder = tempfile::tempdir().unwrap();
        let files = KeptFiles::new(folder.path().join("x"));
        let kept = files.keep("../a.pdf", &mut &b"%PDF-1.7 and more"[..]).unwrap();
        assert_eq!((kept.name.as_str(), kept.mime_type.as_str(), kept.bytes), ("kept-1-a.pdf", "application/pdf", 17));
        for _ in 1..KEPT_FILES_MAX {
            files.keep("..", &mut &b""[..]).unwrap();
        }
        assert_eq!(files.keep("one more", &mut &b""[..]).unwrap_err().code, ErrorCode::ResultTooLarge);
        let taken = files.take();
        assert_eq!((taken.len(), taken[0].path.as_str()), (KEPT_FILES_MAX, "/files"));
        assert_eq!(fs::read(&taken[0].file).unwrap(), b"%PDF-1.7 and more");
        let put: Vec<_> = (0..=DIRECT_FILES_MAX).map(|_| files.put("a.png", b"\x89PNG\r\n\x1a\n").unwrap()).collect();
        assert_eq!(put[0].mime_type, "image/png");
        let there: Vec<_> = put.iter().filter(|file| fs::exists(&file.file).unwrap()).collect();
        assert_eq!((there.len(), there[0].file.ends_with("/2-a.png")), (DIRECT_FILES_MAX, true), "{}", there[0].file);
        let endless = &mut std::io::repeat(7);
        assert_eq!(files.keep("endless", endless).unwrap_err().code, ErrorCode::ResultTooLarge);
        assert!(files.take().is_empty());
    }
}
