//! Reads the files that clients upload to pages, only from the one folder that the operator has configured.

use codemode_spec::{
    ErrorCode, ErrorReport, Value,
    limits::{UPLOAD_BYTES_MAX, UPLOAD_FILES_MAX},
};
use rustix::fs::{Mode, OFlags, ResolveFlags, open, openat2};
use std::{
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
};

/// Reads files into the form that the verbs take. A path is relative to the folder, or absolute within it. Blocks.
pub(super) fn read(folder: &Path, paths: &[String]) -> Result<Vec<Value>, ErrorReport> {
    if paths.len() > UPLOAD_FILES_MAX {
        let message = format!("{} files are too many: at most {UPLOAD_FILES_MAX} are taken", paths.len());
        return Err(ErrorReport::new(ErrorCode::InvalidArgument, message));
    }
    let mut left = UPLOAD_BYTES_MAX;
    paths.iter().map(|path| file(folder, path, &mut left)).collect()
}

fn file(folder: &Path, path: &str, left: &mut usize) -> Result<Value, ErrorReport> {
    let refused = |why: &str| {
        ErrorReport::new(ErrorCode::PolicyRefused, format!("the file {path:?} cannot be given to a page: {why}"))
            .with_hint("Name a file within the folder of the host's uploads.")
    };
    let within: PathBuf = Path::new(path).strip_prefix(folder).map_or_else(|_| path.into(), Path::to_path_buf);
    let folder = open(folder, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
    let folder = folder.map_err(|_| refused("the folder of uploads is not there"))?;
    // The kernel confines the lookup to the folder and follows no links: checking the path beforehand would be a race.
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let opened = openat2(&folder, &within, flags, Mode::empty(), resolve);
    let file = File::from(opened.map_err(|_| refused("it is not in the folder of uploads"))?);
    if !file.metadata().is_ok_and(|about| about.is_file()) {
        return Err(refused("it is no file"));
    }
    let mut content = Vec::new();
    let most = *left as u64 + 1;
    file.take(most).read_to_end(&mut content).map_err(|_| refused("it cannot be read"))?;
    *left = left
        .checked_sub(content.len())
        .ok_or_else(|| refused(&format!("the files have more than {UPLOAD_BYTES_MAX} bytes")))?;
    let name = within.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mime_type = mime_guess::from_path(&within).first_raw().unwrap_or_default();
    let texts = [("name", name.as_str()), ("mimeType", mime_type)];
    let mut fields: Vec<_> = texts.map(|(field, text)| (field.into(), Value::String(text.into()))).into();
    fields.push(("buffer".into(), Value::from(content)));
    Ok(Value::Object(fields))
}
