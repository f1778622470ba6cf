//! Files that a script has put into its answer: what is too large to be in its result, as downloads.

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

/// Where such files stand in the data of an answer.
const PATH: &str = "/files";
/// Of what has no type of its own.
const OCTETS: &str = "application/octet-stream";
/// Bytes enough to see what the content is: a tar archive says so after 257.
const HEAD_BYTES: u64 = 300;

/// Those of one execution.
pub struct KeptFiles {
    folder: PathBuf,
    kept: Mutex<Vec<DataFile>>,
    of_surface: Mutex<OfSurface>,
}

/// Files that a surface has put there.
#[derive(Default)]
struct OfSurface {
    count: u64,
    names: VecDeque<String>,
}

impl KeptFiles {
    /// None yet. They go into the execution's folder, which need not exist.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, kept: Mutex::default(), of_surface: Mutex::default() }
    }

    /// Puts a file there for the client of a surface. The oldest goes when there are [`DIRECT_FILES_MAX`]. Blocks.
    ///
    /// # Errors
    /// `RESULT_TOO_LARGE` or `IO_ERROR`.
    pub fn put(&self, name: &str, content: &[u8]) -> Result<DataFile, ErrorReport> {
        let mut of_surface = self.of_surface.lock().unwrap_or_else(PoisonError::into_inner);
        let files = Files { folder: &self.folder };
        while of_surface.names.len() >= DIRECT_FILES_MAX {
            let oldest = of_surface.names.pop_front().unwrap_or_default();
            files.remove(&oldest);
        }
        of_surface.count += 1;
        let name = format!("{}-{}", of_surface.count, plain(name));
        let (file, bytes) = files.keep_read(&name, &mut &*content).map_err(not_kept)?;
        of_surface.names.push_back(name);
        let mime_type = infer::get(content).map_or(OCTETS, |known| known.mime_type()).to_owned();
        Ok(DataFile { path: PATH.to_owned(), mime_type, bytes, file })
    }

    /// Those that there are; there are none afterwards.
    #[must_use]
    pub fn take(&self) -> Vec<DataFile> {
        std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl AnswerFiles for KeptFiles {
    fn keep(&self, name: &str, content: &mut dyn Read) -> Result<KeptFile, ErrorReport> {
        // Held while the file is written: the number is part of its name.
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT_FILES_MAX {
            let message = format!("an answer can have {KEPT_FILES_MAX} files of a script's own");
            return Err(ErrorReport::new(ErrorCode::ResultTooLarge, message)
                .with_hint("Return now, and go on in the next script."));
        }
        let name = format!("kept-{}-{}", kept.len() + 1, plain(name));
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

/// A name of letters that every file may have.
fn plain(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let of_ours = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_') { c } else { '_' };
    // The end says what it is.
    let letters: Vec<char> = last.chars().map(of_ours).collect();
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
            assert_eq!(plain(name), expected);
        }
        assert_eq!(plain(&("x".repeat(300) + ".zip")).len(), KEPT_FILE_NAME_CHARS_MAX);
        assert!(plain(&("x".repeat(300) + ".zip")).ends_with("x.zip"));
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
