//! The settings of a host, each declared once: name, flag, environment variable, default, unit.

use codemode_spec::limits::{EXECUTIONS_CONCURRENT_MAX, EXECUTIONS_QUEUED_MAX};
use std::{env, fmt, path::PathBuf};

/// A value that must not be shown: its `Debug` prints a name.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("(secret)")
    }
}

/// An HTTP header of an endpoint, written `Name: value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Secret,
}

impl std::str::FromStr for Header {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, value) = text.split_once(':').ok_or("a header is written as `Name: value`")?;
        let (name, value) = (name.trim(), value.trim());
        let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        if name.is_empty() || !name.bytes().all(token) {
            return Err("the header's name is not an HTTP token");
        }
        Ok(Self { name: name.to_owned(), value: Secret(value.to_owned()) })
    }
}

/// Everything that can be set.
#[derive(Clone, Debug, clap::Args)]
pub struct Config {
    /// The folder of everything that codemode keeps [default: $XDG_STATE_HOME/codemode, or ~/.local/state/codemode]
    #[arg(long, env = "CODEMODE_STATE_DIR", global = true, value_name = "FOLDER")]
    pub state_dir: Option<PathBuf>,

    /// The folder of prepared sandbox images [default: images in the state folder]
    #[arg(long, env = "CODEMODE_IMAGE_DIR", global = true, value_name = "FOLDER", hide = true)]
    pub image_dir: Option<PathBuf>,

    /// The Chromium to use [default: found on PATH and in the usual places]
    #[arg(long, env = "CODEMODE_BROWSER", global = true, value_name = "FILE")]
    pub browser: Option<PathBuf>,

    /// Use the browser at this endpoint (ws:// or http://) instead of launching one; it is never closed
    #[arg(long, env = "CODEMODE_CDP_URL", global = true, value_name = "URL", hide_env_values = true)]
    pub cdp_url: Option<String>,

    /// A header for the endpoint, as `Name: value`; may be repeated
    #[arg(long, env = "CODEMODE_CDP_HEADER", global = true, value_name = "HEADER", hide_env_values = true)]
    pub cdp_header: Vec<Header>,

    /// Show the browser's window
    #[arg(long, env = "CODEMODE_HEADED", global = true)]
    pub headed: bool,

    /// Executions that run at the same time
    #[arg(long, env = "CODEMODE_CONCURRENT", global = true, default_value_t = EXECUTIONS_CONCURRENT_MAX, hide = true)]
    pub concurrent: usize,

    /// Executions that wait for a place
    #[arg(long, env = "CODEMODE_QUEUED", global = true, default_value_t = EXECUTIONS_QUEUED_MAX, hide = true)]
    pub queued: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            state_dir: None,
            image_dir: None,
            browser: None,
            cdp_url: None,
            cdp_header: Vec::new(),
            headed: false,
            concurrent: EXECUTIONS_CONCURRENT_MAX,
            queued: EXECUTIONS_QUEUED_MAX,
        }
    }
}

impl Config {
    /// The folder of everything that is kept, by the XDG base directory specification.
    #[must_use]
    pub fn state_dir(&self) -> PathBuf {
        let absolute = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        self.state_dir
            .clone()
            .or_else(|| Some(absolute("XDG_STATE_HOME")?.join("codemode")))
            .or_else(|| Some(absolute("HOME")?.join(".local/state/codemode")))
            .unwrap_or_else(|| env::temp_dir().join("codemode"))
    }

    /// The folder of prepared images.
    #[must_use]
    pub fn image_dir(&self) -> PathBuf {
        self.image_dir.clone().unwrap_or_else(|| self.state_dir().join("images"))
    }
}
