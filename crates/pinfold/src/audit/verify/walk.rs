//! The walk along a chain: line by line, with what is known of the lines before.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use super::{ChainBreak, Evidence, Mismatch, Verified};
use crate::audit::event::ACKNOWLEDGED;
use crate::audit::seal::{Hash, is_unsealed_version, read_machine, read_seal};

/// A walk along a chain.
#[derive(Default)]
pub(super) struct ChainWalk {
    found: Verified,
    known: Option<Hash>,
    /// The hash and number of the last line that follows.
    now: ChainState,
    /// The same before that line.
    before: ChainState,
    /// Lines that do not follow, unless the next one says what they are.
    region: Option<Region>,
    /// Half a line that ends the file before, if it is followed by another file.
    half: Option<Vec<u8>>,
    /// True while no sealed line was met, where the walk does not begin with the first line.
    is_before_the_first: bool,
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

    fn hash(self) -> Hash {
        self.head.unwrap_or(Hash::NONE)
    }

    fn is_followed_by(self, (seq, prev): (u64, Hash)) -> bool {
        Some(seq) == self.next() && prev == self.hash()
    }
}

/// Lines behind the last one that follows.
struct Region {
    /// The first of them.
    mismatch: Mismatch,
    lines: u64,
    /// All of them.
    hasher: Sha256,
    /// All of them, with half a line before them at the end of another file.
    evidence: Sha256,
    bytes: u64,
    /// The last of them.
    last: Hash,
    /// The last of them, if it is sealed: lines may follow it.
    base: Option<ChainState>,
}

impl Region {
    fn new(mismatch: Mismatch, half: &[u8]) -> Self {
        let evidence = Sha256::new_with_prefix(half);
        let bytes = length(half);
        Self { mismatch, lines: 0, hasher: Sha256::new(), evidence, bytes, last: Hash::NONE, base: None }
    }

    fn add(&mut self, line: &[u8], hash: Hash, seal: Option<(u64, Hash)>) {
        self.lines = self.lines.saturating_add(1);
        self.hasher.update(line);
        self.evidence.update(line);
        self.bytes = self.bytes.saturating_add(length(line));
        self.last = hash;
        self.base = seal.map(|(seq, _)| ChainState { head: Some(hash), seq });
    }

    fn digest(&self) -> Hash {
        Hash::from_hasher(self.hasher.clone())
    }

    /// The break that it is, behind a line of this state.
    fn into_break(self, after: ChainState) -> ChainBreak {
        let evidence =
            Evidence { after: after.hash(), found: Hash::from_hasher(self.evidence), bytes: self.bytes };
        ChainBreak {
            mismatch: self.mismatch,
            noted_by: None,
            resumes_at: None,
            acknowledged_by: None,
            evidence: Some(evidence),
        }
    }
}

fn length(bytes: &[u8]) -> u64 {
    u64::try_from(bytes.len()).unwrap_or(u64::MAX)
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
    fn parse(line: &[u8]) -> Option<Self> {
        let note: Self = serde_json::from_slice(line).ok()?;
        (note.kind == "note").then_some(note)
    }

    /// A note of the journal about what stands between a line of this state and the note.
    fn parse_after(line: &[u8], after: ChainState) -> Option<Self> {
        Self::parse(line).filter(|note| note.after == after.hash().to_string())
    }

    /// A note by which a person acknowledged a break. Nearly all lines are none, and are not parsed.
    fn parse_acknowledgement(line: &[u8]) -> Option<Self> {
        // A journal writes fields without spaces, and within a text quotes are escaped.
        const FIELD: &[u8] = b"\"note\":\"acknowledged\"";
        line.windows(FIELD.len()).any(|bytes| bytes == FIELD).then_some(())?;
        Self::parse(line).filter(|note| note.what == ACKNOWLEDGED)
    }

    /// Returns true if it speaks of these bytes at this place.
    fn acknowledges(&self, evidence: &Evidence) -> bool {
        self.after == evidence.after.to_string() && self.found == Some(evidence.found.to_string())
    }
}

impl ChainWalk {
    /// A walk from the first line on. `known` is a head that was kept elsewhere.
    pub(super) fn new(known: Option<Hash>) -> Self {
        Self { known, ..Self::default() }
    }

    /// A walk that begins with a line in the middle.
    pub(super) fn new_in_middle() -> Self {
        Self { is_before_the_first: true, ..Self::default() }
    }

    pub(super) fn file(&mut self, path: &Path, file: &File) -> io::Result<()> {
        self.file_from(path, file, 0)
    }

    /// Goes on with a file, from the line on that begins at this byte.
    pub(super) fn file_from(&mut self, path: &Path, mut file: &File, start: u64) -> io::Result<()> {
        file.seek(SeekFrom::Start(start))?;
        let mut reader = BufReader::with_capacity(1 << 18, file);
        let mut line = Vec::new();
        for number in 1.. {
            line.clear();
            reader.read_until(b'\n', &mut line)?;
            if line.last() != Some(&b'\n') {
                // Files without a line may follow.
                if !line.is_empty() {
                    self.found.unfinished = length(&line);
                    self.half.get_or_insert_default().append(&mut line);
                }
                break;
            }
            self.line(&line, path, number);
        }
        Ok(())
    }

    fn line(&mut self, line: &[u8], file: &Path, number: u64) {
        self.found.unfinished = 0;
        let half = self.half.take();
        let hash = Hash::digest(line);
        let seal = read_seal(line);
        self.note_machine(line);
        if self.is_before_the_first {
            if let Some((seq, _)) = seal {
                self.is_before_the_first = false;
                self.count(seq);
                self.follow(hash, seq);
            }
            return;
        }
        if self.region.is_none() && half.is_none() && self.takes(line, hash, seal) {
            self.acknowledge(line, seal);
            return;
        }
        let mismatch = |why| Mismatch { file: file.to_owned(), line: number, why };
        let mut region = match (self.region.take(), half) {
            (open, Some(half)) => {
                // No note of the journal speaks of bytes between two files.
                if let Some(region) = open {
                    self.report(region.into_break(self.now));
                }
                Region::new(mismatch("the file before it ends in half a line".to_owned()), &half)
            }
            (None, None) => Region::new(mismatch(self.describe_break(seal)), &[]),
            (Some(region), None) => {
                let Some(region) = self.leave(region, line, hash, seal) else {
                    self.acknowledge(line, seal);
                    return;
                };
                region
            }
        };
        region.add(line, hash, seal);
        self.region = Some(region);
    }

    /// Notes the name of the machine in a line.
    fn note_machine(&mut self, line: &[u8]) {
        /// More than a person reads.
        const MAX_LISTED: usize = 100;
        let Some(name) = read_machine(line) else { return };
        let machines = &mut self.found.machines;
        if machines.len() < MAX_LISTED && machines.iter().all(|known| known != name) {
            machines.push(name.to_owned());
        }
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
        let follows = Some(seq) == self.now.next() && prev == region.last;
        let note = if follows { Note::parse_after(line, self.now) } else { None };
        match note.as_ref().map(|note| (note.what.as_str(), note.found.as_deref())) {
            Some(("torn", _)) if region.lines == 1 => {
                self.found.torn += 1;
                self.count(seq);
                self.follow(hash, seq);
                return None;
            }
            Some(("damaged", Some(found))) if found == region.digest().to_string() => {
                let noted = region.into_break(self.now);
                self.report(ChainBreak { noted_by: Some(seq), resumes_at: Some(seq), ..noted });
                self.count(seq);
                self.follow(hash, seq);
                return None;
            }
            _ => {}
        }
        match region.base {
            Some(base) if base.is_followed_by((seq, prev)) => {
                let last = region.last;
                self.report(ChainBreak { resumes_at: Some(base.seq), ..region.into_break(self.now) });
                self.count(base.seq);
                self.follow(last, base.seq);
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
            && Note::parse_after(line, self.before).is_some_and(|note| note.what == "torn")
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

    /// Marks the breaks so far that a line of the chain acknowledges.
    fn acknowledge(&mut self, line: &[u8], seal: Option<(u64, Hash)>) {
        if self.found.breaks.is_empty() {
            return;
        }
        let Some(((seq, _), note)) = seal.zip(Note::parse_acknowledgement(line)) else { return };
        for found in &mut self.found.breaks {
            if found.evidence.as_ref().is_some_and(|evidence| note.acknowledges(evidence)) {
                found.acknowledged_by.get_or_insert(seq);
            }
        }
    }

    fn report(&mut self, found: ChainBreak) {
        /// More than a person reads.
        const MAX_LISTED: usize = 100;
        // One that was not noted is never the one that is left out: it decides.
        let is_needed =
            found.noted_by.is_none() && self.found.breaks.iter().all(|found| found.noted_by.is_some());
        if self.found.breaks.len() < MAX_LISTED || is_needed {
            self.found.breaks.push(found);
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

    pub(super) fn end(mut self, files: &[(PathBuf, File)]) -> Verified {
        if let Some(region) = self.region.take() {
            self.report(region.into_break(self.now));
        }
        self.found.head = self.now.head.map(|head| head.to_string());
        if self.known.is_some() && self.found.known.is_none() {
            let why =
                "the head that was kept is in no line: lines at the end are missing or were changed, or it \
                       was put aside long ago"
                    .to_owned();
            let file = files.last().map(|(path, _)| path.clone()).unwrap_or_default();
            let line = self.found.lines + self.found.old + self.found.torn;
            let mismatch = Mismatch { file, line, why };
            self.report(ChainBreak {
                mismatch,
                noted_by: None,
                resumes_at: None,
                acknowledged_by: None,
                evidence: None,
            });
        }
        self.found
    }
}
