//! The end of a file: its last line that belongs to the chain, and what stands behind it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use sha2::{Digest as _, Sha256};

use super::super::read::backwards::Backwards;
use super::super::seal::{Hash, is_unsealed_version, read_seal};

/// The end of a file.
#[derive(Debug)]
pub(super) struct Tail {
    /// The end of the chain in its whole lines, or before it.
    pub(super) chain: ChainTail,
    /// The rest behind them.
    pub(super) torn: Option<TornLine>,
}

/// The end of a chain.
#[derive(Debug)]
pub(super) struct ChainTail {
    /// The hash of the last whole line, damaged or not: the next line is sealed to it.
    pub(super) head: Hash,
    /// The last line that follows the one before it.
    pub(super) last: ChainTip,
    /// The lines behind that one, which follow no line.
    pub(super) damage: Option<Damage>,
}

impl ChainTail {
    /// The end of a chain without lines.
    pub(super) const NONE: Self =
        Self { head: Hash::NONE, last: ChainTip { hash: Hash::NONE, seq: 0 }, damage: None };
}

/// The last line of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ChainTip {
    pub(super) hash: Hash,
    /// Its number; 0 for one of version 1, which was not sealed.
    pub(super) seq: u64,
}

/// Bytes that belong to no line of a chain.
#[derive(Debug, Default)]
pub(super) struct Damage {
    bytes: u64,
    hasher: Sha256,
}

impl Damage {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.bytes = self.bytes.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        self.hasher.update(bytes);
    }

    /// Returns their number and their hash.
    pub(super) fn finish(self) -> (u64, Hash) {
        (self.bytes, Hash::from_hasher(self.hasher))
    }

    /// Adds the bytes of a file from here to there.
    fn add_file(&mut self, file: &File, from: u64, to: u64) -> io::Result<()> {
        const BLOCK: u64 = 64 << 10;
        let mut at = from;
        while at < to {
            let until = at.saturating_add(BLOCK).min(to);
            let mut block = vec![0; usize::try_from(until - at).map_err(io::Error::other)?];
            file.read_exact_at(&mut block, at)?;
            self.add(&block);
            at = until;
        }
        Ok(())
    }
}

/// A line that was left unfinished.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TornLine(Vec<u8>);

impl TornLine {
    fn new(rest: &[u8]) -> Option<Self> {
        (!rest.is_empty()).then(|| Self([rest, b"\n"].concat()))
    }

    /// The line as it is once it is closed off.
    pub(super) fn closed(&self) -> &[u8] {
        &self.0
    }

    /// Returns its length before it was closed off.
    pub(super) fn bytes(&self) -> u64 {
        u64::try_from(self.0.len().saturating_sub(1)).unwrap_or(u64::MAX)
    }
}

/// Strictness of the look at the last line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TailStrictness {
    /// The last line has to be sealed.
    Quick,
    /// The last line has to be sealed to the line before it.
    Strict,
}

/// Looks at the end of a file of this size. `before` is the end of the chain before the file.
pub(super) fn read(
    file: &File,
    size: u64,
    look: TailStrictness,
    before: impl FnOnce() -> io::Result<ChainTail>,
) -> io::Result<Tail> {
    let LastLines { last, torn } = last_lines(file, size, look)?;
    let chain = match last {
        None => before()?,
        Some(line) => {
            if let Some(last) = line.follows(look) {
                ChainTail { head: line.hash, last, damage: None }
            } else {
                let whole = size.saturating_sub(torn.as_ref().map_or(0, TornLine::bytes));
                search(file, whole, line.hash, before)?
            }
        }
    };
    Ok(Tail { chain, torn })
}

/// The last whole line of a file, and the rest behind it.
#[derive(Debug, PartialEq, Eq)]
struct LastLines {
    last: Option<LastLine>,
    torn: Option<TornLine>,
}

/// A whole line, and the hash of the one before it in the same file.
#[derive(Debug, PartialEq, Eq)]
struct LastLine {
    hash: Hash,
    seal: Option<(u64, Hash)>,
    before: Option<Hash>,
}

impl LastLine {
    /// The line as the last one of a chain, if it follows the one before it.
    fn follows(&self, look: TailStrictness) -> Option<ChainTip> {
        let (seq, prev) = self.seal?;
        let follows = look == TailStrictness::Quick || self.before.is_none_or(|before| before == prev);
        follows.then_some(ChainTip { hash: self.hash, seq })
    }
}

fn last_lines(file: &File, size: u64, look: TailStrictness) -> io::Result<LastLines> {
    /// More than most lines are long.
    const FIRST_LOOK: u64 = 4 << 10;
    let mut length = FIRST_LOOK;
    loop {
        let start = size.saturating_sub(length);
        let mut bytes = vec![0; usize::try_from(size - start).map_err(io::Error::other)?];
        file.read_exact_at(&mut bytes, start)?;
        if let Some(found) = parse(&bytes, start == 0, look) {
            return Ok(found);
        }
        length = length.saturating_mul(8);
    }
}

/// The last lines of a text; `None` when a line that is needed may begin before it.
fn parse(bytes: &[u8], is_all: bool, look: TailStrictness) -> Option<LastLines> {
    let Some((whole, torn)) = split_last_line(bytes) else {
        return is_all.then(|| LastLines { last: None, torn: TornLine::new(bytes) });
    };
    let (earlier, line) = last_line(whole, is_all)?;
    let before = match look {
        TailStrictness::Strict if !earlier.is_empty() => Some(Hash::digest(last_line(earlier, is_all)?.1)),
        _ => None,
    };
    let last = LastLine { hash: Hash::digest(line), seal: read_seal(line), before };
    Some(LastLines { last: Some(last), torn: TornLine::new(torn) })
}

/// The whole lines of a text, and the rest behind them; `None` where it has no line feed.
fn split_last_line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().rposition(|byte| *byte == b'\n')?;
    bytes.split_at_checked(at + 1)
}

/// The last of some whole lines, and those before it; `None` when it may begin before them.
fn last_line(whole: &[u8], is_all: bool) -> Option<(&[u8], &[u8])> {
    let (_, rest) = whole.split_last()?;
    match split_last_line(rest) {
        Some((earlier, _)) => whole.split_at_checked(earlier.len()),
        None => is_all.then_some((&[], whole)),
    }
}

/// A line that is looked at on the way back.
struct PassedLine {
    /// The place behind its line feed.
    end: u64,
    /// The line with its line feed; `None` for one that is longer than any line of a record.
    text: Option<Vec<u8>>,
}

impl PassedLine {
    fn previous(lines: &mut Backwards<'_>) -> io::Result<Option<Self>> {
        let end = lines.end();
        let found = lines.previous()?;
        Ok(found.map(|(_, text)| Self {
            end,
            text: text.map(|mut text| {
                text.push(b'\n');
                text
            }),
        }))
    }

    fn hash(&self) -> Option<Hash> {
        self.text.as_deref().map(Hash::digest)
    }

    /// The line as one of a chain, if it is sealed to the one before it.
    fn follows(&self, before: Option<&Self>) -> Option<ChainTip> {
        let text = self.text.as_deref()?;
        let (seq, prev) = read_seal(text)?;
        before
            .is_none_or(|before| before.hash() == Some(prev))
            .then(|| ChainTip { hash: Hash::digest(text), seq })
    }
}

/// Searches a file whose last whole line follows no line: for the last one that does. `end` is where its whole lines
/// end, `head` the hash of the last of them.
fn search(
    file: &File,
    end: u64,
    head: Hash,
    before: impl FnOnce() -> io::Result<ChainTail>,
) -> io::Result<ChainTail> {
    let mut lines = Backwards::new(file, end)?;
    // The last of the unsealed lines that begin the file, and where it ends.
    let mut old: Option<(Hash, u64)> = None;
    let mut line = PassedLine::previous(&mut lines)?;
    while let Some(passed) = line {
        let earlier = PassedLine::previous(&mut lines)?;
        if let Some(last) = passed.follows(earlier.as_ref()) {
            let mut damage = Damage::default();
            damage.add_file(file, passed.end, end)?;
            return Ok(ChainTail { head, last, damage: Some(damage) });
        }
        old = match passed.text.as_deref() {
            Some(text) if is_unsealed_version(text) => old.or(passed.hash().map(|hash| (hash, passed.end))),
            _ => None,
        };
        line = earlier;
    }
    let before = before()?;
    let (last, from) = match old {
        // Version 1 had no chain: its lines are no damage where none was begun.
        Some((hash, from)) if before.last.seq == 0 && before.damage.is_none() => {
            (ChainTip { hash, seq: 0 }, from)
        }
        _ => (before.last, 0),
    };
    let mut damage = before.damage;
    if from < end {
        damage.get_or_insert_default().add_file(file, from, end)?;
    }
    Ok(ChainTail { head, last, damage })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::super::super::seal::seal;
    use super::*;

    fn file(text: &[u8]) -> (File, u64) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text).unwrap();
        (file, text.len() as u64)
    }

    #[test]
    fn the_last_whole_line_is_found_however_long_it_is() {
        let long = format!("{}\n", "y".repeat(100_000));
        let line = |line: &str, before: Option<&str>| {
            let before = before.map(|line| Hash::digest(line.as_bytes()));
            Some(LastLine { hash: Hash::digest(line.as_bytes()), seal: None, before })
        };
        let torn = |text: &str| TornLine::new(text.as_bytes());
        for (text, last, torn) in [
            (String::new(), None, None),
            ("\n".into(), line("\n", None), None),
            ("a\n".into(), line("a\n", None), None),
            ("a\nb\n".into(), line("b\n", Some("a\n")), None),
            ("a\nb".into(), line("a\n", None), torn("b")),
            ("b".into(), None, torn("b")),
            (format!("x\n{long}"), line(&long, Some("x\n")), None),
            (format!("{long}x\n"), line("x\n", Some(&long)), None),
            (format!("x\n{long}z"), line(&long, Some("x\n")), torn("z")),
            (format!("x\n{}", long.trim_end()), line("x\n", None), torn(long.trim_end())),
        ] {
            let (file, size) = file(text.as_bytes());
            let found = last_lines(&file, size, TailStrictness::Strict).unwrap();
            assert_eq!(found, LastLines { last, torn }, "{} bytes", text.len());
        }
    }

    #[test]
    fn the_end_of_the_chain_is_found_behind_damage() {
        let sealed = |seq: u64, prev: &[u8]| {
            let mut line = b"{\"v\":2}".to_vec();
            seal(&mut line, "0a", seq, Hash::digest(prev));
            line
        };
        let old = b"{\"v\":1}\n".to_vec();
        let first = sealed(7, b"before\n");
        let second = sealed(8, &first);
        let stranger = sealed(9, b"another\n");
        let zeros = [vec![0; 4096], b"\n".to_vec()].concat();
        let none = Hash::NONE;
        let of = |line: &[u8], seq| ChainTip { hash: Hash::digest(line), seq };
        let before = ChainTip { hash: none, seq: 0 };
        for (name, lines, last, damaged) in [
            ("whole", vec![&first, &second], of(&second, 8), 0),
            ("the first line of a file", vec![&first], of(&first, 7), 0),
            ("zeros at the end", vec![&first, &second, &zeros], of(&second, 8), 1),
            ("a line that follows another", vec![&first, &second, &stranger], of(&second, 8), 1),
            ("several lines", vec![&first, &second, &stranger, &zeros, &old], of(&second, 8), 3),
            ("zeros alone", vec![&zeros], before, 1),
            ("version 1", vec![&old, &old], of(&old, 0), 0),
            ("damage behind version 1", vec![&old, &zeros, &old], of(&old, 0), 2),
        ] {
            let text: Vec<u8> = lines.iter().copied().flatten().copied().collect();
            let (file, size) = file(&text);
            let chain = read(&file, size, TailStrictness::Strict, || Ok(ChainTail::NONE)).unwrap().chain;
            assert_eq!(chain.last, last, "{name}");
            assert_eq!(chain.head, Hash::digest(lines.last().unwrap()), "{name}");
            let damage = chain.damage.map(Damage::finish);
            let expected: Vec<u8> =
                lines.iter().skip(lines.len() - damaged).copied().flatten().copied().collect();
            let expected = (damaged > 0).then(|| (expected.len() as u64, Hash::digest(&expected)));
            assert_eq!(damage, expected, "{name}");
        }
    }
}
