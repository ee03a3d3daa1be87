//! Unique names of sessions: random, so that no process has to hand them out.

use std::io;

use sha2::{Digest as _, Sha256};

/// A name for a session: what it is, and sixty random bits. Machines that write to one place do not meet in it, and a
/// person can still type it.
///
/// # Errors
/// When the system has no random numbers.
pub fn session_name(kind: &str) -> io::Result<String> {
    /// Without letters that are taken for digits.
    const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    let mut bits = u64::from_le_bytes(random()?);
    let mut name = format!("{kind}-");
    for _ in 0..12 {
        let letter = usize::try_from(bits & 31).ok().and_then(|at| LETTERS.get(at));
        name.extend(letter.map(|letter| char::from(*letter)));
        bits >>= 5;
    }
    Ok(name)
}

/// The number of a call that others have a name for: who knows the name finds the number again, so that a process that
/// is told how a call ended means the same call as the one that was asked about it. Small enough for every reader of
/// JSON.
pub fn call_number(name: &str) -> u64 {
    let hash: [u8; 32] = Sha256::digest(name.as_bytes()).into();
    hash.iter().take(6).fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// So many random bytes.
pub(crate) fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut random = [0; N];
    let mut rest = random.as_mut_slice();
    while !rest.is_empty() {
        let got = rustix::rand::getrandom(&mut *rest, rustix::rand::GetRandomFlags::empty())?;
        rest = rest.get_mut(got..).unwrap_or_default();
    }
    Ok(random)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_others_name_has_one_number() {
        assert_eq!(call_number("toolu_1"), call_number("toolu_1"));
        let numbers: std::collections::BTreeSet<u64> =
            (0..1000).map(|i| call_number(&format!("toolu_{i}"))).collect();
        assert_eq!(numbers.len(), 1000);
        assert!(numbers.iter().all(|number| *number < 1 << 48));
    }

    #[test]
    fn no_two_sessions_have_one_name() {
        let names: std::collections::BTreeSet<String> =
            (0..1000).map(|_| session_name("call").unwrap()).collect();
        assert_eq!(names.len(), 1000);
        assert!(names.iter().all(|name| name.len() == 17 && name.starts_with("call-")));
    }
}
