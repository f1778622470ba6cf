//! Arguments of file uploads and downloads.

use serde::{Deserialize, de::IgnoredAny};

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Files {
    /// The files.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<File>"))]
    #[expect(dead_code, reason = "read beside the JSON")]
    files: IgnoredAny,
}

/// A file: bytes of the caller's, never a file of this machine.
#[cfg(feature = "schema")]
#[derive(schemars::JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "only its schema is used")]
struct File {
    /// Its name.
    name: String,
    /// Its type; the page guesses it from the name if it is not given.
    mime_type: Option<String>,
    /// What is in it, as bytes.
    #[schemars(schema_with = "super::bytes")]
    buffer: (),
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Chooser {
    /// Names the chooser, as the news of it do.
    pub(crate) chooser: String,
    #[serde(flatten)]
    #[expect(dead_code, reason = "read beside the JSON")]
    files: Files,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(crate) struct Download {
    /// Names the download, as the news of it do.
    pub(crate) download: String,
    /// What is asked or done.
    pub(crate) op: DownloadOp,
    /// What a file that is kept is called.
    #[serde(default)]
    pub(crate) name: String,
    /// How long the verb may take, in milliseconds; as long as the execution if it is not given, or 0.
    pub(crate) timeout_ms: Option<f64>,
}

#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum DownloadOp {
    /// Its content, when it is complete: up to 8 MiB.
    Bytes,
    /// Puts its content, up to 32 MiB, among the files of the answer when it is complete.
    Keep,
    /// How much of it is there.
    Progress,
    /// Why it failed, when it has ended.
    Failure,
    /// Ends it.
    Cancel,
    /// Deletes what is there of it.
    Delete,
}
