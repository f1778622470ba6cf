//! Processes as `/proc` shows them: which ones belong to a browser, and making sure that they are gone.
//!
//! A process is only ever killed if it is proven to be a browser's: a member of the group that we made for it, or a
//! process that names its profile, which no other browser shares. Signals go through a pidfd that was opened before the
//! proof was looked at, so that a number that was given to another process in between is never hit.

use memchr::memmem;
use rustix::{
    io::Errno,
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};
use std::{
    fs, io,
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
    path::Path,
    thread,
    time::{Duration, Instant},
};

/// How often it is looked again whether killed processes are gone.
const LOOK_INTERVAL_MIN: Duration = Duration::from_millis(1);
const LOOK_INTERVAL_MAX: Duration = Duration::from_millis(20);

/// The folder in a profile that crashes are put into. The crash handler leaves the process group and is known by it.
pub(crate) const CRASHES: &str = "Crashes";

/// A process, for as long as the machine runs: its number alone may be given to another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessId {
    /// Its number.
    pub pid: u32,
    /// When it started, in clock ticks after the boot.
    pub start_ticks: u64,
}

impl ProcessId {
    /// This process.
    #[must_use]
    pub fn own() -> Self {
        let pid = std::process::id();
        let start_ticks = Stat::read(pid.cast_signed()).map_or(0, |stat| stat.start_ticks);
        Self { pid, start_ticks }
    }

    /// Whether it lives. One that is dead and not yet reaped does not.
    #[must_use]
    pub fn is_alive(self) -> bool {
        Stat::read(self.pid.cast_signed()).is_some_and(|stat| !stat.dead && stat.start_ticks == self.start_ticks)
    }

    /// Asks it to end, if it is still the process that is meant.
    pub fn terminate(self) {
        self.signal(Signal::TERM);
    }

    /// Kills it, if it is still the process that is meant.
    pub fn kill(self) {
        self.signal(Signal::KILL);
    }

    fn signal(self, signal: Signal) {
        // Held fast before it is looked at.
        let Ok(process) = held(self.pid.cast_signed()) else { return };
        if self.is_alive() {
            let _ = pidfd_send_signal(&process, signal);
        }
    }
}

/// Whether a child of ours that was not yet waited for still runs.
pub(crate) fn is_running(pid: i32) -> bool {
    Stat::read(pid).is_some_and(|stat| !stat.dead)
}

/// A process group that is known to be a browser's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// The number of its leader, and so of the group.
    pub leader: i32,
    /// When the leader started, in clock ticks after the boot: with the number, it names one process for ever.
    pub start_ticks: u64,
}

impl Group {
    /// The group that a process leads.
    pub(crate) fn led_by(pid: i32) -> Option<Self> {
        Stat::read(pid).map(|stat| Self { leader: pid, start_ticks: stat.start_ticks })
    }

    /// Whether the leader still is the process that it was; a dead one that nobody has reaped yet counts.
    fn is_proven(self) -> bool {
        Stat::read(self.leader).is_some_and(|stat| stat.start_ticks == self.start_ticks)
    }
}

/// What is used of `/proc/<pid>/stat`.
#[derive(Clone, Copy, Debug)]
struct Stat {
    dead: bool,
    group: i32,
    start_ticks: u64,
}

impl Stat {
    fn read(pid: i32) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The second field is the program's name and may hold anything, spaces and parentheses included.
        let mut fields = text[text.rfind(')')? + 1..].split_ascii_whitespace();
        let state = fields.next()?;
        let group = fields.nth(1)?.parse().ok()?;
        let start_ticks = fields.nth(16)?.parse().ok()?;
        Some(Self { dead: matches!(state, "Z" | "X" | "x"), group, start_ticks })
    }
}

/// Every living process of the browser with this profile. Those that are dead but not yet reaped by their parent hold
/// nothing any more and do not count.
pub(crate) fn living(profile: &Path, group: Option<Group>) -> Vec<i32> {
    // Looked up before the scan: once the leader is reaped, its number may be given to another group.
    let group = group.filter(|group| group.is_proven()).map(|group| group.leader);
    let own = std::process::id().cast_signed();
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| *pid != own && belongs(*pid, profile, group))
        .collect()
}

fn belongs(pid: i32, profile: &Path, group: Option<i32>) -> bool {
    let Some(stat) = Stat::read(pid) else { return false };
    !stat.dead && (group == Some(stat.group) || names_profile(pid, profile))
}

/// Whether a process was told to use the profile, or, as the crash handler, to put crashes into it.
fn names_profile(pid: i32, profile: &Path) -> bool {
    let Ok(line) = fs::read(format!("/proc/{pid}/cmdline")) else { return false };
    let profile = profile.as_os_str().as_bytes();
    has_argument(&line, &[b"--user-data-dir=", profile].concat())
        || has_argument(&line, &[b"--database=", profile, b"/", CRASHES.as_bytes()].concat())
}

/// Chromium's children rewrite their command line with spaces in the place of zeros: an argument ends at either.
fn has_argument(line: &[u8], argument: &[u8]) -> bool {
    let ends = |byte: Option<&u8>| matches!(byte, None | Some(0 | b' '));
    memmem::find_iter(line, argument).any(|at| at > 0 && ends(line.get(at - 1)) && ends(line.get(at + argument.len())))
}

/// Kills every process of the browser with this profile and waits until none of them lives, for `patience` at most.
/// Gives the number of processes that were killed, or those that did not go.
pub(crate) fn end(profile: &Path, group: Option<Group>, patience: Duration) -> Result<usize, Vec<i32>> {
    let deadline = Instant::now() + patience;
    let (mut killed, mut interval) = (Vec::new(), LOOK_INTERVAL_MIN);
    loop {
        let living = living(profile, group);
        if living.is_empty() {
            return Ok(killed.len());
        }
        if Instant::now() > deadline {
            return Err(living);
        }
        for pid in living {
            kill(pid, || belongs(pid, profile, group.filter(|group| group.is_proven()).map(|group| group.leader)));
            if !killed.contains(&pid) {
                killed.push(pid);
            }
        }
        thread::sleep(interval);
        interval = (interval * 2).min(LOOK_INTERVAL_MAX);
    }
}

/// Kills a process if, once it is held fast, it is still the one that is meant.
fn kill(pid: i32, is_meant: impl FnOnce() -> bool) {
    let Ok(process) = held(pid) else { return };
    if is_meant() {
        // It may have died in between, and that was the aim.
        let _ = pidfd_send_signal(&process, Signal::KILL);
    }
}

fn held(pid: i32) -> io::Result<OwnedFd> {
    let pid = Pid::from_raw(pid).ok_or(Errno::SRCH)?;
    Ok(pidfd_open(pid, PidfdFlags::empty())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        os::unix::process::CommandExt as _,
        process::{Command, Stdio},
    };

    /// A process that would live long, with these arguments to look at, in a group of its own.
    fn sleeper(arguments: &[&str]) -> std::process::Child {
        let mut command = Command::new("sh");
        command.args(["-c", "echo; read line; sleep 600", "sleeper"]).args(arguments).process_group(0);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        // Its command line is that of the shell once it has written something.
        io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        child
    }

    #[test]
    fn a_process_is_known_by_its_profile_or_by_its_group_and_by_nothing_less() {
        let profile = Path::new("/nowhere/codemode-process-test");
        let mut named = sleeper(&["--user-data-dir=/nowhere/codemode-process-test"]);
        let mut rewritten = sleeper(&["--type=renderer --user-data-dir=/nowhere/codemode-process-test --lang=en"]);
        let mut handler = sleeper(&["--database=/nowhere/codemode-process-test/Crashes"]);
        let mut longer = sleeper(&["--user-data-dir=/nowhere/codemode-process-test-2"]);
        let mut grouped = sleeper(&[]);
        let pids = [named.id(), rewritten.id(), handler.id()].map(u32::cast_signed);
        let found = living(profile, None);
        assert!(found.len() == pids.len() && pids.iter().all(|pid| found.contains(pid)), "{found:?} {pids:?}");

        let group = Group::led_by(grouped.id().cast_signed()).unwrap();
        assert!(living(profile, Some(group)).contains(&group.leader));
        let reused = Group { start_ticks: group.start_ticks + 1, ..group };
        assert!(!living(profile, Some(reused)).contains(&group.leader), "the number alone proves nothing");

        assert_eq!(end(profile, Some(group), Duration::from_secs(10)), Ok(4));
        assert!(longer.try_wait().unwrap().is_none(), "another profile's process was killed");
        for child in [&mut named, &mut rewritten, &mut handler, &mut grouped, &mut longer] {
            let _ = child.kill();
            child.wait().unwrap();
        }
    }

    #[test]
    fn a_dead_process_that_nobody_has_reaped_counts_as_gone() {
        let profile = Path::new("/nowhere/codemode-process-test-zombie");
        let mut child = sleeper(&["--user-data-dir=/nowhere/codemode-process-test-zombie"]);
        assert_eq!(end(profile, None, Duration::from_secs(10)), Ok(1));
        assert!(child.try_wait().unwrap().is_some());
    }
}
