//! The ports on which browsers listen for their protocol, none of which a page can reach.
//!
//! Whoever reaches that port has the whole browser and, through it, the files of this machine. The browser is told that
//! these ports exist on no host. It asks for every connection, whoever makes it: pages, workers, WebSockets, the
//! browser itself, also to a proxy, also where the host is written as an address.

use std::{
    fmt::Write as _,
    hash::{BuildHasher as _, Hasher as _, RandomState},
    net::{Ipv4Addr, TcpListener},
    ops::RangeInclusive,
};

/// The first of them. All lie below those that Linux gives away by itself (32768 and above).
const FIRST: u16 = 29_200;
const COUNT: u16 = 512;
/// All of them.
pub const PROTOCOL_PORTS: RangeInclusive<u16> = FIRST..=FIRST + (COUNT - 1);
/// Ports that a start tries.
const TRIES_MAX: usize = 8;

const _: () = assert!(FIRST + COUNT <= 32_768);

/// Ports for one browser, in the order in which to try them. Each was free a moment before it is given.
pub(crate) fn free() -> impl Iterator<Item = u16> {
    // Each state of hashing starts from a random key: hosts that start together do not try the same ports.
    let random = RandomState::new().build_hasher().finish();
    let first = u16::try_from(random % u64::from(COUNT)).unwrap_or_default();
    let all = (0..COUNT).map(move |step| FIRST + (first + step) % COUNT);
    all.filter(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok()).take(TRIES_MAX)
}

/// What tells a browser that none of them exists.
pub(crate) fn rules() -> String {
    let mut rules = String::from("--host-resolver-rules=");
    for port in FIRST..FIRST + COUNT {
        let separator = if port == FIRST { "" } else { "," };
        // Writing to a string does not fail.
        let _ = write!(rules, "{separator}MAP *:{port} ~NOTFOUND");
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_free_and_all_of_them_are_closed_to_pages() {
        let rules = rules();
        let mut ports = free();
        let port = ports.next().unwrap();
        assert!(rules.contains(&format!("MAP *:{port} ~NOTFOUND")), "{port}");
        assert_eq!(rules.matches("MAP *:").count(), usize::from(COUNT));
        let _held = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
        assert!(free().chain(ports).all(|other| other != port), "{port} is taken");
    }
}
