//! What a browser may reach of the machine: the walls behind every table of what is allowed.
//!
//! Three walls, each of which holds when the others do not: Landlock closes the file system but for what a browser needs
//! ([`files`]); as root the browser gets a user of its own ([`user`]), which is also what lets Chromium use its own sandbox;
//! and its environment is made anew from an allow-list. All are set up on a thread that then starts the browser: the
//! kernel hands them down to every process that comes from it, and to no other thread of ours.

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

/// How the error begins of a browser that should be another user than root, and cannot.
pub(crate) const NO_USER_OF_ITS_OWN: &str = "it gets no user of its own";

/// How much confinement the operator asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConfineMode {
    /// Without it no browser is started.
    Require,
    /// As much of it as the system has; what is missing is told.
    #[default]
    Try,
    /// None of it.
    Off,
}

impl ConfineMode {
    /// Every mode.
    pub const ALL: [Self; 3] = [Self::Require, Self::Try, Self::Off];

    /// As it is written in settings.
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

/// What a browser is confined to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Confinement {
    /// How much of it is asked for.
    pub mode: ConfineMode,
    /// Files and folders that it may read besides its own, as a company's certificates.
    pub readable: Vec<PathBuf>,
}

/// What became of it.
#[derive(Debug)]
pub(crate) struct Spawned {
    pub(crate) child: Child,
    /// What is missing of the walls that were asked for.
    pub(crate) shortfalls: Vec<String>,
    /// Ends the thread that started the browser: the kernel kills a browser that is bound to it.
    pub(crate) _thread: mpsc::Sender<()>,
}

/// Starts a browser behind its walls.
///
/// # Errors
/// When a wall that is required cannot be had, or the command cannot be started.
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
        // The browser may be bound to this thread: it stays for as long as its owner wants it.
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
    // Before Landlock, under which nothing can be mounted any more.
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

/// Whether this system can confine a browser to its own files; otherwise why not.
///
/// # Errors
/// What is missing.
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
