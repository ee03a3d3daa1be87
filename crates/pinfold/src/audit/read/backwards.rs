//! The lines of a file from its end, read in blocks: what is newest costs the same however large the file has become.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

/// Bytes read at once.
const BLOCK: u64 = 64 << 10;

/// The longest line that is read. A journal cuts what it writes to a small part of this.
const MAX_LINE_BYTES: u64 = 16 << 20;

/// A line and where it begins. `None` for one that is longer than any line of a record.
pub(in crate::audit) type LineAt = (u64, Option<Vec<u8>>);

/// The whole lines of a file that were not handed out yet, the last one first.
pub(in crate::audit) struct Backwards<'a> {
    file: &'a File,
    /// The end of the last of them: behind its line feed.
    end: u64,
    /// The block that was read last, and where it begins.
    block: Vec<u8>,
    at: u64,
}

impl<'a> Backwards<'a> {
    /// The lines in the first `size` bytes of a file. What stands behind the last line feed is no whole line.
    pub(in crate::audit) fn new(file: &'a File, size: u64) -> io::Result<Self> {
        let mut lines = Self { file, end: 0, block: Vec::new(), at: size };
        lines.end = lines.start_of_line(size)?;
        Ok(lines)
    }

    /// The end of the whole lines that were not handed out.
    pub(in crate::audit) fn end(&self) -> u64 {
        self.end
    }

    /// The last line that was not handed out, without its line feed.
    pub(in crate::audit) fn previous(&mut self) -> io::Result<Option<LineAt>> {
        let Some(end) = self.end.checked_sub(1) else { return Ok(None) };
        let start = self.start_of_line(end)?;
        let line = if end - start > MAX_LINE_BYTES { None } else { Some(self.bytes(start, end)?) };
        self.end = start;
        Ok(Some((start, line)))
    }

    /// The place behind the last line feed before `end`, or the beginning of the file.
    fn start_of_line(&mut self, end: u64) -> io::Result<u64> {
        let mut end = end;
        loop {
            let known = end.checked_sub(self.at).and_then(|len| self.block.get(..usize::try_from(len).ok()?));
            if let Some(at) = known.and_then(|bytes| bytes.iter().rposition(|byte| *byte == b'\n')) {
                return Ok(self.at + at as u64 + 1);
            }
            if known.is_some() {
                end = self.at;
            }
            if end == 0 {
                return Ok(0);
            }
            self.at = end.saturating_sub(BLOCK);
            self.block = read(self.file, self.at, end)?;
        }
    }

    fn bytes(&self, start: u64, end: u64) -> io::Result<Vec<u8>> {
        let index = |place: u64| usize::try_from(place.checked_sub(self.at)?).ok();
        let known = index(start).zip(index(end)).and_then(|(start, end)| self.block.get(start..end));
        known.map_or_else(|| read(self.file, start, end), |bytes| Ok(bytes.to_vec()))
    }
}

fn read(file: &File, start: u64, end: u64) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(end - start).map_err(io::Error::other)?];
    file.read_exact_at(&mut bytes, start)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn lines(text: &[u8]) -> (u64, Vec<(u64, Vec<u8>)>) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(text).unwrap();
        let mut backwards = Backwards::new(&file, text.len() as u64).unwrap();
        let end = backwards.end();
        let mut found = Vec::new();
        while let Some((at, line)) = backwards.previous().unwrap() {
            found.push((at, line.unwrap()));
        }
        (end, found)
    }

    /// The same, read from the beginning.
    fn expected(text: &[u8]) -> (u64, Vec<(u64, Vec<u8>)>) {
        let (mut at, mut found) = (0, Vec::new());
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            if let Some(whole) = line.strip_suffix(b"\n") {
                found.insert(0, (at, whole.to_vec()));
                at += line.len() as u64;
            }
        }
        (at, found)
    }

    #[test]
    fn lines_are_the_same_from_either_side() {
        let block = usize::try_from(BLOCK).unwrap();
        let long = |len: usize| [vec![b'x'; len], b"\n".to_vec()].concat();
        for text in [
            b"".to_vec(),
            b"\n".to_vec(),
            b"\n\n".to_vec(),
            b"no end".to_vec(),
            b"one\n".to_vec(),
            b"one\ntwo\nhalf".to_vec(),
            long(block - 1),
            long(block),
            long(block + 1),
            [long(3 * block), long(2), long(block - 4), b"\n".to_vec(), long(5 * block + 7)].concat(),
            [long(10), vec![b'y'; 2 * block]].concat(),
            (0..30_000).flat_map(|n| format!("line {n}\n").into_bytes()).collect(),
        ] {
            assert!(lines(&text) == expected(&text), "{} bytes", text.len());
        }
    }

    #[test]
    fn a_line_without_an_end_is_not_held_in_memory() {
        let mut file = tempfile::tempfile().unwrap();
        let size = MAX_LINE_BYTES * 64;
        file.set_len(size).unwrap();
        std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(size)).unwrap();
        file.write_all(b"\nlast\n").unwrap();
        let mut backwards = Backwards::new(&file, size + 6).unwrap();
        assert_eq!(backwards.previous().unwrap(), Some((size + 1, Some(b"last".to_vec()))));
        assert_eq!(backwards.previous().unwrap(), Some((0, None)));
        assert_eq!(backwards.previous().unwrap(), None);
    }
}
