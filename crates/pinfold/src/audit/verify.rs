//! Verification of the chain: every line still follows the one before.
//!
//! What it shows: that a line was changed, taken out, put in or moved, by the first one that does not follow, and whether
//! the lines behind that one follow each other again. What the journal itself found at its end, and noted before it went
//! on, is told apart, and so is a break that a person acknowledged ([`Ledger::acknowledge`](super::Ledger::acknowledge)): by
//! a note that holds the hash of what stands there, so that it speaks for that break alone. What verification cannot show by itself: that lines at the end are missing or were changed last, or that the
//! whole chain was made anew. A head that was kept elsewhere shows both: it is the hash of a line, and must be in the
//! chain.

mod walk;

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Seek as _, SeekFrom};
use std::path::PathBuf;

use serde::Serialize;

use self::walk::ChainWalk;
use super::seal::Hash;

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
    /// The names of machines that lines carry, in the order in which they come: the first hundred. More than one is no break:
    /// the file with the name was changed or removed, or the directory was copied from another machine.
    pub machines: Vec<String>,
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
    /// Returns true if no break is left that a person has to look at. Each was acknowledged, or was noted by the journal, and
    /// the head that was kept elsewhere is of a line behind the note, which ties it and all around it down.
    pub fn holds(&self) -> bool {
        self.first_mismatch().is_none()
    }

    /// The first break that speaks against the chain.
    pub fn first_mismatch(&self) -> Option<&Mismatch> {
        let is_known = |noted_by: u64| self.known.is_some_and(|known| known >= noted_by);
        let speaks =
            |found: &&ChainBreak| found.acknowledged_by.is_none() && !found.noted_by.is_some_and(is_known);
        // Of those that are not listed nothing is known.
        let omitted = || self.breaks.last().filter(|_| self.omitted_breaks > 0);
        self.breaks.iter().find(speaks).or_else(omitted).map(|found| &found.mismatch)
    }

    /// The verified chain, or the first break that speaks against it.
    ///
    /// # Errors
    /// The first break.
    pub fn into_result(self) -> Result<Self, Mismatch> {
        match self.first_mismatch() {
            Some(mismatch) => Err(mismatch.clone()),
            None => Ok(self),
        }
    }
}

/// A place at which the chain is broken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChainBreak {
    /// The first line that does not follow.
    #[serde(flatten)]
    pub mismatch: Mismatch,
    /// The number of the line by which the journal noted what it found there, before it went on: its lines are tied to the
    /// part before the break, and to what was found. `None` for a break that the journal did not meet: someone else, or a
    /// disk, changed lines that had others behind them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noted_by: Option<u64>,
    /// The number of the first line behind the break from which on lines follow each other again, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumes_at: Option<u64>,
    /// The number of the line by which a person acknowledged the break: it holds the hash of what stands there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acknowledged_by: Option<u64>,
    /// The bytes of the break; `None` where lines are missing at the end, so that nothing can be acknowledged.
    #[serde(skip)]
    pub(super) evidence: Option<Evidence>,
}

/// The lines around a break and what lies between: the same for as long as none of it is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Evidence {
    /// The last line before it that follows.
    pub(super) after: Hash,
    /// All bytes between that line and those from which on lines follow each other again.
    pub(super) found: Hash,
    /// Their number.
    pub(super) bytes: u64,
}

/// A line that does not follow the one before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mismatch {
    /// Its file.
    pub file: PathBuf,
    /// Which line of it, from 1.
    pub line: u64,
    /// The error, in one clause.
    pub why: String,
}

impl fmt::Display for Mismatch {
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
    let mut walk = ChainWalk::new(known);
    for (path, file) in files {
        walk.file(path, file)?;
    }
    Ok(walk.end(files))
}

/// Walks along the last lines of a record: those in the last `most` bytes of its files, so that it takes the same time
/// however large the record is. The lines of the first of these files are counted from where the walk begins.
///
/// # Errors
/// When a file cannot be read.
pub fn verify_end(files: &[(PathBuf, File)], most: u64) -> io::Result<Verified> {
    let mut left = most;
    let mut starts = Vec::new();
    for (path, file) in files.iter().rev() {
        let size = file.metadata()?.len();
        let start = next_line(file, size.saturating_sub(left))?;
        starts.push((path, file, start));
        left = left.saturating_sub(size);
        if left == 0 {
            break;
        }
    }
    let is_all = starts.len() == files.len() && starts.last().is_none_or(|(_, _, start)| *start == 0);
    let mut walk = if is_all { ChainWalk::new(None) } else { ChainWalk::new_in_middle() };
    for (path, file, start) in starts.into_iter().rev() {
        walk.file_from(path, file, start)?;
    }
    Ok(walk.end(files))
}

/// The place of the first line that begins at this byte or behind it; the end of the file where none does.
fn next_line(mut file: &File, from: u64) -> io::Result<u64> {
    let Some(before) = from.checked_sub(1) else { return Ok(0) };
    file.seek(SeekFrom::Start(before))?;
    let skipped = BufReader::new(file).skip_until(b'\n')?;
    Ok(before.saturating_add(u64::try_from(skipped).unwrap_or(u64::MAX)))
}
