//! The lines of a record, one after the other and never all at once, over all its files.

use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use pinfold_paths::Ambient;

use super::{Line, Says};
use crate::audit::ledger;

/// Reads what is there, and goes on from where it ended when it is asked again. Files that are put aside meanwhile are
/// followed.
#[derive(Debug)]
pub struct Reader {
    of: Of,
    /// How far each file was read, by its device and inode: it keeps them when it is put aside.
    read: HashMap<(u64, u64), Position>,
}

/// What is read.
#[derive(Debug)]
enum Of {
    /// A record with all its files.
    Record(PathBuf),
    /// One file.
    File(PathBuf),
}

#[derive(Debug, Clone, Copy, Default)]
struct Position {
    bytes: u64,
    lines: u64,
}

/// What comes of a line.
#[derive(Debug)]
pub enum Read<'a> {
    /// What it says, and how it stands there.
    Line(Line, &'a str),
    /// It cannot be what a journal wrote.
    Damaged(Damage),
}

/// A line that cannot be what a journal wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Its file.
    pub file: PathBuf,
    /// Which line of it, from 1.
    pub line: u64,
    /// Why, in one clause.
    pub why: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file.display(), self.line, self.why)
    }
}

impl Reader {
    /// The record in a directory, with the files that were put aside. Nothing there is no error.
    pub fn of_record(_: &Ambient, directory: impl Into<PathBuf>) -> Self {
        Self { of: Of::Record(directory.into()), read: HashMap::new() }
    }

    /// One file.
    pub fn of_file(_: &Ambient, file: impl Into<PathBuf>) -> Self {
        Self { of: Of::File(file.into()), read: HashMap::new() }
    }

    /// Hands on every whole line that was not read before, in the order of the chain. A line that was left unfinished
    /// and closed off by the next writer is passed over.
    ///
    /// # Errors
    /// When a file cannot be read, or what `take` says.
    pub fn each<E: From<io::Error>>(
        &mut self,
        mut take: impl FnMut(Read<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let files = match &self.of {
            Of::Record(directory) => ledger::opened(directory)?,
            Of::File(path) => vec![(path.clone(), File::open(path)?)],
        };
        for (path, file) in files {
            let metadata = file.metadata()?;
            let at = self.read.entry((metadata.dev(), metadata.ino())).or_default();
            if at.bytes < metadata.len() {
                lines(&path, file, at, &mut take)?;
            }
        }
        Ok(())
    }
}

fn lines<E: From<io::Error>>(
    path: &Path,
    mut file: File,
    at: &mut Position,
    take: &mut impl FnMut(Read<'_>) -> Result<(), E>,
) -> Result<(), E> {
    file.seek(SeekFrom::Start(at.bytes))?;
    let mut file = BufReader::with_capacity(1 << 18, file);
    let mut bytes = Vec::new();
    let mut suspect: Option<Damage> = None;
    while file.read_until(b'\n', &mut bytes)? > 0 {
        // Half a line is one that is being written.
        let Some(whole) = bytes.strip_suffix(b"\n") else { break };
        at.bytes += bytes.len() as u64;
        at.lines += 1;
        match std::str::from_utf8(whole).map_err(|e| e.to_string()).and_then(|text| parsed(text)) {
            Ok((line, text)) => {
                // Somebody was stopped in the middle, and the next one says so.
                if let Some(damage) = suspect.take().filter(|_| !closes_off(&line)) {
                    take(Read::Damaged(damage))?;
                }
                take(Read::Line(line, text))?;
            }
            Err(why) => {
                let damage = Damage { file: path.to_owned(), line: at.lines, why };
                if let Some(damage) = suspect.replace(damage) {
                    take(Read::Damaged(damage))?;
                }
            }
        }
        bytes.clear();
    }
    suspect.map_or(Ok(()), |damage| take(Read::Damaged(damage)))
}

fn parsed(text: &str) -> Result<(Line, &str), String> {
    Line::parse(text.as_bytes()).map(|line| (line, text))
}

fn closes_off(line: &Line) -> bool {
    matches!(&line.says, Says::Note(note) if note.note == "torn")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write as _;
    use std::sync::Arc;

    use super::*;
    use crate::audit::record::{NoteTold, OutcomeTold, Record, RecordKind};
    use crate::audit::{Journal as _, Ledger, Limits};

    fn some(ms: u64) -> Record {
        let kind = RecordKind::Outcome(OutcomeTold { end: "done", ms, ..OutcomeTold::default() });
        Record { id: Some(ms), ..Record::of_session(&Arc::from("s"), &Arc::from("main"), kind) }
    }

    /// The calls and the damages of what was not read before.
    fn rest(reader: &mut Reader) -> (Vec<u64>, Vec<String>) {
        let (mut calls, mut damages) = (Vec::new(), Vec::new());
        reader
            .each(|read| {
                match read {
                    Read::Line(line, _) => calls.extend(line.id),
                    Read::Damaged(damage) => {
                        let name = damage.file.file_name().unwrap().to_string_lossy().into_owned();
                        damages.push(format!("{name}:{}", damage.line));
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
        let mut reader = Reader::of_record(&ambient, bed.path().join("record"));
        assert_eq!(rest(&mut reader), (vec![], vec![]));
        let limits = Limits { max_size: 2000, keep: 100 };
        let ledger = Ledger::open(&ambient, bed.path().join("record"), limits).unwrap();
        let mut expected = 0;
        for _ in 0..5 {
            for _ in 0..7 {
                ledger.append(&some(expected)).unwrap();
                expected += 1;
            }
            assert_eq!(rest(&mut reader), ((expected - 7..expected).collect(), vec![]));
        }
        let mut anew = Reader::of_record(&ambient, bed.path().join("record"));
        assert_eq!(rest(&mut anew).0, (0..expected).collect::<Vec<_>>());
        assert!(ledger::files(ledger.directory()).unwrap().len() > 3);
    }

    #[test]
    fn what_is_damaged_is_told_and_hides_nothing() {
        let bed = tempfile::tempdir().unwrap();
        let line = |ms| serde_json::to_string(&some(ms)).unwrap();
        let torn = NoteTold { note: "torn", bytes: 7, after: None };
        let torn = Record::of_session(&Arc::from("journal"), &Arc::from("pinfold"), RecordKind::Note(torn));
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
        let mut reader = Reader::of_file(&Ambient::claim(), &path);
        let damaged = ["r.jsonl:2", "r.jsonl:3", "r.jsonl:7", "r.jsonl:8"];
        assert_eq!(rest(&mut reader), (vec![1, 4], damaged.map(str::to_owned).to_vec()));
        // The half line at the end was being written.
        let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"\n!\n").unwrap();
        assert_eq!(rest(&mut reader), (vec![9], vec!["r.jsonl:10".to_owned()]));
    }
}
