//! Extracts binary data from a result: screenshots, PDFs, archives, fonts and audio arrive as base64, which is useless
//! to a model and would use up the result's budget. Images become the answer's images; other data, and images beyond
//! the limits, become files.
//!
//! Data is recognised by its first bytes, or by the declared type of a `data:` URL.

use super::artifact::Files;
use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
    prelude::BASE64_STANDARD,
};
use codemode_spec::{
    envelope::{DataFile, Image},
    error::clip,
    limits::{DATA_FILES_MAX, DATA_PATH_CHARS_MAX, IMAGE_BYTES_MAX, IMAGES_MAX},
    value::{BufferKind, JSON_TAG},
};
use serde_json::Value as Json;
use std::{borrow::Cow, ops::Range};

/// The depth beyond which values are not searched for data.
const DEPTH_MAX: usize = 64;
/// The smallest number of bytes that is treated as data, whatever its first bytes are.
const BYTES_MIN: usize = 32;
/// Bytes of an unrecognised type are shown in the result up to this number.
const UNKNOWN_BYTES_MAX: usize = 1_024;
/// Enough base64 to recognise the first bytes: a tar archive's signature is at byte 257.
const HEAD_CHARS: usize = 400;
/// The smallest string of bare base64 that is treated as data unless it is an image: a shorter one may be a word, a key
/// or a hash.
const BARE_CHARS_MIN: usize = 128;
/// The same limit for base64 within other text.
const EMBEDDED_CHARS_MIN: usize = 200;
/// The type of data that is not recognised.
const OCTETS: &str = "application/octet-stream";
/// The separator between a `data:` URL's type and its data.
const BASE64_MARK: &str = ";base64,";
/// The longest declared type; a longer one is a page's attempt to enlarge the answer.
const DECLARED_CHARS_MAX: usize = 200;

const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The data extracted from one answer.
pub(super) struct Extracted<'f> {
    pub images: Vec<Image>,
    pub files: Vec<DataFile>,
    kept_in: Files<'f>,
    /// Prefix of the files' names.
    name: &'static str,
    image_bytes: usize,
    not_kept: usize,
    /// The error of the first file that could not be written.
    fault: Option<String>,
}

impl<'f> Extracted<'f> {
    pub fn new(kept_in: Files<'f>, name: &'static str) -> Self {
        Self { images: Vec::new(), files: Vec::new(), kept_in, name, image_bytes: 0, not_kept: 0, fault: None }
    }

    /// A warning about data that is neither attached nor stored.
    pub fn warning(&self) -> Option<String> {
        let why = match &self.fault {
            Some(fault) => fault.clone(),
            None => format!("an answer has at most {IMAGES_MAX} images and {DATA_FILES_MAX} files"),
        };
        (self.not_kept > 0).then(|| format!("{} pieces of data are not kept: {why}", self.not_kept))
    }

    /// Replaces the data in a result by placeholders. Paths are JSON pointers that start at `at`.
    pub fn extract_from(&mut self, result: &mut Json, at: &str) {
        self.walk(result, &mut at.to_owned(), 0);
    }

    /// Does the same for a separate text, such as a console line; its images become files too.
    pub fn extract_from_text(&mut self, text: &mut String, at: &str) {
        if let Some(without) = self.without_data(text, at, false) {
            *text = without;
        }
    }

    fn walk(&mut self, value: &mut Json, path: &mut String, depth: usize) {
        match value {
            Json::String(text) => {
                if let Some(without) = self.without_data(text, path, true) {
                    *text = without;
                }
            }
            Json::Array(items) if depth < DEPTH_MAX => {
                for (index, item) in items.iter_mut().enumerate() {
                    let length = path.len();
                    push_token(path, &index.to_string());
                    self.walk(item, path, depth + 1);
                    path.truncate(length);
                }
            }
            Json::Object(entries) if depth < DEPTH_MAX => {
                if let Some(data) = bytes_of(entries).and_then(Data::of_bytes) {
                    *value = Json::String(self.add(path, data, true));
                    return;
                }
                for (key, item) in entries {
                    let length = path.len();
                    push_token(path, key);
                    self.walk(item, path, depth + 1);
                    path.truncate(length);
                }
            }
            _ => {}
        }
    }

    /// The text with its data replaced by placeholders; `None` if it contains no data.
    fn without_data(&mut self, text: &str, path: &str, attach: bool) -> Option<String> {
        if let Some(data) = Data::of_text(text.trim()) {
            return Some(self.add(path, data, attach));
        }
        let mut without = String::new();
        let mut end = 0;
        let mut from = 0;
        while let Some(run) = next_run(text, from) {
            from = run.end;
            let declared = declared_before(text, run.start).filter(|(start, _)| *start >= end);
            let data = Data::of_run(&text[run.clone()], declared.map(|(_, declared)| declared));
            if let Some(data) = data {
                without.push_str(&text[end..declared.map_or(run.start, |(start, _)| start)]);
                without.push_str(&self.add(path, data, attach));
                end = run.end;
            }
        }
        (end > 0).then(|| without + &text[end..])
    }

    /// Attaches or stores the data, and returns its placeholder.
    fn add(&mut self, path: &str, data: Data<'_>, attach: bool) -> String {
        let size = super::text::grouped(data.bytes.len() as u64);
        let Data { mime_type, extension, bytes, base64 } = data;
        // Clip the path: it consists of keys, which a page can choose.
        let mut path = path.to_owned();
        clip(&mut path, DATA_PATH_CHARS_MAX);
        let is_image = attach && ATTACHED.contains(&&*mime_type);
        if is_image && self.images.len() < IMAGES_MAX && self.image_bytes + bytes.len() <= IMAGE_BYTES_MAX {
            self.image_bytes += bytes.len();
            let is_canonical = base64.len().is_multiple_of(4) && !base64.contains(char::is_whitespace);
            let data = if is_canonical { base64.to_owned() } else { BASE64_STANDARD.encode(bytes) };
            let path = path.strip_prefix(RESULT).unwrap_or(&path).to_owned();
            let placeholder = format!("[image {}: {mime_type}, {size} bytes]", self.images.len() + 1);
            self.images.push(Image { path, mime_type: mime_type.into_owned(), data });
            return placeholder;
        }
        if self.files.len() < DATA_FILES_MAX && self.fault.is_none() {
            let number = self.files.len() + 1;
            match self.kept_in.keep_data(&format!("{}-{number}.{extension}", self.name), &bytes) {
                Ok(file) => {
                    let placeholder = format!("[{} {number}: {mime_type}, {size} bytes]", self.name);
                    let bytes = bytes.len() as u64;
                    self.files.push(DataFile { path, mime_type: mime_type.into_owned(), bytes, file });
                    return placeholder;
                }
                Err(why) => self.fault = Some(why.to_string()),
            }
        }
        self.not_kept += 1;
        format!("[data: {mime_type}, {size} bytes, not kept]")
    }
}

/// The path of the result in an answer's data.
pub(super) const RESULT: &str = "/result";

/// The image types that models accept.
const ATTACHED: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];

/// A piece of data.
struct Data<'t> {
    mime_type: Cow<'t, str>,
    extension: &'static str,
    bytes: Vec<u8>,
    /// The base64 as it was in the result.
    base64: &'t str,
}

impl<'t> Data<'t> {
    /// The data if a whole text consists of it: base64 with a recognised beginning, or a `data:` URL.
    fn of_text(text: &'t str) -> Option<Self> {
        if let Some((declared, base64)) = text.strip_prefix("data:").and_then(|url| url.split_once(BASE64_MARK)) {
            return Self::of(base64, declared_type(declared), BYTES_MIN);
        }
        let data = Self::of(text, None, BYTES_MIN)?;
        (text.len() >= BARE_CHARS_MIN || ATTACHED.contains(&&*data.mime_type)).then_some(data)
    }

    /// The data in a run of base64 within a text.
    fn of_run(run: &'t str, declared: Option<&'t str>) -> Option<Self> {
        Self::of(run, declared.and_then(declared_type), BYTES_MIN)
    }

    /// The data in a byte array, if its type is recognised or it is too large to be shown.
    fn of_bytes(base64: &'t str) -> Option<Self> {
        Self::of(base64, None, BYTES_MIN).or_else(|| Self::of(base64, Some(OCTETS), UNKNOWN_BYTES_MAX + 1))
    }

    fn of(base64: &'t str, declared: Option<&'t str>, bytes_min: usize) -> Option<Self> {
        // Most strings are no data: decide by their length and their first bytes.
        if base64.len() < bytes_min * 4 / 3 {
            return None;
        }
        let head = compact(base64.get(..base64.len().min(HEAD_CHARS))?);
        let head = LENIENT.decode(head.get(..head.len() / 4 * 4)?).ok()?;
        let (mime_type, extension) = match (infer::get(&head), declared) {
            (Some(known), _) => (known.mime_type().into(), known.extension()),
            (None, Some(declared)) => (declared.into(), extension_of(declared)),
            (None, None) => return None,
        };
        let bytes = LENIENT.decode(&*compact(base64)).ok().filter(|bytes| bytes.len() >= bytes_min)?;
        Some(Self { mime_type, extension, bytes, base64 })
    }
}

/// Base64 without its line breaks.
fn compact(base64: &str) -> Cow<'_, str> {
    if base64.contains(['\r', '\n']) { base64.replace(['\r', '\n'], "").into() } else { base64.into() }
}

/// The type of a `data:` URL without its parameters, if it is a valid type.
fn declared_type(declared: &str) -> Option<&str> {
    let mime_type = declared.split(';').next().filter(|declared| declared.len() <= DECLARED_CHARS_MAX)?;
    let is_word = |c: char| c.is_ascii_alphanumeric() || "!#$&-^_.+".contains(c);
    let (kind, name) = mime_type.split_once('/')?;
    let is_type = [kind, name].iter().all(|part| !part.is_empty() && part.chars().all(is_word));
    is_type.then_some(mime_type)
}

/// The file extension for a declared type.
fn extension_of(mime_type: &str) -> &'static str {
    match mime_type {
        "image/svg+xml" => "svg",
        "application/json" => "json",
        "text/html" => "html",
        "text/csv" => "csv",
        _ if mime_type.starts_with("text/") => "txt",
        _ => "bin",
    }
}

/// The next run of base64 that is long enough to be data; it may contain line breaks.
fn next_run(text: &str, from: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let mut start = from;
    while start < bytes.len() {
        let first = bytes[start..].iter().position(is_base64)? + start;
        let mut end = first;
        while end < bytes.len() {
            let breaks = bytes[end..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            match bytes.get(end + breaks) {
                Some(byte) if is_base64(byte) => end += breaks + 1,
                _ => break,
            }
        }
        let padding = bytes[end..].iter().take_while(|byte| **byte == b'=').count().min(2);
        if end - first >= EMBEDDED_CHARS_MIN {
            return Some(first..end + padding);
        }
        start = end + 1;
    }
    None
}

/// The start and the declared type of the `data:` URL whose data starts at `start`.
fn declared_before(text: &str, start: usize) -> Option<(usize, &str)> {
    let before = text[..start].strip_suffix(BASE64_MARK)?;
    let mut from = before.len().saturating_sub(DECLARED_CHARS_MAX);
    while !before.is_char_boundary(from) {
        from += 1;
    }
    let at = from + before[from..].rfind("data:")?;
    Some((at, &before[at + "data:".len()..]))
}

/// Adds a reference token to a JSON pointer (RFC 6901).
pub(super) fn push_token(path: &mut String, token: &str) {
    path.push('/');
    path.extend(token.chars().map(|c| match c {
        '~' => "~0".to_owned(),
        '/' => "~1".to_owned(),
        c => c.to_string(),
    }));
}

/// The base64 of a tagged byte array, if the object is one.
fn bytes_of(entries: &serde_json::Map<String, Json>) -> Option<&str> {
    BufferKind::of_name(entries.get(JSON_TAG)?.as_str()?)?;
    entries.get("value").and_then(Json::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::{fs, path::Path};

    fn base64(head: &[u8], bytes: usize) -> String {
        let mut data = head.to_vec();
        data.resize(bytes, 7);
        BASE64_STANDARD.encode(data)
    }

    fn png(bytes: usize) -> String {
        base64(b"\x89PNG\r\n\x1a\n", bytes)
    }

    fn pdf(bytes: usize) -> String {
        base64(b"%PDF-1.7", bytes)
    }

    fn extracted<T>(result: &mut Json, look: impl FnOnce(&Extracted<'_>, &Path) -> T) -> T {
        let folder = tempfile::tempdir().unwrap();
        let mut extracted = Extracted::new(Files { folder: folder.path() }, "file");
        extracted.extract_from(result, RESULT);
        look(&extracted, folder.path())
    }

    #[test]
    fn data_is_known_by_its_first_bytes_or_by_its_declared_type() {
        let rows = [
            (png(100), Some(("image/png", 100))),
            (png(100).trim_end_matches('=').to_owned(), Some(("image/png", 100))),
            (format!("data:image/jpeg;base64,{}", png(100)), Some(("image/png", 100))),
            (base64(b"\xff\xd8\xff\xe0", 44), Some(("image/jpeg", 44))),
            (base64(b"GIF89a", 46), Some(("image/gif", 46))),
            (base64(b"RIFF\x01\x02\x03\x04WEBP", 52), Some(("image/webp", 52))),
            (base64(b"RIFF\x01\x02\x03\x04WAVE", 400), Some(("audio/x-wav", 400))),
            (pdf(400), Some(("application/pdf", 400))),
            (format!("data:application/octet-stream;base64,{}", pdf(400)), Some(("application/pdf", 400))),
            (base64(b"PK\x03\x04", 400), Some(("application/zip", 400))),
            (base64(b"wOF2\x00\x01\x00\x00", 400), Some(("application/font-woff", 400))),
            (base64(b"\0asm\x01\0\0\0", 400), Some(("application/wasm", 400))),
            (base64(b"ID3\x04", 400), Some(("audio/mpeg", 400))),
            (format!("data:image/svg+xml;base64,{}", base64(b"<svg>", 50)), Some(("image/svg+xml", 50))),
            (format!("data:text/csv;charset=utf-8;base64,{}", base64(b"a,b", 50)), Some(("text/csv", 50))),
            // Text that is too short, not base64, or of no recognised type is not data.
            (pdf(60), None),
            (png(20), None),
            (format!("{}!", png(100)), None),
            (base64(b"nothing known", 400), None),
            (format!("data:;base64,{}", base64(b"nothing", 50)), None),
            (format!("data:a b/c;base64,{}", base64(b"nothing", 50)), None),
            ("data:image/png,abc".into(), None),
            ("0123456789abcdef".repeat(16), None),
            ("a".repeat(10_000), None),
            ("é".repeat(100), None),
            (String::new(), None),
        ];
        for (text, expected) in rows {
            let data = Data::of_text(&text);
            assert_eq!(data.as_ref().map(|data| (&*data.mime_type, data.bytes.len())), expected, "{text}");
        }
    }

    #[test]
    fn images_and_files_leave_words_in_their_place() {
        let buffer = |kind: &str, data: String| json!({"$type": kind, "value": data});
        let bytes = |data| buffer("Uint8Array", data);
        let mut result = json!({
            "a/b": [{"data": png(100)}], "c": bytes(png(12_345)), "d": "text", "e": pdf(1_000),
            "f": bytes(base64(b"?", 1_024)), "g": buffer("Float32Array", base64(b"?", 1_025)),
            "h": buffer("ArrayBuffer", pdf(40)),
        });
        let small = result["f"].clone();
        extracted(&mut result, |extracted, folder| {
            let paths: Vec<_> = extracted.images.iter().map(|image| image.path.as_str()).collect();
            assert_eq!(paths, ["/a~1b/0/data", "/c"]);
            assert_eq!(extracted.images[0].data, png(100));
            let files: Vec<_> =
                extracted.files.iter().map(|it| (it.path.as_str(), it.mime_type.as_str(), it.bytes)).collect();
            let expected = [
                ("/result/e", "application/pdf", 1_000),
                ("/result/g", "application/octet-stream", 1_025),
                ("/result/h", "application/pdf", 40),
            ];
            assert_eq!(files, expected);
            assert_eq!(extracted.files[0].file, folder.join("file-1.pdf").display().to_string());
            assert_eq!(BASE64_STANDARD.encode(fs::read(&extracted.files[0].file).unwrap()), pdf(1_000));
            assert_eq!(extracted.warning(), None);
        });
        let placeholder = json!({
            "a/b": [{"data": "[image 1: image/png, 100 bytes]"}], "c": "[image 2: image/png, 12,345 bytes]", "d": "text",
            "e": "[file 1: application/pdf, 1,000 bytes]", "f": small,
            "g": "[file 2: application/octet-stream, 1,025 bytes]", "h": "[file 3: application/pdf, 40 bytes]",
        });
        assert_eq!(result, placeholder);
    }

    #[test]
    fn data_within_longer_texts_is_found() {
        let mut lines = pdf(600);
        (1..lines.len() / 76).rev().for_each(|line| lines.insert_str(line * 76, "\r\n"));
        let rows = [
            (
                format!("<img src=\"data:image/png;base64,{}\"> é", png(300)),
                "<img src=\"[image 1: image/png, 300 bytes]\"> é",
            ),
            (format!("{{\"pdf\":\"{}\"}}", pdf(300)), "{\"pdf\":\"[file 1: application/pdf, 300 bytes]\"}"),
            (
                format!("é{}, {} and {}", pdf(301), "x".repeat(300), png(302)),
                &*format!(
                    "é[file 1: application/pdf, 301 bytes], {} and [image 1: image/png, 302 bytes]",
                    "x".repeat(300)
                ),
            ),
            (format!("Content:\n\n{lines}\n\n--"), "Content:\n\n[file 1: application/pdf, 600 bytes]\n\n--"),
            (format!("url(data:font/x;charset=a;base64,{})", base64(b"?", 300)), "url([file 1: font/x, 300 bytes])"),
        ];
        for (text, expected) in rows {
            let mut result = json!([text]);
            extracted(&mut result, |_, _| ());
            assert_eq!(result, json!([expected]));
        }
        for text in [format!("see {}", png(100)), format!("token {}", "0123456789abcdef".repeat(100))] {
            let mut result = json!(text);
            extracted(&mut result, |extracted, _| assert!(extracted.images.is_empty() && extracted.files.is_empty()));
            assert_eq!(result, json!(text));
        }
    }

    #[test]
    fn names_that_a_page_gives_its_data_are_bounded() {
        let (long, svg) = ("k".repeat(1_000_000), base64(b"<svg>", 300));
        let url = |declared: &str| format!("data:image/{declared};base64,{svg}");
        let mut result =
            json!({ long.as_str(): [png(100), pdf(300)], "a": url(&long), "b": format!("<{}>", url(&long)) });
        let texts = (result["a"].clone(), result["b"].clone());
        extracted(&mut result, |extracted, _| {
            let paths = [&extracted.images[0].path, &extracted.files[0].path];
            for path in paths {
                assert!(path.chars().count() <= DATA_PATH_CHARS_MAX + 1 && path.ends_with('…'), "{}", path.len());
            }
            assert_eq!((extracted.images.len(), extracted.files.len()), (1, 1), "a type of such length is none");
        });
        assert_eq!((&result["a"], &result["b"]), (&texts.0, &texts.1));
    }

    #[test]
    fn images_beyond_the_bounds_are_files_and_files_beyond_the_bounds_are_told_of() {
        let mut result = json!(vec![png(100); IMAGES_MAX + DATA_FILES_MAX + 2]);
        extracted(&mut result, |extracted, _| {
            assert_eq!(
                (extracted.images.len(), extracted.files.len(), extracted.not_kept),
                (IMAGES_MAX, DATA_FILES_MAX, 2)
            );
            assert!(extracted.warning().unwrap().starts_with("2 pieces of data are not kept"));
        });
        assert_eq!(result[IMAGES_MAX], "[file 1: image/png, 100 bytes]");
        assert_eq!(result[IMAGES_MAX + DATA_FILES_MAX], "[data: image/png, 100 bytes, not kept]");

        let mut result = json!([png(IMAGE_BYTES_MAX + 1), png(100)]);
        extracted(&mut result, |extracted, _| assert_eq!((extracted.images.len(), extracted.files.len()), (1, 1)));
        assert_eq!(result[1], "[image 1: image/png, 100 bytes]");
    }

    #[test]
    fn a_folder_that_cannot_be_written_to_is_told_without_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let mut extracted = Extracted::new(Files { folder: &file }, "log");
        let mut line = format!("pdf: {}", pdf(400));
        extracted.extract_from_text(&mut line, "/logs/0/text");
        assert_eq!(line, "pdf: [data: application/pdf, 400 bytes, not kept]");
        let warning = extracted.warning().unwrap();
        assert!(warning.contains("could not be written") && !warning.contains("tmp"), "{warning}");
    }
}
