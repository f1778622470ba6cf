//! The envelope of every answer, on every surface, for success and failure alike.

use crate::{error::ErrorReport, message::ConsoleLine, session::LeaseFacts};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// The answer to a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// Whether the command succeeded.
    pub ok: bool,
    /// The command, as `browser_execute` or `doctor`.
    pub command: String,
    /// The execution, session and page that the answer is about.
    pub context: Context,
    /// The result, if the command succeeded. For an execution: [`ExecutionData`], whose logs are present even if it
    /// failed after it had started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Json>,
    /// The error, if the command failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorReport>,
    /// Measurements and warnings.
    pub meta: Meta,
}

/// The execution, session and page that an answer is about. Fields that do not apply are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Context {
    /// The execution's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_id: Option<String>,
    /// The browser session's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The lease on that session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseFacts>,
    /// The id of the page's target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_id: Option<String>,
    /// The page's URL at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The page's title at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// Measurements and warnings of an answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Meta {
    /// Wall time from the request to the answer, in milliseconds.
    pub duration_ms: u64,
    /// Deviations from what the caller might expect.
    pub warnings: Vec<String>,
    /// Whether the result was truncated.
    pub truncated: bool,
    /// The places at which the result was truncated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cuts: Vec<Cut>,
    /// How many further cuts are not listed.
    #[serde(skip_serializing_if = "is_zero")]
    pub cuts_unlisted: u64,
    /// Console bytes that were dropped.
    #[serde(skip_serializing_if = "is_zero")]
    pub logs_dropped_bytes: u64,
    /// How many provider calls were made.
    pub calls: u64,
    /// Processor time of the sandbox, in milliseconds.
    pub cpu_ms: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for this form")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// One place at which a result was truncated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Cut {
    /// JSON pointer (RFC 6901) into the result.
    pub path: String,
    /// The kind of the value that was cut: `string`, `array`, `object`.
    pub kind: String,
    /// The original size: characters of a string, items of an array, keys of an object.
    pub original: u64,
    /// The remaining size, in the same unit.
    pub kept: u64,
}

/// An image in an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// JSON pointer to the image's place in the result; a long one is cut and ends with `…`.
    pub path: String,
    /// The media type.
    pub mime_type: String,
    /// The bytes in base64.
    pub data: String,
}

/// Non-text data of an answer, stored in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataFile {
    /// JSON pointer to the data's place in `data`: below `/result` or `/logs`, or `/files` if the script put the file
    /// there. A long one is cut and ends with `…`.
    pub path: String,
    /// The media type.
    pub mime_type: String,
    /// The size in bytes.
    pub bytes: u64,
    /// The path of the file, valid for as long as files are retained.
    pub file: String,
}

/// The `data` of an execution's answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExecutionData {
    /// What the script returned, in the lossless form of [`crate::Value::to_json`], cut to the budget. Absent if the
    /// script failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Json>,
    /// The script's console lines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub logs: Vec<ConsoleLine>,
    /// Images found in the result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// Other non-text data, found in the result and in console lines, and files that the script put here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<DataFile>,
    /// The path of the file with the whole result, if the result was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<String>,
}
