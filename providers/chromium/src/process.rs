//! Processes as `/proc` shows them: identifies a browser's processes, and ends them.
//!
//! A process is only ever killed if it is proven to be a browser's. Either it is a member of the group that was created
//! for the browser, or it runs the browser's own program, or a helper that came with it, and names the profile, which
//! no other browser shares. Any other process that names the profile is a tool that inspects it. Signals go through a
//! pidfd that was opened before the proof was checked, so that a process id that was reused in between is never hit.

use memchr::memmem;
use rustix::{
    io::Errno,
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};
use std::{
    ffi::OsStr,
    fs, io,
    os::{
        fd::OwnedFd,
        unix::ffi::{OsStrExt as _, OsStringExt as _},
    },
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// How often to check whether killed processes have exited.
const LOOK_INTERVAL_MIN: Duration = Duration::from_millis(1);
const LOOK_INTERVAL_MAX: Duration = Duration::from_millis(20);

/// The profile's folder for crash reports. The crash handler leaves the process group and is recognised by this folder.
pub(crate) const CRASHES: &str = "Crashes";

/// The identity of a process, unique until the next boot; a process id alone may be reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessId {
    /// The process id.
    pub pid: u32,
    /// The start time of the process, in clock ticks since the boot.
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

    /// Whether the process is alive. A zombie, dead and not yet reaped, is not.
    #[must_use]
    pub fn is_alive(self) -> bool {
        Stat::read(self.pid.cast_signed()).is_some_and(|stat| !stat.dead && stat.start_ticks == self.start_ticks)
    }

    /// Sends SIGTERM, if the process id has not been reused.
    pub fn terminate(self) {
        self.signal(Signal::TERM);
    }

    /// Sends SIGKILL, if the process id has not been reused.
    pub fn kill(self) {
        self.signal(Signal::KILL);
    }

    fn signal(self, signal: Signal) {
        // Open the pidfd before the check, so that the signal cannot hit a reused process id.
        let Ok(process) = held(self.pid.cast_signed()) else { return };
        if self.is_alive() {
            let _ = pidfd_send_signal(&process, signal);
        }
    }
}

/// Whether a child process of this process that was not yet reaped still runs.
pub(crate) fn is_running(pid: i32) -> bool {
    Stat::read(pid).is_some_and(|stat| !stat.dead)
}

/// The memory of a process group in KiB; shared memory counts proportionally. `None` if the group has no process.
#[must_use]
pub fn memory_kib(leader: u32) -> Option<u64> {
    let of_process = |pid: i32| {
        let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
        let pss = rollup.lines().find_map(|line| line.strip_prefix("Pss:")?.split_whitespace().next()?.parse().ok());
        pss.unwrap_or(0_u64)
    };
    let group = Group::led_by(leader.try_into().ok()?)?;
    group.members().map(of_process).reduce(|total, kib| total + kib)
}

/// A browser's process group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// The process id of its leader, which is also the group's id.
    pub leader: i32,
    /// The start time of the leader, in clock ticks since the boot: together with the process id, it identifies one
    /// process until the next boot.
    pub start_ticks: u64,
}

impl Group {
    /// The group that a process leads.
    pub(crate) fn led_by(pid: i32) -> Option<Self> {
        Stat::read(pid).map(|stat| Self { leader: pid, start_ticks: stat.start_ticks })
    }

    /// Whether a process is a member of the group.
    pub(crate) fn has(self, pid: i32) -> bool {
        self.is_proven() && Stat::read(pid).is_some_and(|stat| !stat.dead && stat.group == self.leader)
    }

    /// The processes of the group.
    pub(crate) fn members(self) -> impl Iterator<Item = i32> {
        let entries = fs::read_dir("/proc").ok().filter(|_| self.is_proven()).into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(move |pid| Stat::read(*pid).is_some_and(|stat| !stat.dead && stat.group == self.leader))
    }

    /// Whether the leader is still the same process; a dead leader that was not reaped yet counts.
    fn is_proven(self) -> bool {
        Stat::read(self.leader).is_some_and(|stat| stat.start_ticks == self.start_ticks)
    }
}

/// The fields of `/proc/<pid>/stat` that are used here.
#[derive(Clone, Copy, Debug)]
struct Stat {
    dead: bool,
    group: i32,
    start_ticks: u64,
}

impl Stat {
    fn read(pid: i32) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The second field is the program's name and may contain anything, spaces and parentheses included.
        let mut fields = text[text.rfind(')')? + 1..].split_ascii_whitespace();
        let state = fields.next()?;
        let group = fields.nth(1)?.parse().ok()?;
        let threads: u32 = fields.nth(14)?.parse().ok()?;
        let start_ticks = fields.nth(1)?.parse().ok()?;
        // A process becomes a zombie as soon as its first thread has ended; while other threads live, it still writes.
        let dead = matches!(state, "X" | "x") || state == "Z" && threads <= 1;
        Some(Self { dead, group, start_ticks })
    }
}

/// The evidence by which a process is recognised as a browser's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Proof<'a> {
    /// The browser's profile, which no other browser is started with.
    pub profile: &'a Path,
    /// The group in which the browser was started.
    pub group: Option<Group>,
    /// The program that the browser runs, if it was recorded.
    pub executable: Option<&'a Path>,
}

impl Proof<'_> {
    /// Every living process of the browser, the leader of the group last, because it proves the others. Zombies hold no
    /// resources any more and do not count.
    pub(crate) fn living(self) -> Vec<i32> {
        // Looked up before the scan: once the leader is reaped, its process id may be reused by another group.
        let group = self.group();
        let own = std::process::id().cast_signed();
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        let mut living: Vec<_> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter(|pid| *pid != own && self.holds_for(*pid, group))
            .collect();
        living.sort_by_key(|pid| group == Some(*pid));
        living
    }

    /// Kills every process of the browser and waits until none is alive, for at most `patience`. Returns the number of
    /// killed processes, or the processes that did not end.
    pub(crate) fn end(self, patience: Duration) -> Result<usize, Vec<i32>> {
        let deadline = Instant::now() + patience;
        let (mut killed, mut interval) = (Vec::new(), LOOK_INTERVAL_MIN);
        loop {
            let living = self.living();
            if living.is_empty() {
                return Ok(killed.len());
            }
            if Instant::now() > deadline {
                return Err(living);
            }
            for pid in living {
                kill(pid, || self.holds_for(pid, self.group()));
                if !killed.contains(&pid) {
                    killed.push(pid);
                }
            }
            thread::sleep(interval);
            interval = (interval * 2).min(LOOK_INTERVAL_MAX);
        }
    }

    /// Whether a group that is known only from a ledger is the browser's: its leader was started with the profile, and
    /// one of its processes runs the browser's program with the profile. A ledger could name any group, even that of
    /// process 1 or our own.
    pub(crate) fn confirms(self, group: Group) -> bool {
        let own_group = rustix::process::getpgrp().as_raw_nonzero().get();
        let is_possible = group.leader > 1 && group.leader != own_group;
        let is_browser = |pid: i32| names_profile(pid, self.profile) && self.is_program(pid);
        is_possible
            && group.is_proven()
            && names_profile(group.leader, self.profile)
            && members(group.leader).is_some_and(|mut members| members.any(is_browser))
    }

    /// The group's id, as long as the group is the browser's.
    fn group(self) -> Option<i32> {
        self.group.filter(|group| group.is_proven()).map(|group| group.leader)
    }

    fn holds_for(self, pid: i32, group: Option<i32>) -> bool {
        let Some(stat) = Stat::read(pid) else { return false };
        !stat.dead && (group == Some(stat.group) || (names_profile(pid, self.profile) && self.is_program(pid)))
    }

    /// Whether a process runs the browser's program or a program that came with it.
    fn is_program(self, pid: i32) -> bool {
        let Some(program) = program(pid) else { return false };
        let is_named =
            |word: &[u8]| program.file_name().is_some_and(|name| memmem::find(name.as_bytes(), word).is_some());
        match self.executable {
            Some(executable) => {
                program == executable || (program.parent() == executable.parent() && is_named(b"crashpad"))
            }
            // The browser died before its program was recorded, or an older version wrote the ledger.
            None => is_named(b"chrom"),
        }
    }
}

/// The program of the browser whose group a process leads. The leader's own program may be a wrapper script; a process
/// with a `--type` argument was started by the browser from its own program.
pub(crate) fn program_of(leader: i32) -> Option<PathBuf> {
    let is_child = |pid: &i32| {
        fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| memmem::find(&line, b"--type=").is_some())
    };
    members(leader)?.filter(is_child).find_map(program).or_else(|| program(leader))
}

/// The process ids of a group's members.
fn members(leader: i32) -> Option<impl Iterator<Item = i32>> {
    let all = fs::read_dir("/proc").ok()?.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    Some(all.filter(move |pid| Stat::read(*pid).is_some_and(|stat| stat.group == leader)))
}

/// The program that a process runs, even after its file was replaced by a newer one.
fn program(pid: i32) -> Option<PathBuf> {
    let path = fs::read_link(format!("/proc/{pid}/exe")).ok()?.into_os_string().into_vec();
    let path = path.strip_suffix(b" (deleted)").unwrap_or(&path);
    Some(OsStr::from_bytes(path).into())
}

/// Whether a process was started with the profile, or, as the crash handler, with the profile's folder for crash
/// reports.
fn names_profile(pid: i32, profile: &Path) -> bool {
    let Ok(line) = fs::read(format!("/proc/{pid}/cmdline")) else { return false };
    let profile = profile.as_os_str().as_bytes();
    has_argument(&line, &[b"--user-data-dir=", profile].concat())
        || has_argument(&line, &[b"--database=", profile, b"/", CRASHES.as_bytes()].concat())
}

/// Whether a command line contains an argument. Chromium's children rewrite their command line with spaces in place of
/// zero bytes, so an argument ends at either.
fn has_argument(line: &[u8], argument: &[u8]) -> bool {
    let ends = |byte: Option<&u8>| matches!(byte, None | Some(0 | b' '));
    memmem::find_iter(line, argument).any(|at| at > 0 && ends(line.get(at - 1)) && ends(line.get(at + argument.len())))
}

/// Kills a process if, once its pidfd is open, it is still the intended process.
fn kill(pid: i32, is_meant: impl FnOnce() -> bool) {
    let Ok(process) = held(pid) else { return };
    if is_meant() {
        // An error means that the process has already died, which is the goal.
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

    /// A process that lives as long as this one, with the given arguments in its command line, in a group of its own.
    fn sleeper(program: &Path, arguments: &[&str]) -> std::process::Child {
        let mut command = Command::new(program);
        command.args(["-c", "echo; read line; :", "sleeper"]).args(arguments).process_group(0);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        // Once it has written something, its command line is that of the shell.
        io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut [0]).unwrap();
        child
    }

    /// A profile path that no other test run on this machine uses.
    fn nowhere(name: &str) -> String {
        format!("/nowhere/codemode-process-test-{}-{name}", std::process::id())
    }

    /// A folder with programs of these names, all copies of the shell.
    fn programs<const N: usize>(names: [&str; N]) -> (tempfile::TempDir, [PathBuf; N]) {
        let folder = tempfile::tempdir().unwrap();
        let programs = names.map(|name| {
            let path = folder.path().canonicalize().unwrap().join(name);
            // Copied by another process: a file that this process, or a child that another test forks, has open for
            // writing cannot be executed.
            assert!(Command::new("cp").arg("/bin/sh").arg(&path).status().unwrap().success());
            path
        });
        (folder, programs)
    }

    #[test]
    fn a_process_is_known_by_its_profile_and_program_or_by_its_group_and_by_nothing_less() {
        let (_folder, [browser, crashpad, beside]) = programs(["browser", "crashpad_handler", "beside"]);
        let profile = nowhere("known");
        let proof = Proof { profile: Path::new(&profile), group: None, executable: Some(&browser) };
        let user_data_dir = &*format!("--user-data-dir={profile}");
        let mut named = sleeper(&browser, &[user_data_dir]);
        let mut rewritten = sleeper(&browser, &[&format!("--type=renderer {user_data_dir} --lang=en")]);
        let mut handler = sleeper(&crashpad, &[&format!("--database={profile}/Crashes")]);
        let mut grouped = sleeper(&beside, &[]);
        let mut others = [
            sleeper(&browser, &[&format!("{user_data_dir}-2")]),
            sleeper(&beside, &[user_data_dir]),
            // For example a user who searches for the folder.
            sleeper(Path::new("/bin/sh"), &["mynote", user_data_dir]),
        ];
        let pids = [named.id(), rewritten.id(), handler.id()].map(u32::cast_signed);
        let found = proof.living();
        assert!(found.len() == pids.len() && pids.iter().all(|pid| found.contains(pid)), "{found:?} {pids:?}");

        let group = Group::led_by(grouped.id().cast_signed()).unwrap();
        let with_group = |group| Proof { group: Some(group), ..proof };
        assert_eq!(with_group(group).living().last(), Some(&group.leader));
        let reused = Group { start_ticks: group.start_ticks + 1, ..group };
        assert!(!with_group(reused).living().contains(&group.leader), "the number alone proves nothing");

        assert_eq!(with_group(group).end(Duration::from_secs(10)), Ok(4));
        for other in &mut others {
            assert!(other.try_wait().unwrap().is_none(), "a process that is not the browser's was killed");
        }
        for child in [&mut named, &mut rewritten, &mut handler, &mut grouped].into_iter().chain(&mut others) {
            let _ = child.kill();
            child.wait().unwrap();
        }
    }

    #[test]
    fn a_group_from_a_record_is_a_browsers_or_is_let_alone() {
        let (_folder, [browser, beside]) = programs(["browser", "beside"]);
        let profile = nowhere("recorded");
        let proof = Proof { profile: Path::new(&profile), group: None, executable: Some(&browser) };
        let user_data_dir = &*format!("--user-data-dir={profile}");
        let mut children = [
            sleeper(&browser, &[user_data_dir]),
            sleeper(&browser, &[]),
            sleeper(&beside, &[user_data_dir]),
            sleeper(&beside, &[]),
        ];
        let groups = children.each_ref().map(|child| Group::led_by(child.id().cast_signed()).unwrap());
        assert_eq!(groups.map(|group| proof.confirms(group)), [true, false, false, false]);
        let reused = Group { start_ticks: groups[0].start_ticks + 1, ..groups[0] };
        let own = Group::led_by(rustix::process::getpgrp().as_raw_nonzero().get());
        for other in [Some(reused), Group::led_by(1), own, Some(Group { leader: 0, start_ticks: 0 })] {
            assert!(!other.is_some_and(|group| proof.confirms(group)), "{other:?}");
        }
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    #[test]
    fn without_a_noted_program_one_with_the_name_of_a_browser_counts() {
        let (_folder, [chromium]) = programs(["chromium-157"]);
        let profile = nowhere("old");
        let user_data_dir = &*format!("--user-data-dir={profile}");
        let proof = Proof { profile: Path::new(&profile), group: None, executable: None };
        let mut named = sleeper(&chromium, &[user_data_dir]);
        let mut other = sleeper(Path::new("/bin/sh"), &[user_data_dir]);
        // As an update does, which replaces the program.
        fs::remove_file(&chromium).unwrap();
        assert_eq!(proof.end(Duration::from_secs(10)), Ok(1));
        assert!(named.wait().unwrap().code().is_none() && other.try_wait().unwrap().is_none());
        other.kill().unwrap();
        other.wait().unwrap();
    }

    #[test]
    fn a_dead_process_that_was_not_reaped_counts_as_gone() {
        let (_folder, [browser]) = programs(["browser"]);
        let profile = nowhere("zombie");
        let mut child = sleeper(&browser, &[&format!("--user-data-dir={profile}")]);
        let proof = Proof { profile: Path::new(&profile), group: None, executable: Some(&browser) };
        assert_eq!(proof.end(Duration::from_secs(10)), Ok(1));
        assert!(child.try_wait().unwrap().is_some());
    }
}
