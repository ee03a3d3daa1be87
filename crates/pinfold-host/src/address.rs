//! Which addresses lie on this machine or beside it: nothing that a name resolves to may lead there unseen.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{Ipv4Net, Ipv6Net};

/// Reason why an address is not reached without a rule that names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpecialPurpose {
    /// This machine.
    Loopback,
    /// The network that this machine is in.
    Private,
    /// Link-local addresses, with the metadata services of clouds.
    LinkLocal,
    /// Shared by the customers of a provider.
    Shared,
    /// Many receivers at once.
    Multicast,
    /// No address of a host: unspecified, reserved, for documents or tests.
    NoHost,
}

impl SpecialPurpose {
    /// Why, in one clause.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Loopback => "it is an address of this machine",
            Self::Private => "it is an address of a private network",
            Self::LinkLocal => "it is a link-local address, where metadata services live",
            Self::Shared => "it is an address of a provider's shared network",
            Self::Multicast => "it is a multicast address",
            Self::NoHost => "it is a reserved address",
        }
    }
}

const fn v4(a: u8, b: u8, c: u8, d: u8, bits: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), bits)
}

const fn v6(a: u16, b: u16, c: u16, bits: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0), bits)
}

/// [IANA, special-purpose addresses of version 4](https://www.iana.org/assignments/iana-ipv4-special-registry)
const SPECIAL_PURPOSE_V4: [(Ipv4Net, SpecialPurpose); 16] = [
    (v4(0, 0, 0, 0, 8), SpecialPurpose::NoHost),
    (v4(10, 0, 0, 0, 8), SpecialPurpose::Private),
    (v4(100, 64, 0, 0, 10), SpecialPurpose::Shared),
    (v4(127, 0, 0, 0, 8), SpecialPurpose::Loopback),
    (v4(169, 254, 0, 0, 16), SpecialPurpose::LinkLocal),
    (v4(172, 16, 0, 0, 12), SpecialPurpose::Private),
    (v4(192, 0, 0, 0, 24), SpecialPurpose::NoHost),
    (v4(192, 0, 2, 0, 24), SpecialPurpose::NoHost),
    (v4(192, 88, 99, 0, 24), SpecialPurpose::NoHost),
    (v4(192, 168, 0, 0, 16), SpecialPurpose::Private),
    (v4(198, 18, 0, 0, 15), SpecialPurpose::NoHost),
    (v4(198, 51, 100, 0, 24), SpecialPurpose::NoHost),
    (v4(203, 0, 113, 0, 24), SpecialPurpose::NoHost),
    (v4(224, 0, 0, 0, 4), SpecialPurpose::Multicast),
    // A metadata service of one cloud that is not link-local.
    (v4(168, 63, 129, 16, 32), SpecialPurpose::LinkLocal),
    (v4(240, 0, 0, 0, 4), SpecialPurpose::NoHost),
];

/// [IANA, special-purpose addresses of version 6](https://www.iana.org/assignments/iana-ipv6-special-registry)
const SPECIAL_PURPOSE_V6: [(Ipv6Net, SpecialPurpose); 9] = [
    (v6(0x100, 0, 0, 64), SpecialPurpose::NoHost),
    (v6(0x2001, 0xdb8, 0, 32), SpecialPurpose::NoHost),
    (v6(0x2001, 0, 0, 23), SpecialPurpose::NoHost),
    (v6(0x3fff, 0, 0, 20), SpecialPurpose::NoHost),
    (v6(0x5f00, 0, 0, 16), SpecialPurpose::NoHost),
    (v6(0xfc00, 0, 0, 7), SpecialPurpose::Private),
    (v6(0xfe80, 0, 0, 10), SpecialPurpose::LinkLocal),
    (v6(0xfec0, 0, 0, 10), SpecialPurpose::Private),
    (v6(0xff00, 0, 0, 8), SpecialPurpose::Multicast),
];

/// Why an address needs a rule that names it; `None` for the rest of the world. An address of version 4 inside one of
/// version 6 (mapped, translated, tunnelled) counts as what it leads to.
pub fn classify_special_purpose(address: IpAddr) -> Option<SpecialPurpose> {
    match address {
        IpAddr::V4(address) => classify_special_purpose_v4(address),
        IpAddr::V6(address) => classify_special_purpose_v6(address),
    }
}

fn classify_special_purpose_v4(address: Ipv4Addr) -> Option<SpecialPurpose> {
    SPECIAL_PURPOSE_V4.iter().find(|(net, _)| net.contains(&address)).map(|(_, near)| *near)
}

fn classify_special_purpose_v6(address: Ipv6Addr) -> Option<SpecialPurpose> {
    if address.is_loopback() {
        return Some(SpecialPurpose::Loopback);
    }
    if address.is_unspecified() {
        return Some(SpecialPurpose::NoHost);
    }
    if let Some((_, near)) = SPECIAL_PURPOSE_V6.iter().find(|(net, _)| net.contains(&address)) {
        return Some(*near);
    }
    match embedded(address) {
        Embedded::None => None,
        Embedded::In(inner) => classify_special_purpose_v4(inner),
        // Local translation: which network it leads to is not known here.
        Embedded::Unknown => Some(SpecialPurpose::Private),
    }
}

enum Embedded {
    None,
    In(Ipv4Addr),
    Unknown,
}

/// The address of version 4 that one of version 6 stands for: mapped and compatible forms, NAT64
/// ([RFC 6052](https://www.rfc-editor.org/rfc/rfc6052), [RFC 8215](https://www.rfc-editor.org/rfc/rfc8215)), 6to4
/// ([RFC 3056](https://www.rfc-editor.org/rfc/rfc3056)).
fn embedded(address: Ipv6Addr) -> Embedded {
    let v4 = |high: u16, low: u16| Embedded::In(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)));
    match address.segments() {
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => v4(high, low),
        [0x64, 0xff9b, 1, ..] => Embedded::Unknown,
        _ => Embedded::None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_near_needs_a_rule() {
        for (text, expected) in [
            ("127.0.0.1", Some(SpecialPurpose::Loopback)),
            ("127.255.255.254", Some(SpecialPurpose::Loopback)),
            ("0.0.0.0", Some(SpecialPurpose::NoHost)),
            ("10.1.2.3", Some(SpecialPurpose::Private)),
            ("172.16.0.1", Some(SpecialPurpose::Private)),
            ("172.31.255.255", Some(SpecialPurpose::Private)),
            ("192.168.1.1", Some(SpecialPurpose::Private)),
            ("169.254.169.254", Some(SpecialPurpose::LinkLocal)),
            ("168.63.129.16", Some(SpecialPurpose::LinkLocal)),
            ("100.100.100.200", Some(SpecialPurpose::Shared)),
            ("224.0.0.251", Some(SpecialPurpose::Multicast)),
            ("255.255.255.255", Some(SpecialPurpose::NoHost)),
            ("198.18.0.1", Some(SpecialPurpose::NoHost)),
            ("::", Some(SpecialPurpose::NoHost)),
            ("::1", Some(SpecialPurpose::Loopback)),
            ("::ffff:127.0.0.1", Some(SpecialPurpose::Loopback)),
            ("::ffff:0:127.0.0.1", Some(SpecialPurpose::Loopback)),
            ("::7f00:1", Some(SpecialPurpose::Loopback)),
            ("64:ff9b::a9fe:a9fe", Some(SpecialPurpose::LinkLocal)),
            ("64:ff9b:1::1", Some(SpecialPurpose::Private)),
            ("2002:7f00:1::", Some(SpecialPurpose::Loopback)),
            ("2002:a00:1::", Some(SpecialPurpose::Private)),
            ("2001::1", Some(SpecialPurpose::NoHost)),
            ("fd00:ec2::254", Some(SpecialPurpose::Private)),
            ("fe80::1", Some(SpecialPurpose::LinkLocal)),
            ("fec0::1", Some(SpecialPurpose::Private)),
            ("ff02::1", Some(SpecialPurpose::Multicast)),
            ("8.8.8.8", None),
            ("172.32.0.1", None),
            ("140.82.121.3", None),
            ("2606:4700::1", None),
            ("::ffff:8.8.8.8", None),
            ("2002:808:808::", None),
        ] {
            assert_eq!(classify_special_purpose(text.parse().unwrap()), expected, "{text}");
        }
    }
}
