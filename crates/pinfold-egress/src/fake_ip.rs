//! Fake addresses: each name that resolves inside gets its own, so that a connection to the address is a connection to
//! the name.
//!
//! The addresses are from blocks that no host has: one for benchmarks
//! ([RFC 2544](https://www.rfc-editor.org/rfc/rfc2544)) and a unique local one
//! ([RFC 4193](https://www.rfc-editor.org/rfc/rfc4193)). A name keeps its addresses for the whole run, since programs
//! cache them beyond the TTL.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use pinfold_host::Name;

/// The benchmark block, 198.18.0.0/15. Its first two of 131,072 addresses are not used.
const BLOCK_V4: u32 = 0xC612_0000;
const FIRST_HOST: u32 = 2;

/// The most names of a run. Half of it is for hosts that a rule names alone: a process that uses up the names of patterns takes
/// nothing from those.
const MAX_NAMES: usize = 65_536;

/// The most names of one pattern, and four times as many of all: a process that resolves more is not working but
/// exfiltrating data in names.
pub(crate) const MAX_PATTERN_NAMES: usize = 8192;
const MAX_NAMES_BY_PATTERN: usize = 4 * MAX_PATTERN_NAMES;

/// A unique local prefix, chosen at random.
const BLOCK_V6: [u16; 4] = [0xfd70, 0x696e, 0x666f, 0x6c64];

/// The rule by which a name resolves inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameMatch {
    /// None: the name does not exist inside.
    Unknown,
    /// A rule that names this host alone.
    Exact,
    /// A rule for many names, as it is written, or what else they have in common.
    Pattern(String),
}

/// The fake addresses of one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FakeIps {
    /// The IPv4 address.
    pub v4: Ipv4Addr,
    /// The IPv6 address.
    pub v6: Ipv6Addr,
}

/// The names and their fake addresses.
#[derive(Debug, Default)]
pub(crate) struct FakeIpPool {
    numbers: HashMap<Name, u32>,
    names: Vec<Name>,
    /// Number of names that each pattern has.
    by_pattern: HashMap<String, usize>,
}

impl FakeIpPool {
    /// Returns the addresses of a name, assigned at the first call; `None` when there are too many names of its kind.
    pub(crate) fn assign(&mut self, name: &Name, by: &NameMatch) -> Option<FakeIps> {
        let number = match self.numbers.get(name) {
            Some(number) => *number,
            None if !self.has_room(by) => return None,
            None => {
                let number = u32::try_from(self.names.len()).ok()?;
                self.names.push(name.clone());
                self.numbers.insert(name.clone(), number);
                if let NameMatch::Pattern(pattern) = by {
                    *self.by_pattern.entry(pattern.clone()).or_default() += 1;
                }
                number
            }
        };
        let [a, b, c, d] = BLOCK_V6;
        let ([high, low], value) = (halves(number + FIRST_HOST), BLOCK_V4 + FIRST_HOST + number);
        Some(FakeIps { v4: value.into(), v6: Ipv6Addr::new(a, b, c, d, 0, 0, high, low) })
    }

    fn has_room(&self, by: &NameMatch) -> bool {
        let is_below = match by {
            NameMatch::Unknown => false,
            NameMatch::Exact => true,
            NameMatch::Pattern(pattern) => {
                self.by_pattern.get(pattern).is_none_or(|names| *names < MAX_PATTERN_NAMES)
                    && self.by_pattern.values().sum::<usize>() < MAX_NAMES_BY_PATTERN
            }
        };
        is_below && self.names.len() < MAX_NAMES
    }

    /// The name that an address is assigned to.
    pub(crate) fn name_at(&self, address: IpAddr) -> Option<&Name> {
        let number = match address.to_canonical() {
            IpAddr::V4(address) => u32::from(address).checked_sub(BLOCK_V4)?,
            IpAddr::V6(address) => match address.segments() {
                [a, b, c, d, 0, 0, high, low] if [a, b, c, d] == BLOCK_V6 => {
                    (u32::from(high) << 16) | u32::from(low)
                }
                _ => return None,
            },
        };
        self.names.get(usize::try_from(number.checked_sub(FIRST_HOST)?).ok()?)
    }
}

fn halves(number: u32) -> [u16; 2] {
    let [a, b, c, d] = number.to_be_bytes();
    [u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Name {
        Name::parse(text).unwrap()
    }

    #[test]
    fn an_address_leads_back_to_its_name() {
        let mut pool = FakeIpPool::default();
        for i in 0..70_000 {
            let name = name(&format!("h{i}.example"));
            match pool.assign(&name, &NameMatch::Exact) {
                Some(of) => {
                    assert_eq!(pool.name_at(of.v4.into()), Some(&name));
                    assert_eq!(pool.name_at(of.v6.into()), Some(&name));
                    assert_eq!(pool.name_at(of.v4.to_ipv6_mapped().into()), Some(&name));
                    assert!(u32::from(of.v4) >> 17 == BLOCK_V4 >> 17, "{} lies in the block", of.v4);
                    assert_eq!(pool.assign(&name, &NameMatch::Exact), Some(of), "it keeps its address");
                }
                None => assert!(i >= MAX_NAMES),
            }
        }
    }

    #[test]
    fn names_of_a_pattern_take_no_place_from_others() {
        let mut pool = FakeIpPool::default();
        let pattern = |at: usize| NameMatch::Pattern(format!("*.p{at}.test"));
        for at in 0..6 {
            let made = (0..MAX_PATTERN_NAMES + 9)
                .filter(|i| pool.assign(&name(&format!("n{i}.p{at}.test")), &pattern(at)).is_some())
                .count();
            assert_eq!(made, if at < 4 { MAX_PATTERN_NAMES } else { 0 }, "{at}");
        }
        let first = pool.assign(&name("n0.p0.test"), &pattern(0));
        assert!(first.is_some(), "a name keeps its addresses");
        for i in 0..MAX_NAMES - MAX_NAMES_BY_PATTERN {
            assert!(pool.assign(&name(&format!("h{i}.example")), &NameMatch::Exact).is_some(), "{i}");
        }
    }

    #[test]
    fn other_addresses_have_no_name() {
        let mut pool = FakeIpPool::default();
        let of = pool.assign(&name("a.example"), &NameMatch::Exact).unwrap();
        assert_eq!(of.v4.to_string(), "198.18.0.2");
        for text in ["198.18.0.0", "198.18.0.1", "198.18.0.3", "127.0.0.1", "0.0.0.0", "::", "::1", "fd70::2"]
        {
            assert_eq!(pool.name_at(text.parse().unwrap()), None, "{text}");
        }
    }
}
