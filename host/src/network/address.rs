//! IP networks, and the IPv4 addresses that are embedded in IPv6 addresses.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

/// A network: an address and its prefix length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Net {
    address: IpAddr,
    bits: u8,
}

impl Net {
    /// Creates a network. Address bits beyond the prefix are cleared; an IPv4-mapped IPv6 network becomes an IPv4
    /// network. `None` if the prefix is longer than the address.
    #[must_use]
    pub fn new(address: IpAddr, bits: u8) -> Option<Self> {
        match address {
            IpAddr::V4(address) => {
                let bits = (bits <= 32).then_some(bits)?;
                let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
                Some(Self { address: Ipv4Addr::from_bits(address.to_bits() & mask).into(), bits })
            }
            IpAddr::V6(address) => {
                let bits = (bits <= 128).then_some(bits)?;
                if let (Some(mapped), Some(bits)) = (address.to_ipv4_mapped(), bits.checked_sub(96)) {
                    return Self::new(mapped.into(), bits);
                }
                let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
                Some(Self { address: Ipv6Addr::from_bits(address.to_bits() & mask).into(), bits })
            }
        }
    }

    /// The network that contains only this address.
    #[must_use]
    pub fn of(address: IpAddr) -> Self {
        let address = address.to_canonical();
        Self { address, bits: if address.is_ipv4() { 32 } else { 128 } }
    }

    pub(super) const fn v4(a: u8, b: u8, c: u8, d: u8, bits: u8) -> Self {
        Self { address: IpAddr::V4(Ipv4Addr::new(a, b, c, d)), bits }
    }

    pub(super) const fn v6(address: u128, bits: u8) -> Self {
        Self { address: IpAddr::V6(Ipv6Addr::from_bits(address)), bits }
    }

    /// Whether an address is in this network.
    #[must_use]
    pub fn contains(self, address: IpAddr) -> bool {
        let same_length =
            matches!((self.address, address), (IpAddr::V4(_), IpAddr::V4(_)) | (IpAddr::V6(_), IpAddr::V6(_)));
        same_length && Self::new(address, self.bits).is_some_and(|net| net.address == self.address)
    }

    /// Whether all of this network is in `outer`.
    #[must_use]
    pub fn is_within(self, outer: Self) -> bool {
        self.bits >= outer.bits && outer.contains(self.address)
    }
}

impl fmt::Display for Net {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, bits } = self;
        let whole = if address.is_ipv4() { 32 } else { 128 };
        if *bits == whole { write!(out, "{address}") } else { write!(out, "{address}/{bits}") }
    }
}

/// An address and the addresses that it may reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Forms {
    /// The address; an IPv4-mapped IPv6 address is converted to IPv4.
    pub(super) itself: IpAddr,
    /// The address that it certainly stands for.
    pub(super) inner: Option<IpAddr>,
    /// The addresses that it stands for if the network is configured so.
    pub(super) possible: Vec<IpAddr>,
}

impl Forms {
    /// IPv4 inside IPv6: NAT64 (RFC 6052, RFC 8215), 6to4 (RFC 3056), Teredo (RFC 4380), ISATAP (RFC 5214), the
    /// translated and the compatible form. The unspecified address reaches the loopback interface on Linux.
    pub(super) fn of(address: IpAddr) -> Self {
        let itself = address.to_canonical();
        let (inner, possible) = match itself {
            IpAddr::V4(address) => (address.is_unspecified().then_some(Ipv4Addr::LOCALHOST.into()), Vec::new()),
            IpAddr::V6(address) if address.is_unspecified() => {
                (Some(Ipv6Addr::LOCALHOST.into()), vec![Ipv4Addr::LOCALHOST.into()])
            }
            IpAddr::V6(address) if address.is_loopback() => (None, Vec::new()),
            IpAddr::V6(address) => {
                let (inner, possible) = inside(address.octets());
                (inner.map(IpAddr::from), possible.into_iter().map(IpAddr::from).collect())
            }
        };
        Self { itself, inner, possible }
    }

    /// The address and all addresses that it may reach.
    pub(super) fn all(&self) -> impl Iterator<Item = IpAddr> {
        [self.itself].into_iter().chain(self.inner).chain(self.possible.iter().copied())
    }
}

fn inside(bytes: [u8; 16]) -> (Option<Ipv4Addr>, Vec<Ipv4Addr>) {
    let at = |places: [usize; 4]| Ipv4Addr::from(places.map(|place| bytes[place]));
    let last = at([12, 13, 14, 15]);
    match bytes {
        [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0, ..] | [0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, ..] => {
            (Some(last), Vec::new())
        }
        [0x20, 0x02, ..] => (Some(at([2, 3, 4, 5])), Vec::new()),
        // The NAT64 prefix for local use, which a site may have extended.
        [0, 0x64, 0xff, 0x9b, 0, 1, ..] => {
            (None, vec![last, at([6, 7, 9, 10]), at([7, 9, 10, 11]), at([9, 10, 11, 12])])
        }
        // Teredo: the server, and the client with inverted bits.
        [0x20, 0x01, 0, 0, ..] => (None, vec![at([4, 5, 6, 7]), Ipv4Addr::from_bits(!last.to_bits())]),
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ..] | [_, _, _, _, _, _, _, _, 0 | 2, 0, 0x5e, 0xfe, ..] => {
            (None, vec![last])
        }
        _ => (None, Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn net(text: &str) -> Net {
        let (address, bits) = text.split_once('/').unwrap();
        Net::new(address.parse().unwrap(), bits.parse().unwrap()).unwrap()
    }

    #[test]
    fn a_network_has_its_addresses_and_no_others() {
        for (network, inside, outside) in [
            ("10.1.2.3/8", "10.255.255.255", "11.0.0.0"),
            ("0.0.0.0/0", "255.255.255.255", "::1"),
            ("::/0", "ffff::", "1.2.3.4"),
            ("169.254.169.254/32", "169.254.169.254", "169.254.169.253"),
            ("fe80::/10", "febf::1", "fec0::1"),
            ("::ffff:10.0.0.0/104", "10.0.0.1", "11.0.0.1"),
        ] {
            assert!(net(network).contains(inside.parse().unwrap()), "{network} {inside}");
            assert!(!net(network).contains(outside.parse().unwrap()), "{network} {outside}");
        }
        assert_eq!(Net::new("1.2.3.4".parse().unwrap(), 33), None);
        assert!(net("10.1.0.0/16").is_within(net("10.0.0.0/8")) && !net("10.0.0.0/8").is_within(net("10.1.0.0/16")));
        assert_eq!(net("10.1.2.3/8").to_string(), "10.0.0.0/8");
    }

    #[test]
    fn an_address_inside_of_another_is_seen() {
        let metadata: IpAddr = "169.254.169.254".parse().unwrap();
        for text in [
            "::ffff:169.254.169.254",
            "64:ff9b::169.254.169.254",
            "64:ff9b:1::169.254.169.254",
            "64:ff9b:1:a9fe:a9:fe00::",
            "2002:a9fe:a9fe::1",
            "::169.254.169.254",
            "::ffff:0:169.254.169.254",
            "fe80::5efe:169.254.169.254",
            "2001:db8::200:5efe:a9fe:a9fe",
            "2001:0:4136:e378:8000:63bf:5601:5601",
        ] {
            let forms = Forms::of(text.parse().unwrap());
            assert!(forms.all().any(|form| form == metadata), "{text}: {forms:?}");
        }
        for (text, inner) in [("0.0.0.0", "127.0.0.1"), ("::", "::1"), ("2002:7f00:1::", "127.0.0.1")] {
            assert_eq!(Forms::of(text.parse().unwrap()).inner, Some(inner.parse().unwrap()), "{text}");
        }
        let plain = Forms::of("2a00:1450:4001:80b::200e".parse().unwrap());
        assert_eq!(plain.all().count(), 1, "{plain:?}");
        assert_eq!(Forms::of("::1".parse().unwrap()).all().count(), 1);
    }
}
