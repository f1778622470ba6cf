//! Files that a script has put into its answer: what is too large to be in its result, as downloads.

use super::artifact::{Files, KeepError};
use codemode_provider::{AnswerFiles, KeptFile};
use codemode_spec::{
    ErrorCode, ErrorReport,
    envelope::DataFile,
    limits::{KEPT_FILE_NAME_CHARS_MAX, KEPT_FILES_MAX},
};
use std::{
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
}

impl KeptFiles {
    /// None yet. They go into the execution's folder, which need not exist.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, kept: Mutex::default() }
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
        let (file, bytes) = written.map_err(|why| {
            let code = if matches!(why, KeepError::TooLarge) { ErrorCode::ResultTooLarge } else { ErrorCode::IoError };
            ErrorReport::new(code, format!("the file was not kept: {why}"))
        })?;
        kept.push(DataFile { path: PATH.to_owned(), mime_type: mime_type.clone(), bytes, file });
        Ok(KeptFile { name, mime_type, bytes })
    }
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
        let endless = &mut std::io::repeat(7);
        assert_eq!(files.keep("endless", endless).unwrap_err().code, ErrorCode::ResultTooLarge);
        assert!(files.take().is_empty());
    }
}
