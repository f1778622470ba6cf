//! Landlock confinement: the files that a browser may access and, if it has a proxy, the one port to which it may
//! connect.
//!
//! Determined by experiment with Chromium 156: these paths suffice for pages, fonts, certificates, name resolution and
//! its own sandbox, which writes its user-namespace mapping below `/proc`. Other `file:` URLs fail with
//! `ERR_ACCESS_DENIED`.

use super::needs::Needs;
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, NetPort, PathBeneath, PathFd, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus, Scope,
};
use std::{
    env, fmt,
    path::{Path, PathBuf},
};

/// The newest Landlock ABI that is used. On an older kernel, the features that it lacks are skipped.
const KNOWN: ABI = ABI::V6;
/// The oldest acceptable Landlock ABI: before it, files without write permission could still be truncated.
const NEEDED: ABI = ABI::V3;

/// Readable paths: programs, libraries, fonts, certificates, and the files for name and user lookups.
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
/// Writable paths. Chromium's own sandbox writes to `/proc`, where the kernel lets each user change only that user's
/// entries.
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
/// The folder of the X server's sockets.
const OF_A_DISPLAY: &[&str] = &["/tmp/.X11-unix"];

/// Confines this thread, and every process started from it, irrevocably.
///
/// # Errors
/// The reason why this system cannot enforce the confinement.
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
        // A browser context that a script creates may have another proxy, which would bypass codemode's. Needs Linux
        // 6.7.
        ruleset = ruleset.handle_access(AccessNet::ConnectTcp | AccessNet::BindTcp).map_err(told)?;
    }
    let mut rules = ruleset.create().map_err(told)?;
    if let Some(proxy) = needs.proxy {
        rules = rules.add_rule(NetPort::new(proxy.port(), AccessNet::ConnectTcp)).map_err(told)?;
    }
    for (paths, access) in [(may_be_read, read), (may_be_written, all)] {
        for path in paths {
            // A path that does not exist on this system needs no rule.
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

/// Checks that the kernel provides what [`restrict`] requires.
///
/// # Errors
/// The missing feature.
pub(super) fn probe() -> Result<(), String> {
    ruleset().and_then(Ruleset::create).map(drop).map_err(told)
}

fn ruleset() -> Result<Ruleset, landlock::RulesetError> {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(NEEDED))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(KNOWN))?
        // No signals to processes outside, and no abstract Unix sockets, which have no file that a rule could cover.
        .scope(Scope::Signal | Scope::AbstractUnixSocket)
}

fn told(error: impl fmt::Display) -> String {
    format!("the kernel's Landlock is missing or too old ({error})")
}

/// The canonical path, if it exists.
fn real(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}
