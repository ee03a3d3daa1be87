//! Verification of the chain: every line still follows the one before.
//!
//! What it shows: that a line was changed, taken out, put in or moved, by the first one that does not follow, and whether
//! the lines behind that one follow each other again. What the journal itself found at its end, and noted before it went
//! on, is told apart. What it cannot show by itself: that lines at the end are missing or were changed last, or that the
//! whole chain was made anew. A head that was kept elsewhere shows both: it is the hash of a line, and must be in the
//! chain.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::seal::{Hash, is_unsealed_version, read_seal};

/// The result of a verification.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// The number of lines in the chain.
    pub lines: u64,
    /// The number of lines before it of version 1, which had no chain.
    pub old: u64,
    /// The number of lines that a killed process left unfinished, and that were closed off.
    pub torn: u64,
    /// The number of the first line in the chain: higher than 1 when older files were taken away.
    pub first: u64,
    /// The number of the last line in the chain.
    pub last: u64,
    /// The hash of the last line: the head, to keep elsewhere.
    pub head: Option<String>,
    /// Bytes at the end that are no whole line: being written, or left unfinished.
    pub unfinished: u64,
    /// The line that a head kept elsewhere belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known: Option<u64>,
    /// The breaks of the chain, in its order: the first ones.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub breaks: Vec<ChainBreak>,
    /// The number of breaks that are not listed.
    #[serde(skip_serializing_if = "is_zero")]
    pub omitted_breaks: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes by reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Verified {
    /// Returns true if no break is left that a person has to look at: there is none, or each was noted by the journal and
    /// the head that was kept elsewhere is of a line behind the note, which ties it and all around it down.
    pub fn holds(&self) -> bool {
        self.first_misfit().is_none()
    }

    /// The first break that speaks against the chain.
    pub fn first_misfit(&self) -> Option<&Misfit> {
        let is_known = |noted_by: u64| self.known.is_some_and(|known| known >= noted_by);
        let speaks = |found: &&ChainBreak| !found.noted_by.is_some_and(is_known);
        // Of those that are not listed nothing is known.
        let omitted = || self.breaks.last().filter(|_| self.omitted_breaks > 0);
        self.breaks.iter().find(speaks).or_else(omitted).map(|found| &found.misfit)
    }

    /// The verified chain, or the first break that speaks against it.
    ///
    /// # Errors
    /// The first break.
    pub fn into_result(self) -> Result<Self, Misfit> {
        match self.first_misfit() {
            Some(misfit) => Err(misfit.clone()),
            None => Ok(self),
        }
    }
}

/// A place at which the chain is broken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChainBreak {
    /// The first line that does not follow.
    #[serde(flatten)]
    pub misfit: Misfit,
    /// The number of the line by which the journal noted what it found there, before it went on: its lines are tied to the
    /// part before the break, and to what was found. `None` for a break that the journal did not meet: someone else, or a
    /// disk, changed lines that had others behind them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noted_by: Option<u64>,
    /// The number of the first line behind the break from which on lines follow each other again, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goes_on: Option<u64>,
}

/// A line that does not follow the one before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Misfit {
    /// Its file.
    pub file: PathBuf,
    /// Which line of it, from 1.
    pub line: u64,
    /// The error, in one clause.
    pub why: String,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file.display(), self.line, self.why)
    }
}

/// Walks along the files of a record, as [`ledger::opened`](super::ledger::opened) hands them out. `known` is a head
/// that was kept elsewhere.
///
/// # Errors
/// When a file cannot be read.
pub fn verify(files: &[(PathBuf, File)], known: Option<Hash>) -> io::Result<Verified> {
    let mut walk = ChainWalk { known, ..ChainWalk::default() };
    for (path, file) in files {
        walk.file(path, file)?;
    }
    Ok(walk.end(files))
}

#[derive(Default)]
struct ChainWalk {
    found: Verified,
    known: Option<Hash>,
    /// The hash and number of the last line that follows.
    now: ChainState,
    /// The same before that line.
    before: ChainState,
    /// Lines that do not follow, unless the next one says what they are.
    region: Option<Region>,
}

#[derive(Clone, Copy, Default)]
struct ChainState {
    head: Option<Hash>,
    seq: u64,
}

impl ChainState {
    /// The number that follows. A line of a damaged record may have the highest there is: none follows that one.
    fn next(self) -> Option<u64> {
        self.seq.checked_add(1)
    }

    fn is_followed_by(self, (seq, prev): (u64, Hash)) -> bool {
        Some(seq) == self.next() && prev == self.head.unwrap_or(Hash::NONE)
    }
}

/// Lines behind the last one that follows.
struct Region {
    /// The first of them.
    misfit: Misfit,
    lines: u64,
    /// All of them.
    hasher: Sha256,
    /// The last of them.
    last: Hash,
    /// The last of them, if it is sealed: lines may follow it.
    base: Option<ChainState>,
}

impl Region {
    fn new(misfit: Misfit) -> Self {
        Self { misfit, lines: 0, hasher: Sha256::new(), last: Hash::NONE, base: None }
    }

    fn add(&mut self, line: &[u8], hash: Hash, seal: Option<(u64, Hash)>) {
        self.lines = self.lines.saturating_add(1);
        self.hasher.update(line);
        self.last = hash;
        self.base = seal.map(|(seq, _)| ChainState { head: Some(hash), seq });
    }

    fn digest(&self) -> Hash {
        Hash::from_hasher(self.hasher.clone())
    }
}

/// The fields of a note that are needed.
#[derive(Deserialize)]
struct Note {
    kind: String,
    #[serde(rename = "note")]
    what: String,
    #[serde(default)]
    after: String,
    #[serde(default)]
    found: Option<String>,
}

impl Note {
    /// A note of the journal about what stands between a line of this state and the note.
    fn parse(line: &[u8], after: ChainState) -> Option<Self> {
        let head = after.head.unwrap_or(Hash::NONE).to_string();
        let note: Self = serde_json::from_slice(line).ok()?;
        (note.kind == "note" && note.after == head).then_some(note)
    }
}

impl ChainWalk {
    fn file(&mut self, path: &Path, file: &File) -> io::Result<()> {
        let mut reader = BufReader::with_capacity(1 << 18, file);
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            reader.read_until(b'\n', &mut line)?;
            if line.last() != Some(&b'\n') {
                self.found.unfinished = line.len() as u64;
                break;
            }
            self.line(&line, path, number);
        }
        Ok(())
    }

    fn line(&mut self, line: &[u8], file: &Path, number: u64) {
        let unfinished = std::mem::take(&mut self.found.unfinished);
        let hash = Hash::digest(line);
        let seal = read_seal(line);
        if self.region.is_none() && unfinished == 0 && self.takes(line, hash, seal) {
            return;
        }
        let misfit = |why| Misfit { file: file.to_owned(), line: number, why };
        let mut region = match self.region.take() {
            open if unfinished > 0 => {
                // No note speaks of bytes between two files.
                if let Some(region) = open {
                    self.report(region.misfit, None, None);
                }
                Region::new(misfit("the file before it ends in half a line".to_owned()))
            }
            None => Region::new(misfit(self.describe_break(seal))),
            Some(region) => match self.leave(region, line, hash, seal) {
                Some(region) => region,
                None => return,
            },
        };
        region.add(line, hash, seal);
        self.region = Some(region);
    }

    /// Takes a line that follows the one before. Returns false for one that does not.
    fn takes(&mut self, line: &[u8], hash: Hash, seal: Option<(u64, Hash)>) -> bool {
        match seal {
            None if self.found.lines == 0 && is_unsealed_version(line) => {
                self.found.old += 1;
                self.follow(hash, self.now.seq);
            }
            Some(seal) if self.now.is_followed_by(seal) || self.is_first(seal) => {
                self.count(seal.0);
                self.follow(hash, seal.0);
            }
            // A process was stopped just before the line feed.
            Some((seq, prev)) if self.closes_whole_line(line, seq, prev) => {
                self.found.lines -= 1;
                self.found.torn += 1;
                self.count(seq);
                self.follow(hash, seq);
            }
            _ => return false,
        }
        true
    }

    /// Leaves a region with this line, if it is what the journal noted of it, or follows its last line. Returns the region
    /// where neither is so.
    fn leave(
        &mut self,
        region: Region,
        line: &[u8],
        hash: Hash,
        seal: Option<(u64, Hash)>,
    ) -> Option<Region> {
        let Some((seq, prev)) = seal else { return Some(region) };
        if Some(seq) == self.now.next()
            && prev == region.last
            && let Some(note) = Note::parse(line, self.now)
        {
            let is_damage = note.found.is_some_and(|found| found == region.digest().to_string());
            match note.what.as_str() {
                "torn" if region.lines == 1 => self.found.torn += 1,
                "damaged" if is_damage => self.report(region.misfit, Some(seq), Some(seq)),
                _ => return Some(region),
            }
            self.count(seq);
            self.follow(hash, seq);
            return None;
        }
        match region.base {
            Some(base) if base.is_followed_by((seq, prev)) => {
                self.report(region.misfit, None, Some(base.seq));
                self.count(base.seq);
                self.follow(region.last, base.seq);
                self.count(seq);
                self.follow(hash, seq);
                None
            }
            _ => Some(region),
        }
    }

    fn closes_whole_line(&self, line: &[u8], seq: u64, prev: Hash) -> bool {
        self.found.lines > 0
            && seq == self.now.seq
            && Some(prev) == self.now.head
            && Note::parse(line, self.before).is_some_and(|note| note.what == "torn")
    }

    /// A chain whose beginning was taken away begins with its first line.
    fn is_first(&self, (seq, _): (u64, Hash)) -> bool {
        self.found.lines + self.found.old == 0 && seq > 1
    }

    fn count(&mut self, seq: u64) {
        if self.found.lines == 0 {
            self.found.first = seq;
        }
        self.found.lines += 1;
        self.found.last = seq;
    }

    fn follow(&mut self, hash: Hash, seq: u64) {
        self.before = self.now;
        self.now = ChainState { head: Some(hash), seq };
        if self.known == Some(hash) {
            self.found.known = Some(seq);
        }
    }

    fn report(&mut self, misfit: Misfit, noted_by: Option<u64>, goes_on: Option<u64>) {
        /// More than a person reads.
        const MOST: usize = 100;
        // One that was not noted is never the one that is left out: it decides.
        let is_needed = noted_by.is_none() && self.found.breaks.iter().all(|found| found.noted_by.is_some());
        if self.found.breaks.len() < MOST || is_needed {
            self.found.breaks.push(ChainBreak { misfit, noted_by, goes_on });
        } else {
            self.found.omitted_breaks = self.found.omitted_breaks.saturating_add(1);
        }
    }

    fn describe_break(&self, seal: Option<(u64, Hash)>) -> String {
        let next = self.now.seq.saturating_add(1);
        match seal {
            None => {
                "it has no seal: it was not written by this version of pinfold, or it was changed".to_owned()
            }
            Some((seq, _)) if seq > next => {
                format!("it is line {seq} of the chain, and {} before it are missing", seq - next)
            }
            Some((seq, _)) if seq < next => {
                format!("it is line {seq} of the chain, where line {next} belongs")
            }
            Some(_) => {
                "it follows another line than the one before it: that one was changed or replaced".to_owned()
            }
        }
    }

    fn end(mut self, files: &[(PathBuf, File)]) -> Verified {
        if let Some(region) = self.region.take() {
            self.report(region.misfit, None, None);
        }
        self.found.head = self.now.head.map(|head| head.to_string());
        if self.known.is_some() && self.found.known.is_none() {
            let why =
                "the head that was kept is in no line: lines at the end are missing or were changed, or it \
                       was put aside long ago"
                    .to_owned();
            let file = files.last().map(|(path, _)| path.clone()).unwrap_or_default();
            let line = self.found.lines + self.found.old + self.found.torn;
            self.report(Misfit { file, line, why }, None, None);
        }
        self.found
    }
}
