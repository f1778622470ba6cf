//! Confines a browser on this machine. These restrictions hold even where codemode's own checks are bypassed.
//!
//! There are three independent layers: Landlock limits the file system to what a browser needs ([`files`]); as root,
//! the browser gets a dedicated user ([`user`]), which also lets Chromium use its own sandbox; and its environment is
//! built from an allow-list. All are set up on a thread that then starts the browser: every process started from that
//! thread inherits them, and no other thread of this process is affected.

mod environment;
mod files;
mod needs;
mod user;

use serde::{Deserialize, Serialize};
use std::{
    fmt, io,
    path::PathBuf,
    process::{Child, Command},
    str::FromStr,
    sync::mpsc,
    thread,
};

pub(crate) use environment::environment;
pub(crate) use needs::Needs;
pub(crate) use user::{Identity, may_be_a_browsers};

/// The start of the error message for a browser that should run as a dedicated user, but cannot.
pub(crate) const NO_USER_OF_ITS_OWN: &str = "it gets no user of its own";

/// How much confinement the operator requires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConfineMode {
    /// Refuse to start a browser that cannot be confined.
    Require,
    /// Apply as much confinement as the system supports, and report what is missing.
    #[default]
    Try,
    /// Do not use Landlock. The environment is still restricted, and root's browser still gets a dedicated user if
    /// possible.
    Off,
}

impl ConfineMode {
    /// Every mode.
    pub const ALL: [Self; 3] = [Self::Require, Self::Try, Self::Off];

    /// The mode's name in settings.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Require => "require",
            Self::Try => "try",
            Self::Off => "off",
        }
    }
}

impl fmt::Display for ConfineMode {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

impl FromStr for ConfineMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|mode| mode.as_str() == text);
        found.ok_or_else(|| format!("{text:?} is no mode of confinement: there are require, try and off"))
    }
}

/// The confinement of a browser.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Confinement {
    /// How much confinement is required.
    pub mode: ConfineMode,
    /// Additional files and folders that the browser may read, for example a company's certificates.
    pub readable: Vec<PathBuf>,
}

/// A started browser and the result of its confinement.
#[derive(Debug)]
pub(crate) struct Spawned {
    pub(crate) child: Child,
    /// The requested confinement that could not be applied.
    pub(crate) shortfalls: Vec<String>,
    /// Dropping this ends the thread that started the browser, and with it a browser that is bound to the thread.
    pub(crate) _thread: mpsc::Sender<()>,
}

/// Starts a browser, confined.
///
/// # Errors
/// When required confinement cannot be applied, or the command cannot be started.
pub(crate) fn spawn(
    mut command: Command,
    identity: Identity,
    confinement: Confinement,
    needs: Needs,
) -> io::Result<Spawned> {
    let (hold, held) = mpsc::channel::<()>();
    let (started, result) = mpsc::sync_channel(1);
    thread::Builder::new().name("browser-parent".to_owned()).spawn(move || {
        let _ = started.send(on_this_thread(&mut command, &identity, &confinement, &needs));
        // The browser may be bound to this thread, so the thread lives as long as the browser's owner.
        let _ = held.recv();
    })?;
    let (child, shortfalls) = result.recv().map_err(|_| io::Error::other("the thread that starts it panicked"))??;
    Ok(Spawned { child, shortfalls, _thread: hold })
}

fn on_this_thread(
    command: &mut Command,
    identity: &Identity,
    Confinement { mode, readable }: &Confinement,
    needs: &Needs,
) -> io::Result<(Child, Vec<String>)> {
    let mut shortfalls = Vec::new();
    // Before Landlock, which forbids mounting.
    let assumed = identity.assume(command, &needs.folders);
    assumed.map_err(|error| io::Error::new(error.kind(), format!("{NO_USER_OF_ITS_OWN}: {error}")))?;
    if *mode != ConfineMode::Off {
        match (files::restrict(needs, readable), mode) {
            (Ok(()), _) => {}
            (Err(error), ConfineMode::Try) => {
                shortfalls.push(format!("The browser is not confined to its own files: {error}."));
            }
            (Err(error), _) => {
                return Err(io::Error::other(format!("it cannot be confined to its own files: {error}")));
            }
        }
    }
    Ok((command.spawn()?, shortfalls))
}

/// Checks whether this system can confine a browser to its own files.
///
/// # Errors
/// The missing feature.
pub fn can_confine() -> Result<(), String> {
    files::probe()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_are_read_as_they_are_written() {
        for mode in ConfineMode::ALL {
            assert_eq!(mode.to_string().parse(), Ok(mode));
        }
        assert!("on".parse::<ConfineMode>().is_err());
    }
}
