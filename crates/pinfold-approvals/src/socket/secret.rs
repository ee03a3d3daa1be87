//! What somebody has to say to be let in: 256 bits from the kernel, compared in constant time.

use std::fmt;
use std::fmt::Write as _;
use std::io;

use rustix::rand::{GetRandomFlags, getrandom};
use subtle::ConstantTimeEq as _;

/// A secret. It is never printed.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// A new one.
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

    /// One that was read.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let fits = text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
        fits.then(|| Self(text.to_owned()))
    }

    /// As it is written down and said.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// A part of it, for names of files that last a moment.
    pub(crate) fn short(&self) -> &str {
        self.0.get(..12).unwrap_or_default()
    }

    /// Its bytes.
    pub fn bytes(&self) -> Vec<u8> {
        let two = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
        self.0.as_bytes().chunks(2).filter_map(two).collect()
    }

    /// Whether this was said. How long it takes does not depend on where it differs.
    pub fn is(&self, said: &str) -> bool {
        Self::is_same(&self.0, said)
    }

    /// Whether two texts are the same, in a time that tells nothing but their lengths.
    pub fn is_same(one: &str, other: &str) -> bool {
        one.as_bytes().ct_eq(other.as_bytes()).into()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_differ_and_are_not_shown() {
        let (one, other) = (Secret::new().unwrap(), Secret::new().unwrap());
        assert_eq!(one.bytes().len(), 32);
        assert!(one.is(one.text()) && !one.is(other.text()) && !one.is("") && !one.is(one.short()));
        assert_eq!(format!("{one:?}"), "Secret");
        assert!(Secret::of(one.text()).is_some() && Secret::of("no").is_none());
    }
}
