//! Seals, which tie each line to the one before: a number, and the hash of all that came before.
//!
//! The hash of a line is SHA-256 over its bytes with the line feed, so that `tail -n 1 record.jsonl | sha256sum` says
//! it. The seal stands last in a line, always in the same form: it can be read without reading the rest.

use std::fmt;
use std::io::Write as _;

use sha2::{Digest as _, Sha256};

/// The hash of a line.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hash([u8; 32]);

impl Hash {
    /// The hash before the first line of all.
    pub const NONE: Self = Self([0; 32]);

    /// The hash of a line, with its line feed.
    pub fn digest(line: &[u8]) -> Self {
        Self(Sha256::digest(line).into())
    }

    /// A hash as it is written.
    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let [high, low] = *pair else { return None };
            *byte = (digit(high)? << 4) | digit(low)?;
        }
        Some(Self(bytes))
    }

    /// The hash of bytes that were fed to a hasher.
    pub(crate) fn from_hasher(hasher: Sha256) -> Self {
        Self(hasher.finalize().into())
    }

    fn hex(self) -> [u8; 64] {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut hex = [0; 64];
        for (pair, byte) in hex.chunks_exact_mut(2).zip(self.0) {
            if let [high, low] = pair {
                *high = DIGITS.get(usize::from(byte >> 4)).copied().unwrap_or_default();
                *low = DIGITS.get(usize::from(byte & 15)).copied().unwrap_or_default();
            }
        }
        hex
    }
}

/// Lower case only: one hash has one form.
fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(std::str::from_utf8(&self.hex()).unwrap_or_default())
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Turns a record, as one JSON object, into a whole line.
pub(crate) fn seal(object: &mut Vec<u8>, machine: &str, seq: u64, prev: Hash) {
    debug_assert_eq!(object.last(), Some(&b'}'), "a record is an object");
    object.pop();
    // Writing to memory does not fail.
    let _ = write!(object, ",\"machine\":\"{machine}\",\"seq\":{seq},\"prev\":\"");
    object.extend_from_slice(&prev.hex());
    object.extend_from_slice(b"\"}\n");
}

/// The number and the hash at the end of a whole line; `None` for a line that was not sealed.
pub fn read_seal(line: &[u8]) -> Option<(u64, Hash)> {
    split_seal(line).map(|(_, seq, prev)| (seq, prev))
}

/// The name of the machine in the seal of a whole line.
pub(crate) fn read_machine(line: &[u8]) -> Option<&str> {
    const BEFORE: &[u8] = b",\"machine\":\"";
    let (rest, ..) = split_seal(line)?;
    let rest = rest.strip_suffix(b"\"")?;
    let start = rest.iter().rposition(|byte| *byte == b'"')?.checked_add(1)?;
    let (before, name) = rest.split_at_checked(start)?;
    before.ends_with(BEFORE).then(|| std::str::from_utf8(name).ok())?
}

/// The line before the number and the hash of its seal, and these.
fn split_seal(line: &[u8]) -> Option<(&[u8], u64, Hash)> {
    const BETWEEN: &[u8] = b",\"prev\":\"";
    const BEFORE: &[u8] = b",\"seq\":";
    const MAX_DIGITS: usize = 20;
    let rest = line.strip_suffix(b"\"}\n")?;
    let (rest, hash) = rest.split_at_checked(rest.len().checked_sub(64)?)?;
    let hash = Hash::parse(std::str::from_utf8(hash).ok()?)?;
    let rest = rest.strip_suffix(BETWEEN)?;
    let digits = rest.iter().rev().take(MAX_DIGITS).take_while(|byte| byte.is_ascii_digit()).count();
    let (rest, number) = rest.split_at_checked(rest.len().checked_sub(digits)?)?;
    let rest = rest.strip_suffix(BEFORE)?;
    Some((rest, std::str::from_utf8(number).ok()?.parse().ok()?, hash))
}

/// Returns true if a line is of version 1 of the format, whose lines had no seal.
pub(crate) fn is_unsealed_version(line: &[u8]) -> bool {
    #[derive(serde::Deserialize)]
    struct Version {
        v: u32,
    }
    serde_json::from_slice::<Version>(line).is_ok_and(|line| line.v == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_is_read_as_it_was_written() {
        let prev = Hash::digest(b"before\n");
        for seq in [1, 9, 10, u64::MAX] {
            let mut line = br#"{"v":2,"tool":"\"}"}"#.to_vec();
            seal(&mut line, "0a", seq, prev);
            assert_eq!(read_seal(&line), Some((seq, prev)));
            assert_eq!(read_machine(&line), Some("0a"));
            assert!(serde_json::from_slice::<serde_json::Value>(&line).is_ok());
        }
    }

    #[test]
    fn what_only_looks_like_a_seal_is_none() {
        let hash = Hash::NONE.to_string();
        for line in [
            String::new(),
            "\n".to_owned(),
            "{}\n".to_owned(),
            format!("{{\"seq\":1,\"prev\":\"{hash}\"}}"),
            format!("{{\"v\":1,\"seq\":,\"prev\":\"{hash}\"}}\n"),
            format!("{{\"v\":1,\"seq\":1x,\"prev\":\"{hash}\"}}\n"),
            format!("{{\"v\":1,\"seq\":99999999999999999999,\"prev\":\"{hash}\"}}\n"),
            format!("{{\"v\":1,\"seq\":1,\"prev\":\"{}\"}}\n", hash.replace('0', "A")),
            format!("{{\"v\":1,\"in\":{{\"seq\":1,\"prev\":\"{hash}\"}}}}\n"),
        ] {
            assert_eq!(read_seal(line.as_bytes()), None, "{line}");
            assert_eq!(read_machine(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn a_hash_has_one_form() {
        let hash = Hash::digest(b"x\n");
        assert_eq!(Hash::parse(&hash.to_string()), Some(hash));
        assert_eq!(Hash::parse(&hash.to_string().to_uppercase()), None);
        assert_eq!(Hash::parse("00"), None);
        let known = "73cb3858a687a8494ca3323053016282f3dad39d42cf62ca4e79dda2aac7d9ac";
        assert_eq!(hash.to_string(), known);
    }
}
