//! Tests of the whole step: images, cutting, and the file with the whole result.

use super::super::{ForModel, Identity, Shaped, Transform};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use codemode_spec::{
    Value,
    limits::{DATA_FILES_MAX, IMAGES_MAX, MIB, RESULT_CHARS_DEFAULT},
    message::{ConsoleLine, Level},
};
use serde_json::{Value as Json, json};
use std::{fs, os::unix::fs::PermissionsExt};

fn png(bytes: usize) -> Vec<u8> {
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    png.resize(bytes, 7);
    png
}

#[test]
fn a_result_within_the_budget_leaves_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    let artifacts = folder.path().join("execution");
    let result = Value::Array(vec![Value::Null, "a".into()]);
    let shaped = ForModel.transform(result.clone(), RESULT_CHARS_DEFAULT, &artifacts);
    assert_eq!(shaped, Shaped { result: json!([null, "a"]), ..Shaped::default() });
    assert_eq!(Identity.transform(result, RESULT_CHARS_DEFAULT, &artifacts), shaped);
    assert!(!artifacts.exists());
}

#[test]
fn a_result_that_was_cut_is_kept_whole() {
    let folder = tempfile::tempdir().unwrap();
    let artifacts = folder.path().join("executions").join("one");
    let result = Value::Object(vec![("a".into(), "x".repeat(50_000).into()), ("b".into(), Value::from(png(100)))]);
    let shaped = ForModel.transform(result.clone(), 1_000, &artifacts);
    assert_eq!((shaped.images.len(), shaped.cuts.len(), &shaped.warnings[..]), (1, 1, &[][..]));
    assert_eq!(shaped.result["b"], "[image 1: image/png, 100 bytes]");
    let path = shaped.artifact.unwrap();
    let kept: Json = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert_eq!(kept, result.to_json());
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(path.as_ref()), mode(&artifacts)), (0o600, 0o700));
}

#[test]
fn a_result_too_large_for_a_file_is_not_kept_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let shaped = ForModel.transform("x".repeat(33 * MIB).into(), RESULT_CHARS_DEFAULT, folder.path());
    assert_eq!(shaped.artifact, None);
    assert_eq!(shaped.warnings, ["the whole result was not kept: it has more than 32 MiB"]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_folder_that_cannot_be_written_is_a_warning_without_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let shaped = ForModel.transform("x".repeat(50_000).into(), RESULT_CHARS_DEFAULT, &file);
    assert!(shaped.artifact.is_none() && shaped.warnings.len() == 1);
    assert!(!shaped.warnings[0].contains(&*folder.path().to_string_lossy()), "{}", shaped.warnings[0]);
}

#[test]
fn a_screenshot_becomes_an_image_wherever_it_stands() {
    let folder = tempfile::tempdir().unwrap();
    let data = Value::from(png(50_000)).to_json()["value"].as_str().unwrap().to_owned();
    for (result, path) in [
        (Value::from(data.clone()), ""),
        (Value::Object(vec![("data".into(), data.clone().into())]), "/data"),
        (Value::Array(vec![format!("data:image/png;base64,{data}").into()]), "/0"),
        (Value::from(png(50_000)), ""),
    ] {
        let shaped = ForModel.transform(result, RESULT_CHARS_DEFAULT, folder.path());
        assert_eq!((shaped.images.len(), shaped.cuts.len(), shaped.artifact), (1, 0, None));
        let image = &shaped.images[0];
        assert_eq!((image.path.as_str(), image.mime_type.as_str(), &image.data), (path, "image/png", &data));
        assert_eq!(shaped.result.pointer(path), Some(&json!("[image 1: image/png, 50,000 bytes]")));
    }
}

#[test]
fn data_that_is_neither_attached_nor_kept_is_in_the_whole_result() {
    let folder = tempfile::tempdir().unwrap();
    let all = IMAGES_MAX + DATA_FILES_MAX + 2;
    let result = Value::Array(vec![Value::from(png(100)); all]);
    let shaped = ForModel.transform(result.clone(), RESULT_CHARS_DEFAULT, folder.path());
    assert_eq!((shaped.images.len(), shaped.files.len()), (IMAGES_MAX, DATA_FILES_MAX));
    assert!(shaped.warnings[0].starts_with("2 pieces of data are not kept"), "{}", shaped.warnings[0]);
    let kept: Json = serde_json::from_slice(&fs::read(shaped.artifact.unwrap()).unwrap()).unwrap();
    assert_eq!(kept, result.to_json());
}

#[test]
fn data_of_console_lines_is_in_files() {
    let folder = tempfile::tempdir().unwrap();
    let line = |text: String| ConsoleLine { level: Level::Log, text };
    let lines = vec![line("before".into()), line(format!("shot: {}", BASE64_STANDARD.encode(png(300))))];
    let shaped = ForModel.console(lines.clone(), folder.path());
    assert_eq!(shaped.lines, [line("before".into()), line("shot: [log 1: image/png, 300 bytes]".into())]);
    assert_eq!(shaped.files[0].path, "/logs");
    assert_eq!(fs::read(&shaped.files[0].file).unwrap(), png(300));
    assert_eq!(Identity.console(lines.clone(), folder.path()).lines, lines);
}
