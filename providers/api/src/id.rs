//! The id of an execution.

use serde::{Deserialize, Serialize};
use std::{fmt, sync::Arc};

/// The id of an execution.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ExecutionId(Arc<str>);

impl ExecutionId {
    /// The id with this text, which the caller guarantees to be valid.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// Its text: ASCII letters, digits and `-`, fit for a file name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ExecutionId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// Validates a text from outside, since ids become parts of file names.
impl TryFrom<String> for ExecutionId {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let is_fit = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if is_fit { Ok(Self::new(&text)) } else { Err("an execution is named by ASCII letters, digits and `-`") }
    }
}

impl From<ExecutionId> for String {
    fn from(id: ExecutionId) -> Self {
        id.0.as_ref().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_from_elsewhere_is_fit_for_a_file() {
        let id = ExecutionId::new("x-12ab");
        let text = serde_json::to_string(&id).unwrap();
        assert_eq!(text, "\"x-12ab\"");
        assert_eq!(serde_json::from_str::<ExecutionId>(&text).unwrap(), id);
        for text in ["\"\"", "\"../x\"", "\"x/y\"", "\"ä\"", "7"] {
            assert!(serde_json::from_str::<ExecutionId>(text).is_err(), "{text}");
        }
    }
}
