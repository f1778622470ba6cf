//! The file system as a browser sees it, and the one port that it may connect to if it has a proxy, by Landlock.
//!
//! Found by trying on Chromium 156: these paths are enough for pages, fonts, certificates, name resolution and its own
//! sandbox, which writes its map of users below `/proc`. `file:` URLs elsewhere are `ERR_ACCESS_DENIED`.

use super::needs::Needs;
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, NetPort, PathBeneath, PathFd, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus, Scope,
};
use std::{
    env, fmt,
    path::{Path, PathBuf},
};

/// What is known of Landlock here. Of an older kernel as much is used as it has.
const KNOWN: ABI = ABI::V6;
/// Without this version files can be truncated that cannot be written to: that is no wall.
const NEEDED: ABI = ABI::V3;

/// Programs, libraries, fonts, certificates, and what names and users are looked up in.
const READABLE: &[&str] = &[
    "/usr",
    "/lib",
    "/lib32",
    "/lib64",
    "/bin",
    "/sbin",
    "/sys",
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/chromium",
    "/etc/chromium.d",
    "/etc/fonts",
    "/etc/gai.conf",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/nsswitch.conf",
    "/etc/opt/chrome",
    "/etc/passwd",
    "/etc/pki/tls",
    "/etc/resolv.conf",
    "/etc/ssl",
    "/etc/timezone",
    "/run/systemd/resolve",
    "/var/cache/fontconfig",
];
/// Written to: its own sandbox does so in `/proc`, where the kernel lets each user change only what is that user's.
const WRITABLE: &[&str] = &[
    "/proc",
    "/dev/dri",
    "/dev/full",
    "/dev/null",
    "/dev/random",
    "/dev/shm",
    "/dev/snd",
    "/dev/tty",
    "/dev/urandom",
    "/dev/zero",
];
/// The sockets of a display.
const OF_A_DISPLAY: &[&str] = &["/tmp/.X11-unix"];

/// Confines this thread, and all that is started from it, for good.
///
/// # Errors
/// What of it this system does not do.
pub(super) fn restrict(needs: &Needs, readable: &[PathBuf]) -> Result<(), String> {
    let read = AccessFs::from_read(KNOWN);
    let all = AccessFs::from_all(KNOWN);
    let program = needs.executable.parent().map(Path::to_owned);
    let program = program.into_iter().chain(real(&needs.executable).and_then(|path| path.parent().map(Path::to_owned)));
    let fixed = |paths: &'static [&'static str]| paths.iter().map(PathBuf::from);
    let mut may_be_read: Vec<PathBuf> = fixed(READABLE).chain(program).chain(readable.iter().cloned()).collect();
    let mut may_be_written: Vec<PathBuf> = fixed(WRITABLE).chain(needs.folders.iter().cloned()).collect();
    if needs.headed {
        may_be_written.extend(fixed(OF_A_DISPLAY));
        may_be_written.extend(env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from));
        may_be_read.extend(env::var_os("XAUTHORITY").map(PathBuf::from));
    }
    let mut ruleset = ruleset().map_err(told)?;
    if needs.proxy.is_some() {
        // A context of a script's own may have another proxy, and would go around ours. From Linux 6.7 on.
        ruleset = ruleset.handle_access(AccessNet::ConnectTcp | AccessNet::BindTcp).map_err(told)?;
    }
    let mut rules = ruleset.create().map_err(told)?;
    if let Some(proxy) = needs.proxy {
        rules = rules.add_rule(NetPort::new(proxy.port(), AccessNet::ConnectTcp)).map_err(told)?;
    }
    for (paths, access) in [(may_be_read, read), (may_be_written, all)] {
        for path in paths {
            // What this system does not have needs no rule.
            let Ok(opened) = PathFd::new(&path) else { continue };
            let access = if path.is_dir() { access } else { access & AccessFs::from_file(KNOWN) };
            rules = rules.add_rule(PathBeneath::new(opened, access)).map_err(told)?;
        }
    }
    match rules.restrict_self().map_err(told)?.ruleset {
        RulesetStatus::NotEnforced => Err("the kernel has no Landlock".to_owned()),
        _ => Ok(()),
    }
}

/// Whether [`restrict`] would be given what it needs.
///
/// # Errors
/// What is missing.
pub(super) fn probe() -> Result<(), String> {
    ruleset().and_then(Ruleset::create).map(drop).map_err(told)
}

fn ruleset() -> Result<Ruleset, landlock::RulesetError> {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(NEEDED))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(KNOWN))?
        // No signal to a process outside, and no socket of the abstract kind, which has no file.
        .scope(Scope::Signal | Scope::AbstractUnixSocket)
}

fn told(error: impl fmt::Display) -> String {
    format!("the kernel's Landlock is missing or too old ({error})")
}

/// A path as it is, if it is there.
fn real(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}
