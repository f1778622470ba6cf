//! Determines whether the process at the other end of a local connection belongs to a browser.

use crate::process::Group;
use std::{
    fs,
    net::{Ipv4Addr, SocketAddrV4},
    sync::{Mutex, PoisonError},
};

/// The kernel's socket tables, and the prefix of an IPv4 address in each.
const TABLES: [(&str, &str); 2] = [("/proc/net/tcp", ""), ("/proc/net/tcp6", "0000000000000000FFFF0000")];

/// The processes of one browser as possible peers of connections on this machine.
///
/// A peer is identified by the process group of the socket's holder and not by the socket's user, because other
/// browsers may run as the same user.
#[derive(Debug)]
pub struct Peers {
    group: Group,
    /// The process that held the last connection, tried first: a browser's network service holds all its connections.
    last: Mutex<Option<i32>>,
}

impl Peers {
    /// The processes of the browser with this main process; `None` if that process no longer exists.
    #[must_use]
    pub fn of(browser: u32) -> Option<Self> {
        Some(Self { group: Group::led_by(browser.cast_signed())?, last: Mutex::default() })
    }

    /// Whether a process of the browser holds the end `peer` of a connection to `local`, a loopback socket of this
    /// process. Reads `/proc`, and so blocks.
    #[must_use]
    pub fn hold(&self, peer: SocketAddrV4, local: SocketAddrV4) -> bool {
        let Some(link) = socket(peer, local).map(|inode| format!("socket:[{inode}]")) else { return false };
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_some_and(|pid| self.group.has(pid) && has_open(pid, &link)) {
            return true;
        }
        *last = self.group.members().find(|pid| has_open(*pid, &link));
        last.is_some()
    }
}

/// The inode of the socket at the other end of a connection.
fn socket(peer: SocketAddrV4, local: SocketAddrV4) -> Option<u64> {
    TABLES.into_iter().find_map(|(table, prefix)| {
        let (peer, local) = (written(peer, prefix), written(local, prefix));
        let table = fs::read_to_string(table).ok()?;
        table.lines().find_map(|line| {
            let mut fields = line.split_ascii_whitespace().skip(1);
            let is_meant = fields.next()? == peer && fields.next()? == local;
            // A closed socket belongs to no process, and its inode is 0.
            is_meant.then(|| fields.nth(6)?.parse().ok())?.filter(|inode| *inode != 0)
        })
    })
}

/// An address as the tables print it: its bytes in network order, read as a number in the machine's byte order.
fn written(address: SocketAddrV4, prefix: &str) -> String {
    let word = |address: Ipv4Addr| u32::from_ne_bytes(address.octets());
    format!("{prefix}{:08X}:{:04X}", word(*address.ip()), address.port())
}

fn has_open(pid: i32, link: &str) -> bool {
    let Ok(open) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    open.flatten().any(|file| fs::read_link(file.path()).is_ok_and(|target| target.as_os_str() == link))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        net::{SocketAddr, TcpListener, TcpStream},
        os::unix::process::CommandExt as _,
        process::{Command, Stdio},
    };

    fn v4(address: SocketAddr) -> SocketAddrV4 {
        match address {
            SocketAddr::V4(address) => address,
            SocketAddr::V6(address) => panic!("{address} is no IPv4 address"),
        }
    }

    #[test]
    fn a_connection_belongs_to_the_group_that_holds_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let local = v4(listener.local_addr().unwrap());
        let ours = TcpStream::connect(local).unwrap();
        let peer = v4(ours.local_addr().unwrap());
        let mut group = Command::new("/bin/sh");
        // A child of the leader holds the connection, as a browser's network service does.
        group
            .args(["-c", "sleep 1000 & wait"])
            .stdin(Stdio::from(std::os::fd::OwnedFd::from(ours.try_clone().unwrap())));
        group.stdout(Stdio::null()).process_group(0);
        let mut stranger =
            Command::new("/bin/sh").args(["-c", "read line"]).stdin(Stdio::piped()).process_group(0).spawn().unwrap();
        let strangers = Peers::of(stranger.id()).unwrap();
        assert!(!strangers.hold(peer, local), "it is another's");
        let mut holder = group.spawn().unwrap();
        drop(group);
        let holders = Peers::of(holder.id()).unwrap();
        assert!(holders.hold(peer, local) && holders.hold(peer, local) && !strangers.hold(peer, local));
        let other = TcpStream::connect(local).unwrap();
        assert!(!holders.hold(v4(other.local_addr().unwrap()), local), "this process has that one");
        rustix::process::kill_process_group(rustix::process::Pid::from_child(&holder), rustix::process::Signal::KILL)
            .unwrap();
        holder.wait().unwrap();
        assert!(!holders.hold(peer, local), "no process of the group lives");
        stranger.kill().unwrap();
        stranger.wait().unwrap();
    }
}
