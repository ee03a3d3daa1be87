//! Random secrets of 256 bits, compared in constant time.

use std::fmt;
use std::fmt::Write as _;
use std::io;

use rustix::rand::{GetRandomFlags, getrandom};
use subtle::ConstantTimeEq as _;

/// A secret. It is never printed.
#[derive(Clone)]
pub struct AccessSecret(String);

impl AccessSecret {
    /// Generates a secret.
    ///
    /// # Errors
    /// When the kernel has no randomness.
    pub fn new() -> io::Result<Self> {
        let mut bytes = [0_u8; 32];
        let mut filled = 0;
        while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            filled += getrandom(rest, GetRandomFlags::empty())?;
        }
        let mut text = String::with_capacity(64);
        for byte in bytes {
            let _ = write!(text, "{byte:02x}");
        }
        Ok(Self(text))
    }

    /// Parses a secret.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let fits = text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
        fits.then(|| Self(text.to_owned()))
    }

    /// The secret as hexadecimal text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A prefix of it, for names of temporary files.
    pub(crate) fn short(&self) -> &str {
        self.0.get(..12).unwrap_or_default()
    }

    /// Its bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let two = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        self.0.as_bytes().chunks(2).filter_map(two).collect()
    }

    /// Compares the secret with a text, in constant time.
    pub fn matches(&self, text: &str) -> bool {
        Self::is_same(&self.0, text)
    }

    /// Compares two texts, in a time that depends on their lengths alone.
    pub fn is_same(one: &str, other: &str) -> bool {
        one.as_bytes().ct_eq(other.as_bytes()).into()
    }
}

impl fmt::Debug for AccessSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AccessSecret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_differ_and_are_not_shown() {
        let (one, other) = (AccessSecret::new().unwrap(), AccessSecret::new().unwrap());
        assert_eq!(one.bytes().len(), 32);
        assert!(
            one.matches(one.as_str())
                && !one.matches(other.as_str())
                && !one.matches("")
                && !one.matches(one.short())
        );
        assert_eq!(format!("{one:?}"), "AccessSecret");
        assert!(AccessSecret::parse(one.as_str()).is_some() && AccessSecret::parse("no").is_none());
    }
}
