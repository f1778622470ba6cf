//! Images in a result: screenshots come as base64, which is of no use to a model as text.

use base64::{
    Engine as _, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
    prelude::BASE64_STANDARD,
};
use codemode_spec::{
    envelope::Image,
    limits::{IMAGE_BYTES_MAX, IMAGES_MAX, MIB},
    value::JSON_TAG,
};
use serde_json::Value as Json;

/// Deeper than this, nothing is taken for an image.
const DEPTH_MAX: usize = 64;
/// Fewer bytes are no image, whatever they begin with.
const BYTES_MIN: usize = 32;
/// Base64 enough to see what its bytes begin with.
const HEAD_CHARS: usize = 32;

const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The images of a result.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub images: Vec<Image>,
    /// Images beyond the bounds.
    left_out: usize,
    bytes: usize,
}

impl Found {
    /// What the reader should know of those that were left out.
    pub fn warning(&self) -> Option<String> {
        let all = self.images.len() + self.left_out;
        (self.left_out > 0).then(|| {
            format!(
                "{} of {all} images are not attached: an answer carries at most {IMAGES_MAX} and {} MiB of them",
                self.left_out,
                IMAGE_BYTES_MAX / MIB
            )
        })
    }

    /// The words that stand for the image from now on.
    fn add(&mut self, path: &str, mime_type: &'static str, bytes: usize, data: String) -> String {
        let size = super::text::grouped(bytes as u64);
        if self.images.len() >= IMAGES_MAX || self.bytes + bytes > IMAGE_BYTES_MAX {
            self.left_out += 1;
            return format!("[image: {mime_type}, {size} bytes, not attached]");
        }
        self.bytes += bytes;
        self.images.push(Image { path: path.to_owned(), mime_type: mime_type.to_owned(), data });
        format!("[image {}: {mime_type}, {size} bytes]", self.images.len())
    }
}

/// Takes the images out of a result and leaves words in their place.
pub(super) fn take(result: &mut Json) -> Found {
    let mut found = Found::default();
    walk(result, &mut String::new(), 0, &mut found);
    found
}

fn walk(value: &mut Json, path: &mut String, depth: usize, found: &mut Found) {
    match value {
        Json::String(text) => {
            if let Some((mime_type, bytes, data)) = read(text) {
                *value = Json::String(found.add(path, mime_type, bytes, data));
            }
        }
        Json::Array(items) if depth < DEPTH_MAX => {
            for (index, item) in items.iter_mut().enumerate() {
                let length = path.len();
                push_token(path, &index.to_string());
                walk(item, path, depth + 1, found);
                path.truncate(length);
            }
        }
        Json::Object(entries) if depth < DEPTH_MAX => {
            if let Some((mime_type, bytes, data)) = bytes_of(entries).and_then(read) {
                *value = Json::String(found.add(path, mime_type, bytes, data));
                return;
            }
            for (key, item) in entries {
                let length = path.len();
                push_token(path, key);
                walk(item, path, depth + 1, found);
                path.truncate(length);
            }
        }
        _ => {}
    }
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

/// The base64 of the bytes that the object stands for, if it does.
fn bytes_of(entries: &serde_json::Map<String, Json>) -> Option<&str> {
    let tagged = entries.get(JSON_TAG).is_some_and(|kind| kind == "bytes");
    entries.get("value").filter(|_| tagged).and_then(Json::as_str)
}

/// The media type, the number of bytes and the canonical base64 of an image.
fn read(text: &str) -> Option<(&'static str, usize, String)> {
    let base64 = match text.strip_prefix("data:image/") {
        Some(url) => url.split_once(";base64,")?.1,
        None => text,
    };
    let base64 = base64.trim();
    // Most strings are not: decided by their beginning.
    let head = LENIENT.decode(base64.get(..HEAD_CHARS)?).ok()?;
    let mime_type = mime_type_of(&head)?;
    let bytes = LENIENT.decode(base64).ok().filter(|bytes| bytes.len() >= BYTES_MIN)?;
    let padded = base64.len() % 4 == 0;
    Some((mime_type, bytes.len(), if padded { base64.to_owned() } else { BASE64_STANDARD.encode(bytes) }))
}

fn mime_type_of(head: &[u8]) -> Option<&'static str> {
    match head {
        [0x89, b'P', b'N', b'G', 0x0D, 0x0A, 0x1A, 0x0A, ..] => Some("image/png"),
        [0xFF, 0xD8, 0xFF, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn png(bytes: usize) -> String {
        let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
        png.resize(bytes, 7);
        BASE64_STANDARD.encode(png)
    }

    #[test]
    fn images_are_known_by_their_first_bytes() {
        let encode = |head: &[u8]| BASE64_STANDARD.encode([head, &[1; 40]].concat());
        let rows = [
            (png(100), Some(("image/png", 100))),
            (png(100).trim_end_matches('=').to_owned(), Some(("image/png", 100))),
            (format!("data:image/jpeg;base64,{}", png(100)), Some(("image/png", 100))),
            (encode(b"\xff\xd8\xff\xe0"), Some(("image/jpeg", 44))),
            (encode(b"GIF89a"), Some(("image/gif", 46))),
            (encode(b"RIFF\x01\x02\x03\x04WEBP"), Some(("image/webp", 52))),
            (encode(b"RIFF\x01\x02\x03\x04WAVE"), None),
            (encode(b"%PDF"), None),
            (png(20), None),
            (format!("{}!", png(100)), None),
            (format!("see {}", png(100)), None),
            ("data:image/svg+xml;base64,PHN2Zz48L3N2Zz48L3N2Zz48L3N2Zz48L3N2Zz4=".into(), None),
            ("data:image/png,abc".into(), None),
            ("é".repeat(100), None),
            (String::new(), None),
        ];
        for (text, expected) in rows {
            let read = read(&text);
            assert_eq!(read.as_ref().map(|(mime_type, bytes, _)| (*mime_type, *bytes)), expected, "{text}");
            assert!(read.is_none_or(|(_, bytes, data)| BASE64_STANDARD.decode(data).unwrap().len() == bytes));
        }
    }

    #[test]
    fn images_leave_words_in_their_place() {
        let mut result =
            json!({"a/b": [{"data": png(100)}], "c": {"$type": "bytes", "value": png(12_345)}, "d": "text"});
        let found = take(&mut result);
        assert_eq!(
            result,
            json!({"a/b": [{"data": "[image 1: image/png, 100 bytes]"}], "c": "[image 2: image/png, 12,345 bytes]", "d": "text"})
        );
        let paths: Vec<_> = found.images.iter().map(|image| image.path.as_str()).collect();
        assert_eq!(paths, ["/a~1b/0/data", "/c"]);
        assert_eq!(found.images[0].data, png(100));
    }

    #[test]
    fn images_beyond_the_bounds_are_not_attached() {
        let mut result = json!(vec![png(100); IMAGES_MAX + 2]);
        let found = take(&mut result);
        assert_eq!((found.images.len(), found.left_out), (IMAGES_MAX, 2));
        assert_eq!(result[IMAGES_MAX], "[image: image/png, 100 bytes, not attached]");
        assert!(found.warning().unwrap().starts_with("2 of 10 images"));

        let mut result = json!([png(IMAGE_BYTES_MAX + 1), png(100)]);
        let found = take(&mut result);
        assert_eq!((found.images.len(), found.left_out), (1, 1));
        assert_eq!(result[1], "[image 1: image/png, 100 bytes]");
    }
}
