//! An address of its own for each name, so that a connection to the address is a connection to the name.
//!
//! The addresses come from blocks that no host has: one kept for measurements
//! ([RFC 2544](https://www.rfc-editor.org/rfc/rfc2544)) and one of those for private use
//! ([RFC 4193](https://www.rfc-editor.org/rfc/rfc4193)). A name keeps its address as long as the run lasts, since
//! programs remember addresses longer than they are told to.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use pinfold_host::Name;

/// The first two of the 131,072 addresses of the block are left out.
const BLOCK_V4: u32 = 0xC612_0000;
const FIRST: u32 = 2;

/// How many names a run can have. More is no work but a tunnel.
pub(crate) const MOST_NAMES: usize = 65_536;

/// A block for private use, drawn by lot.
const BLOCK_V6: [u16; 4] = [0xfd70, 0x696e, 0x666f, 0x6c64];

/// The addresses of one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Addresses {
    /// Of version 4.
    pub v4: Ipv4Addr,
    /// Of version 6.
    pub v6: Ipv6Addr,
}

/// Which name has which address.
#[derive(Debug, Default)]
pub(crate) struct Synthetic {
    numbers: HashMap<Name, u32>,
    names: Vec<Name>,
}

impl Synthetic {
    /// The addresses of a name; `None` when there are too many names.
    pub(crate) fn addresses(&mut self, name: &Name) -> Option<Addresses> {
        let number = match self.numbers.get(name) {
            Some(number) => *number,
            None if self.names.len() >= MOST_NAMES => return None,
            None => {
                let number = u32::try_from(self.names.len()).ok()?;
                self.names.push(name.clone());
                self.numbers.insert(name.clone(), number);
                number
            }
        };
        let [a, b, c, d] = BLOCK_V6;
        let ([high, low], value) = (halves(number + FIRST), BLOCK_V4 + FIRST + number);
        Some(Addresses { v4: value.into(), v6: Ipv6Addr::new(a, b, c, d, 0, 0, high, low) })
    }

    /// The name that an address was given to.
    pub(crate) fn name(&self, address: IpAddr) -> Option<&Name> {
        let number = match address.to_canonical() {
            IpAddr::V4(address) => u32::from(address).checked_sub(BLOCK_V4)?,
            IpAddr::V6(address) => match address.segments() {
                [a, b, c, d, 0, 0, high, low] if [a, b, c, d] == BLOCK_V6 => {
                    (u32::from(high) << 16) | u32::from(low)
                }
                _ => return None,
            },
        };
        self.names.get(usize::try_from(number.checked_sub(FIRST)?).ok()?)
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
        let mut all = Synthetic::default();
        for i in 0..70_000 {
            let name = name(&format!("h{i}.example"));
            match all.addresses(&name) {
                Some(of) => {
                    assert_eq!(all.name(of.v4.into()), Some(&name));
                    assert_eq!(all.name(of.v6.into()), Some(&name));
                    assert_eq!(all.name(of.v4.to_ipv6_mapped().into()), Some(&name));
                    assert!(u32::from(of.v4) >> 17 == BLOCK_V4 >> 17, "{} lies in the block", of.v4);
                    assert_eq!(all.addresses(&name), Some(of), "it keeps its address");
                }
                None => assert!(i >= MOST_NAMES),
            }
        }
    }

    #[test]
    fn other_addresses_have_no_name() {
        let mut all = Synthetic::default();
        let of = all.addresses(&name("a.example")).unwrap();
        assert_eq!(of.v4.to_string(), "198.18.0.2");
        for text in ["198.18.0.0", "198.18.0.1", "198.18.0.3", "127.0.0.1", "0.0.0.0", "::", "::1", "fd70::2"]
        {
            assert_eq!(all.name(text.parse().unwrap()), None, "{text}");
        }
    }
}
