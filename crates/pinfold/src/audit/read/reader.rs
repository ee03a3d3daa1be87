//! The lines of a record, one after the other and never all at once, over all its files.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Seek as _, SeekFrom};
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use pinfold_paths::Ambient;

use super::AuditLine;
use super::backwards::Backwards;
use super::time_search::TimeSearch;
use crate::audit::event::AuditEvent;
use crate::audit::ledger;

/// Reads what is there, and goes on from where it ended when it is asked again. Files that are put aside meanwhile are
/// followed.
#[derive(Debug)]
pub struct LogReader {
    of: LogSource,
    /// The position in each file that is there, by its device and inode: it keeps them when it is put aside.
    read: HashMap<(u64, u64), FilePosition>,
    /// Bytes at the end that were no whole line when it was read last.
    unfinished: u64,
}

/// The source.
#[derive(Debug)]
enum LogSource {
    /// A record with all its files.
    Record(PathBuf),
    /// One file.
    File(PathBuf),
}

/// The position in a file. The file is held open until another look finds it gone: its inode is given to no newer file,
/// which would count as read as far as this one was.
#[derive(Debug)]
struct FilePosition {
    held: File,
    at: ReadPosition,
}

#[derive(Debug, Clone, Copy)]
struct ReadPosition {
    bytes: u64,
    /// `None` where it was read from its end.
    lines: Option<u64>,
}

impl ReadPosition {
    const START: Self = Self { bytes: 0, lines: Some(0) };

    /// A position that was reached from the end of a file.
    fn from_end(bytes: u64) -> Self {
        Self { bytes, lines: (bytes == 0).then_some(0) }
    }
}

/// A line, read.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "nearly all are lines, one at a time")]
pub enum Read<'a> {
    /// The line as it is understood, and as it stands there.
    Line(AuditLine, &'a str),
    /// A line that no journal wrote.
    Damaged(Damage),
}

/// A line that cannot be what a journal wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Its file.
    pub file: PathBuf,
    /// Which line of it, from 1. `None` where the file was read from its end.
    pub line: Option<u64>,
    /// The position of the line, in bytes from the beginning.
    pub byte: u64,
    /// Why, in one clause.
    pub why: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (file, why) = (self.file.display(), &self.why);
        match self.line {
            Some(line) => write!(f, "{file}:{line}: {why}"),
            None => write!(f, "{file}: behind byte {}: {why}", self.byte),
        }
    }
}

impl LogReader {
    /// The record in a directory, with the files that were put aside. Nothing there is no error.
    pub fn open_record(_: &Ambient, directory: impl Into<PathBuf>) -> Self {
        Self::new(LogSource::Record(directory.into()))
    }

    /// One file.
    pub fn open_file(_: &Ambient, file: impl Into<PathBuf>) -> Self {
        Self::new(LogSource::File(file.into()))
    }

    fn new(of: LogSource) -> Self {
        Self { of, read: HashMap::new(), unfinished: 0 }
    }

    /// The bytes at the end of the record that were no whole line when it was read last: they were being written, or
    /// are what was left of a line that was cut.
    pub fn unfinished(&self) -> u64 {
        self.unfinished
    }

    /// Opens the files, in the order of the chain. Those that are there no more are forgotten.
    fn files(&mut self) -> io::Result<Vec<OpenFile>> {
        let opened = match &self.of {
            LogSource::Record(directory) => ledger::opened(directory)?,
            LogSource::File(path) => vec![(path.clone(), File::open(path)?)],
        };
        let files = opened.into_iter().map(|(path, file)| OpenFile::new(path, file));
        let files: Vec<OpenFile> = files.collect::<io::Result<_>>()?;
        self.read.retain(|identity, _| files.iter().any(|file| file.identity == *identity));
        Ok(files)
    }

    fn mark(&mut self, file: OpenFile, at: ReadPosition) {
        self.read.insert(file.identity, FilePosition { held: file.file, at });
    }

    /// Hands on whole lines from the end, the last one first, until `take` has enough. It costs what is read, however
    /// large the record is. All that is there counts as read then: [`Self::for_each`] goes on with what is written later.
    ///
    /// # Errors
    /// When a file cannot be read, or what `take` says.
    pub fn from_end<E: From<io::Error>>(
        &mut self,
        mut take: impl FnMut(Read<'_>) -> Result<ControlFlow<()>, E>,
    ) -> Result<(), E> {
        let mut enough = ControlFlow::Continue(());
        self.unfinished = 0;
        for (index, open) in self.files()?.into_iter().rev().enumerate() {
            let mut lines = Backwards::new(&open.file, open.size)?;
            let bytes = lines.end();
            if index == 0 {
                self.unfinished = open.size - bytes;
            }
            if enough.is_continue() {
                enough = last_lines(&open.path, &mut lines, &mut take)?;
            }
            self.mark(open, ReadPosition::from_end(bytes));
        }
        Ok(())
    }

    /// Marks as read the lines that were written before a moment: [`Self::for_each`] goes on with the first line from then on.
    /// Searched from the end, so that it costs what was written since, however large the record is.
    ///
    /// Lines stand in the order in which they were written, their times do so nearly: see
    /// [`TimeSearch`](super::time_search::TimeSearch).
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn skip_before(&mut self, since: Timestamp) -> io::Result<()> {
        let mut search = TimeSearch::new(since);
        for open in self.files()?.into_iter().rev() {
            let bytes = search.first_line(&mut Backwards::new(&open.file, open.size)?)?;
            self.mark(open, ReadPosition::from_end(bytes));
        }
        Ok(())
    }

    /// Hands on every whole line that was not read before, in the order of the chain. A line that was left unfinished
    /// and closed off by the next writer is passed over.
    ///
    /// # Errors
    /// When a file cannot be read, or what `take` says.
    pub fn for_each<E: From<io::Error>>(
        &mut self,
        mut take: impl FnMut(Read<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        for OpenFile { path, file, identity, size } in self.files()? {
            let known = self.read.entry(identity);
            let FilePosition { held, at } =
                known.or_insert_with(|| FilePosition { held: file, at: ReadPosition::START });
            if at.bytes < size {
                lines(&path, held, at, &mut take)?;
            }
            self.unfinished = size.saturating_sub(at.bytes);
        }
        Ok(())
    }
}

/// A file of a record as it is at this look.
struct OpenFile {
    path: PathBuf,
    file: File,
    identity: (u64, u64),
    size: u64,
}

impl OpenFile {
    fn new(path: PathBuf, file: File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        Ok(Self { path, identity: (metadata.dev(), metadata.ino()), size: metadata.len(), file })
    }
}

fn lines<E: From<io::Error>>(
    path: &Path,
    mut file: &File,
    at: &mut ReadPosition,
    take: &mut impl FnMut(Read<'_>) -> Result<(), E>,
) -> Result<(), E> {
    file.seek(SeekFrom::Start(at.bytes))?;
    let mut file = BufReader::with_capacity(1 << 18, file);
    let mut bytes = Vec::new();
    let mut suspect: Option<Damage> = None;
    while file.read_until(b'\n', &mut bytes)? > 0 {
        // Half a line is one that is being written.
        let Some(whole) = bytes.strip_suffix(b"\n") else { break };
        let byte = at.bytes;
        at.bytes += bytes.len() as u64;
        at.lines = at.lines.map(|lines| lines + 1);
        match parsed(whole) {
            Ok((line, text)) => {
                // A writer was stopped in the middle, and the next one says so.
                if let Some(damage) = suspect.take().filter(|_| !closes_off(&line)) {
                    take(Read::Damaged(damage))?;
                }
                take(Read::Line(line, text))?;
            }
            Err(why) => {
                let damage = Damage { file: path.to_owned(), line: at.lines, byte, why };
                if let Some(damage) = suspect.replace(damage) {
                    take(Read::Damaged(damage))?;
                }
            }
        }
        bytes.clear();
    }
    suspect.map_or(Ok(()), |damage| take(Read::Damaged(damage)))
}

/// The same from the end, until `take` has enough.
fn last_lines<E: From<io::Error>>(
    path: &Path,
    lines: &mut Backwards<'_>,
    take: &mut impl FnMut(Read<'_>) -> Result<ControlFlow<()>, E>,
) -> Result<ControlFlow<()>, E> {
    // Whether the line that follows says of this one that it was left unfinished.
    let mut closed_off = false;
    while let Some((byte, whole)) = lines.previous()? {
        let parsed = whole.as_deref().ok_or_else(|| TOO_LONG.to_owned()).and_then(parsed);
        let enough = match parsed {
            Ok((line, text)) => {
                closed_off = closes_off(&line);
                take(Read::Line(line, text))?
            }
            Err(_) if std::mem::take(&mut closed_off) => ControlFlow::Continue(()),
            Err(why) => take(Read::Damaged(Damage { file: path.to_owned(), line: None, byte, why }))?,
        };
        if enough.is_break() {
            return Ok(enough);
        }
    }
    Ok(ControlFlow::Continue(()))
}

const TOO_LONG: &str = "it is longer than any line of a record";

fn parsed(line: &[u8]) -> Result<(AuditLine, &str), String> {
    let text = std::str::from_utf8(line).map_err(|e| e.to_string())?;
    AuditLine::parse(line).map(|line| (line, text))
}

fn closes_off(line: &AuditLine) -> bool {
    matches!(&line.event, AuditEvent::Note(note) if note.note == "torn")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;
    use std::sync::Arc;

    use super::*;
    use crate::audit::{AuditEvent, NoteEvent, OutcomeEvent, Record};
    use crate::audit::{Journal as _, Ledger, Limits};

    fn record(ms: u64) -> Record {
        let kind = AuditEvent::Outcome(OutcomeEvent { end: "done".into(), ms, ..OutcomeEvent::default() });
        Record { id: Some(ms), ..Record::for_session(&Arc::from("s"), &Arc::from("main"), kind) }
    }

    /// The calls and the damages of what was not read before.
    fn rest(reader: &mut LogReader) -> (Vec<u64>, Vec<String>) {
        let (mut calls, mut damages) = (Vec::new(), Vec::new());
        reader
            .for_each(|read| {
                match read {
                    Read::Line(line, _) => calls.extend(line.id),
                    Read::Damaged(damage) => {
                        let name = damage.file.file_name().unwrap().to_string_lossy().into_owned();
                        damages.push(format!("{name}:{}", damage.line.unwrap_or(damage.byte)));
                    }
                }
                Ok::<(), io::Error>(())
            })
            .unwrap();
        (calls, damages)
    }

    #[test]
    fn lines_are_read_once_over_files_that_are_put_aside() {
        let bed = tempfile::tempdir().unwrap();
        let ambient = Ambient::claim();
        let mut reader = LogReader::open_record(&ambient, bed.path().join("record"));
        assert_eq!(rest(&mut reader), (vec![], vec![]));
        let limits = Limits { max_size: 2000, keep: 100 };
        let ledger = Ledger::open(&ambient, bed.path().join("record"), limits).unwrap();
        let mut expected = 0;
        for _ in 0..5 {
            for _ in 0..7 {
                ledger.append(&record(expected)).unwrap();
                expected += 1;
            }
            assert_eq!(rest(&mut reader), ((expected - 7..expected).collect(), vec![]));
        }
        let mut anew = LogReader::open_record(&ambient, bed.path().join("record"));
        assert_eq!(rest(&mut anew).0, (0..expected).collect::<Vec<_>>());
        assert!(ledger::files(ledger.directory()).unwrap().len() > 3);
    }

    /// A file system gives the inode of a file that was taken away to the next one that is made.
    #[test]
    fn a_new_file_is_not_taken_for_one_that_was_taken_away() {
        let bed = tempfile::tempdir().unwrap();
        let ambient = Ambient::claim();
        let ledger = Ledger::open(&ambient, bed.path(), Limits { max_size: 2000, keep: 1 }).unwrap();
        let mut reader = LogReader::open_record(&ambient, bed.path());
        for n in 0..200 {
            ledger.append(&record(n)).unwrap();
            assert_eq!(rest(&mut reader), (vec![n], vec![]));
        }
        assert!(reader.read.len() <= 2, "none is held that is not there");
    }

    #[test]
    fn what_is_damaged_is_told_and_hides_nothing() {
        let bed = tempfile::tempdir().unwrap();
        let line = |ms| serde_json::to_string(&record(ms)).unwrap();
        let torn = NoteEvent { note: "torn".into(), bytes: 7, ..NoteEvent::default() };
        let torn = Record::for_session(&Arc::from("journal"), &Arc::from("pinfold"), AuditEvent::Note(torn));
        let lines = [
            line(1),
            "{\"v\":2,\"kind".to_owned(),
            "nonsense".to_owned(),
            line(4),
            // Left unfinished, and closed off.
            "{\"v\":2,".to_owned(),
            serde_json::to_string(&torn).unwrap(),
            "\u{0}".to_owned(),
        ];
        let path = bed.path().join("r.jsonl");
        let mut text = (lines.join("\n") + "\n").into_bytes();
        text.extend(b"\xff\xfe\n");
        text.extend(line(9).as_bytes());
        fs::write(&path, text).unwrap();
        let mut reader = LogReader::open_file(&Ambient::claim(), &path);
        let damaged = ["r.jsonl:2", "r.jsonl:3", "r.jsonl:7", "r.jsonl:8"];
        assert_eq!(rest(&mut reader), (vec![1, 4], damaged.map(str::to_owned).to_vec()));
        // The half line at the end was being written.
        let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"\n!\n").unwrap();
        assert_eq!(rest(&mut reader), (vec![9], vec!["r.jsonl:10".to_owned()]));
    }

    /// The same from the end, at most so many lines: calls and damages, the last one first.
    fn last(reader: &mut LogReader, most: usize) -> (Vec<u64>, usize) {
        let (mut calls, mut damages) = (Vec::new(), 0);
        reader
            .from_end(|read| {
                match read {
                    Read::Line(line, _) => calls.extend(line.id),
                    Read::Damaged(_) => damages += 1,
                }
                let enough = calls.len() + damages >= most;
                Ok::<_, io::Error>(if enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            })
            .unwrap();
        (calls, damages)
    }

    #[test]
    fn the_newest_come_first_and_what_is_written_later_follows() {
        let bed = tempfile::tempdir().unwrap();
        let ambient = Ambient::claim();
        let ledger = Ledger::open(&ambient, bed.path(), Limits { max_size: 2000, keep: 100 }).unwrap();
        (0..40).for_each(|n| ledger.append(&record(n)).unwrap());
        let mut reader = LogReader::open_record(&ambient, bed.path());
        assert_eq!(last(&mut reader, 30), ((10..40).rev().collect(), 0), "over several files");
        assert_eq!(rest(&mut reader), (vec![], vec![]), "what is older counts as read");
        ledger.append(&record(40)).unwrap();
        assert_eq!(rest(&mut reader), (vec![40], vec![]));
        assert_eq!(last(&mut reader, usize::MAX).0.len(), 41);
        assert_eq!(last(&mut LogReader::open_record(&ambient, bed.path().join("none")), 9), (vec![], 0));
    }

    /// A line of this number, written so many seconds after the epoch.
    fn record_at(id: u64, second: i64) -> Record {
        Record { at: Timestamp::from_second(second).unwrap(), ..record(id) }
    }

    fn read_since(reader: &mut LogReader, second: i64) -> (Vec<u64>, Vec<String>) {
        reader.skip_before(Timestamp::from_second(second).unwrap()).unwrap();
        rest(reader)
    }

    #[test]
    fn lines_from_a_moment_on_are_found_over_files_that_are_put_aside() {
        let bed = tempfile::tempdir().unwrap();
        let ambient = Ambient::claim();
        let ledger = Ledger::open(&ambient, bed.path(), Limits { max_size: 2000, keep: 100 }).unwrap();
        (0..40).for_each(|n| ledger.append(&record_at(n, 100 + i64::try_from(n).unwrap())).unwrap());
        assert!(ledger::files(ledger.directory()).unwrap().len() > 3);
        for first in [0, 1, 7, 20, 38, 39, 40, 99] {
            let mut reader = LogReader::open_record(&ambient, bed.path());
            let found = read_since(&mut reader, 100 + i64::try_from(first).unwrap());
            assert_eq!(found, ((first..40).collect(), vec![]));
            assert_eq!(rest(&mut reader), (vec![], vec![]));
        }
        let mut reader = LogReader::open_record(&ambient, bed.path());
        reader.skip_before(Timestamp::from_second(138).unwrap()).unwrap();
        // Written while it is read, over a file that is put aside.
        (40..60).for_each(|n| ledger.append(&record_at(n, 0)).unwrap());
        assert_eq!(rest(&mut reader), ((38..60).collect(), vec![]));
        assert_eq!(
            read_since(&mut LogReader::open_record(&ambient, bed.path().join("none")), 0),
            (vec![], vec![])
        );
    }

    #[test]
    fn a_moment_is_found_among_damaged_lines_and_times_out_of_order() {
        let bed = tempfile::tempdir().unwrap();
        let path = bed.path().join("r.jsonl");
        let line = |id, second| serde_json::to_string(&record_at(id, second)).unwrap() + "\n";
        let older = |n: u64| (0..n).map(|_| line(7, 90)).collect::<String>();
        let text = |between: u64| {
            let lines = [&line(1, 90), "no line\n", &line(2, 100), "\u{0}\n", &line(3, 101), "{\"v\":2}\n"];
            (lines.concat() + &older(between) + &line(4, 102) + "{\"v\":2,\"ki").into_bytes()
        };
        let found = |between: u64, second| {
            fs::write(&path, text(between)).unwrap();
            let mut reader = LogReader::open_file(&Ambient::claim(), &path);
            let (ids, damages) = read_since(&mut reader, second);
            assert_eq!(reader.unfinished(), 10);
            (ids.into_iter().filter(|id| *id != 7).collect::<Vec<_>>(), damages.len())
        };
        assert_eq!(found(0, 100), (vec![2, 3, 4], 2), "damages behind the moment are told");
        assert_eq!(found(999, 100), (vec![2, 3, 4], 2), "older lines between are no end");
        assert_eq!(found(1000, 100), (vec![4], 0), "so many in a row are");
        assert_eq!(found(0, 103), (vec![], 0));
        assert_eq!(found(0, 0), (vec![1, 2, 3, 4], 3));
    }

    #[test]
    fn what_is_damaged_is_told_from_the_end_too() {
        let bed = tempfile::tempdir().unwrap();
        let path = bed.path().join("r.jsonl");
        let line = |ms| serde_json::to_string(&record(ms)).unwrap() + "\n";
        let torn = NoteEvent { note: "torn".into(), bytes: 7, ..NoteEvent::default() };
        let torn = Record::for_session(&Arc::from("journal"), &Arc::from("pinfold"), AuditEvent::Note(torn));
        let torn = serde_json::to_string(&torn).unwrap() + "\n";
        let text = [line(1), "{\"v\":2,\n".into(), torn, "nonsense\n".into(), "\n".into(), line(9)].concat();
        fs::write(&path, [text.as_bytes(), b"\xff\n{\"v\":2,\"ki"].concat()).unwrap();
        let mut reader = LogReader::open_file(&Ambient::claim(), &path);
        assert_eq!(last(&mut reader, usize::MAX), (vec![9, 1], 3), "but for what was closed off");
        assert_eq!(reader.unfinished(), 10, "half a line at the end");
        assert_eq!(last(&mut reader, 2), (vec![9], 1), "only as far as it is read");
    }

    #[test]
    fn the_newest_of_a_large_record_cost_little() {
        const GIBIBYTE: u64 = 1 << 30;
        let bed = tempfile::tempdir().unwrap();
        let path = bed.path().join("r.jsonl");
        // Nothing but a hole, which takes no room and would take seconds to read.
        let mut file = fs::File::create(&path).unwrap();
        file.set_len(GIBIBYTE).unwrap();
        file.seek(SeekFrom::End(0)).unwrap();
        for ms in 0..100 {
            file.write_all(format!("\n{}", serde_json::to_string(&record(ms)).unwrap()).as_bytes()).unwrap();
        }
        file.write_all(b"\n").unwrap();
        let mut reader = LogReader::open_file(&Ambient::claim(), &path);
        let begun = std::time::Instant::now();
        assert_eq!(last(&mut reader, 99).0.len(), 99);
        assert!(begun.elapsed() < std::time::Duration::from_millis(100), "{:?}", begun.elapsed());
        // All that is old counts as read, unread.
        let begun = std::time::Instant::now();
        let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        (0..1000).for_each(|n| {
            file.write_all((serde_json::to_string(&record_at(n, 0)).unwrap() + "\n").as_bytes()).unwrap();
        });
        file.write_all((serde_json::to_string(&record_at(5, 9)).unwrap() + "\n").as_bytes()).unwrap();
        let mut reader = LogReader::open_file(&Ambient::claim(), &path);
        assert_eq!(read_since(&mut reader, 9).0, [5]);
        assert!(begun.elapsed() < std::time::Duration::from_millis(500), "{:?}", begun.elapsed());
    }
}
