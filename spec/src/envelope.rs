//! The one shape of every answer, whichever surface gives it. Success and failure share it.

use crate::{error::ErrorReport, message::ConsoleLine, session::LeaseFacts};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// An answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// Whether it succeeded.
    pub ok: bool,
    /// What was asked for, as `browser_execute` or `doctor`.
    pub command: String,
    /// What it was about.
    pub context: Context,
    /// The outcome, if it succeeded. Of an execution: `{result, logs, images?, files?, artifact?}`. If it failed after it had
    /// begun to run, the logs are still there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Json>,
    /// Why it failed, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorReport>,
    /// What else there is to say of it.
    pub meta: Meta,
}

/// What an answer was about; what does not apply is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Context {
    /// The execution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_id: Option<String>,
    /// The browser session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The lease on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease: Option<LeaseFacts>,
    /// The page's target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_id: Option<String>,
    /// Where it stood at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Its title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// What else there is to say of an answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(default)]
pub struct Meta {
    /// Wall time from question to answer.
    pub duration_ms: u64,
    /// What went differently than might be expected.
    pub warnings: Vec<String>,
    /// Whether the result was cut.
    pub truncated: bool,
    /// Each cut: where and how large it had been.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cuts: Vec<Cut>,
    /// Cuts beyond those that are listed.
    #[serde(skip_serializing_if = "is_zero")]
    pub cuts_unlisted: u64,
    /// Console bytes that were dropped.
    #[serde(skip_serializing_if = "is_zero")]
    pub logs_dropped_bytes: u64,
    /// Provider calls made.
    pub calls: u64,
    /// Processor time of the sandbox.
    pub cpu_ms: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for this form")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// One place where a result was cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Cut {
    /// JSON pointer (RFC 6901) into the result.
    pub path: String,
    /// What stood there: `string`, `array`, `object`.
    pub kind: String,
    /// Its size before: characters of a string, items of an array, keys of an object.
    pub original: u64,
    /// Its size now, in the same unit.
    pub kept: u64,
}

/// An image of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// JSON pointer to where it stood in the result; a long one is cut and ends with `…`.
    pub path: String,
    /// Its media type.
    pub mime_type: String,
    /// Its bytes in base64.
    pub data: String,
}

/// Data of an answer that is no text, and was kept in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataFile {
    /// JSON pointer into `data` to where it stood: below `/result`, or `/logs`; `/files` if the script put it there. A long
    /// one is cut and ends with `…`.
    pub path: String,
    /// Its media type.
    pub mime_type: String,
    /// Its size.
    pub bytes: u64,
    /// The file, for as long as files are kept.
    pub file: String,
}

/// What `data` of an execution holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExecutionData {
    /// What the script returned, in the lossless form of [`crate::Value::to_json`], cut to the budget. Absent if it
    /// failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Json>,
    /// What it wrote to the console.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub logs: Vec<ConsoleLine>,
    /// Images found in the result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
    /// Data of other kinds, found in the result and in console lines, and what the script put here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<DataFile>,
    /// Where the whole result was kept, if it was cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<String>,
}
