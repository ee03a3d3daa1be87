//! Names that nobody else has: they are random, and need nobody who hands them out.

use std::io;

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
    fn no_two_sessions_have_one_name() {
        let names: std::collections::BTreeSet<String> =
            (0..1000).map(|_| session_name("call").unwrap()).collect();
        assert_eq!(names.len(), 1000);
        assert!(names.iter().all(|name| name.len() == 17 && name.starts_with("call-")));
    }
}
