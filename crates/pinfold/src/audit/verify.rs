//! Verification of the chain: every line still follows the one before.
//!
//! What it shows: that a line was changed, taken out, put in or moved, by the first one that does not follow. What it
//! cannot show by itself: that lines at the end are missing or were changed last, or that the whole chain was made
//! anew. A head that was kept elsewhere shows both: it is the hash of a line, and must be in the chain.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::seal::{Hash, read_seal};

/// A chain that holds.
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
}

/// The first line that does not follow the one before.
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
pub fn verify(files: &[(PathBuf, File)], known: Option<Hash>) -> io::Result<Result<Verified, Misfit>> {
    let mut walk = ChainWalk { known, ..ChainWalk::default() };
    for (path, file) in files {
        if let Err(misfit) = walk.file(path, file)? {
            return Ok(Err(misfit));
        }
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
    /// A line that does not follow, unless the next one says that it was left unfinished.
    suspect: Option<(Hash, Misfit)>,
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

/// The fields of a note that are needed.
#[derive(Deserialize)]
struct Note {
    kind: String,
    #[serde(rename = "note")]
    what: String,
    #[serde(default)]
    after: String,
}

impl ChainWalk {
    fn file(&mut self, path: &Path, file: &File) -> io::Result<Result<(), Misfit>> {
        let mut reader = BufReader::with_capacity(1 << 18, file);
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            reader.read_until(b'\n', &mut line)?;
            if line.last() != Some(&b'\n') {
                self.found.unfinished = line.len() as u64;
                break;
            }
            if let Err(misfit) = self.line(&line, path, number) {
                return Ok(Err(misfit));
            }
        }
        Ok(Ok(()))
    }

    fn line(&mut self, line: &[u8], file: &Path, number: u64) -> Result<(), Misfit> {
        let unfinished = std::mem::take(&mut self.found.unfinished);
        let misfit = |why: String| Misfit { file: file.to_owned(), line: number, why };
        if unfinished > 0 {
            return Err(misfit("the file before it ends in half a line".to_owned()));
        }
        let hash = Hash::of(line);
        let seal = read_seal(line);
        if let Some((torn, misfit)) = self.suspect.take() {
            return match (seal, self.now.next()) {
                (Some((seq, prev)), Some(next)) if seq == next && prev == torn && closes(line, self.now) => {
                    self.close(hash, seq);
                    Ok(())
                }
                _ => Err(misfit),
            };
        }
        match seal {
            None if self.found.lines == 0 => {
                self.found.old += 1;
                self.follow(hash, self.now.seq);
            }
            Some(seal) if self.now.is_followed_by(seal) || self.is_first(seal) => {
                self.count(seal.0);
                self.follow(hash, seal.0);
            }
            // Somebody was stopped just before the line feed.
            Some((seq, prev))
                if self.found.lines > 0
                    && seq == self.now.seq
                    && Some(prev) == self.now.head
                    && closes(line, self.before) =>
            {
                self.found.lines -= 1;
                self.close(hash, seq);
            }
            seal => self.suspect = Some((hash, misfit(self.why(seal)))),
        }
        Ok(())
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

    /// A line of this number says that the one before was left unfinished.
    fn close(&mut self, hash: Hash, seq: u64) {
        self.found.torn += 1;
        self.count(seq);
        self.follow(hash, seq);
    }

    fn why(&self, seal: Option<(u64, Hash)>) -> String {
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

    fn end(self, files: &[(PathBuf, File)]) -> Result<Verified, Misfit> {
        if let Some((_, misfit)) = self.suspect {
            return Err(misfit);
        }
        let mut found = self.found;
        found.head = self.now.head.map(|head| head.to_string());
        if self.known.is_some() && found.known.is_none() {
            let why = "the head that was kept is in no line: lines at the end are missing or were changed, or it \
                       was put aside long ago";
            let file = files.last().map(|(path, _)| path.clone()).unwrap_or_default();
            return Err(Misfit { file, line: found.lines + found.old + found.torn, why: why.to_owned() });
        }
        Ok(found)
    }
}

/// Returns true if a line is a note that the one before it was left unfinished, after a line of this state.
fn closes(line: &[u8], after: ChainState) -> bool {
    let head = after.head.unwrap_or(Hash::NONE).to_string();
    let note: Option<Note> = serde_json::from_slice(line).ok();
    note.is_some_and(|note| note.kind == "note" && note.what == "torn" && note.after == head)
}
