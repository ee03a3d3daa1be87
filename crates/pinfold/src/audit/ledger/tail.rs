//! The end of a file: its last whole line, and what was left unfinished behind it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use super::super::seal::{Hash, read_seal};

/// The end of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tail {
    /// The last whole line.
    pub(super) last: Option<Last>,
    /// The rest behind it.
    pub(super) torn: Option<Torn>,
}

/// The last whole line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Last {
    pub(super) hash: Hash,
    /// Its number; 0 for one that was not sealed: of version 1, or of another program.
    pub(super) seq: u64,
}

/// A line that was left unfinished.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Torn {
    pub(super) bytes: u64,
    /// The hash that it has once it is closed off.
    pub(super) hash: Hash,
}

/// Looks at the end of a file of this size.
pub(super) fn read(file: &File, size: u64) -> io::Result<Tail> {
    /// More than most lines are long.
    const FIRST_LOOK: u64 = 4 << 10;
    let mut look = FIRST_LOOK;
    loop {
        let start = size.saturating_sub(look);
        let mut bytes = vec![0; usize::try_from(size - start).map_err(io::Error::other)?];
        file.read_exact_at(&mut bytes, start)?;
        if let Some(tail) = of(&bytes, start == 0) {
            return Ok(tail);
        }
        look = look.saturating_mul(8);
    }
}

/// The end of a text; `None` when its last whole line may begin before it.
fn of(bytes: &[u8], is_all: bool) -> Option<Tail> {
    let end = |bytes: &[u8]| bytes.iter().rposition(|b| *b == b'\n').map(|at| at + 1);
    let Some(whole) = end(bytes) else {
        return is_all.then(|| Tail { last: None, torn: torn(bytes) });
    };
    let (lines, rest) = bytes.split_at_checked(whole)?;
    let start = match end(lines.split_last()?.1) {
        Some(start) => start,
        None if is_all => 0,
        None => return None,
    };
    let line = lines.get(start..)?;
    let seq = read_seal(line).map_or(0, |(seq, _)| seq);
    Some(Tail { last: Some(Last { hash: Hash::of(line), seq }), torn: torn(rest) })
}

fn torn(rest: &[u8]) -> Option<Torn> {
    let bytes = u64::try_from(rest.len()).ok().filter(|len| *len > 0)?;
    let closed = [rest, b"\n"].concat();
    Some(Torn { bytes, hash: Hash::of(&closed) })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn last(line: &str) -> Last {
        Last { hash: Hash::of(line.as_bytes()), seq: 0 }
    }

    #[test]
    fn the_last_whole_line_is_found_however_long_it_is() {
        let long = format!("{}\n", "y".repeat(100_000));
        let some = |line: &str| Some(last(line));
        let torn = |text: &str| {
            Some(Torn { bytes: text.len() as u64, hash: Hash::of(format!("{text}\n").as_bytes()) })
        };
        for (text, expected) in [
            (String::new(), Tail { last: None, torn: None }),
            ("\n".into(), Tail { last: some("\n"), torn: None }),
            ("a\n".into(), Tail { last: some("a\n"), torn: None }),
            ("a\nb\n".into(), Tail { last: some("b\n"), torn: None }),
            ("a\nb".into(), Tail { last: some("a\n"), torn: torn("b") }),
            ("b".into(), Tail { last: None, torn: torn("b") }),
            (format!("x\n{long}"), Tail { last: some(&long), torn: None }),
            (format!("x\n{long}z"), Tail { last: some(&long), torn: torn("z") }),
            (format!("x\n{}", long.trim_end()), Tail { last: some("x\n"), torn: torn(long.trim_end()) }),
        ] {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(text.as_bytes()).unwrap();
            let found = read(&file, text.len() as u64).unwrap();
            assert_eq!(found, expected, "{} bytes", text.len());
        }
    }
}
