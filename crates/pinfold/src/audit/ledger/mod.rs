//! The journal of a machine: one chain of lines, written by many processes and threads at once.
//!
//! An append takes an advisory lock on the file, makes sure that it still knows its end (by size and identity; it
//! looks when another process has written), seals the line to the one before and writes it by one write. A line that
//! could not be written whole is taken back before the lock is let go: a full disk refuses a call, it does not break
//! the chain. The unfinished line of a process that was killed is closed off and noted, never merged with what comes
//! next. What stands at the end and follows no line (a block of NULs after a loss of power, a line of another program) is
//! noted with its hash, and the chain goes on behind the note: verification reports it, and tells it from later damage.
//!
//! Traps: nothing is flushed to the disk line by line, only at rotation: a machine that loses its power may lose the
//! last lines, and with them nothing says that they were there. And a chain shows that lines were changed, not by
//! which user: a user who can write the file can make a new chain, which only a head that is kept elsewhere tells from
//! the old one.

mod acknowledge;
mod machine;
mod record_directory;
mod tail;

#[cfg(test)]
mod tests;

use std::fs::{File, TryLockError};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pinfold_paths::Ambient;
use pinfold_policy::settings::RecordSettings;

use self::record_directory::{FileIdentity, RecordDirectory};
use self::tail::{ChainTail, Tail, TailStrictness};
use super::event::{AuditEvent, NoteEvent};
use super::journal::Journal;
use super::record::Record;
use super::seal::{Hash, seal};

pub use self::acknowledge::CannotAcknowledge;
pub use self::machine::NAME as MACHINE;
pub use self::record_directory::{RECORD, files, opened};

/// The limits of the record's size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// A file is put aside before it is larger than this, in bytes. A single line may be longer.
    pub max_size: u64,
    /// The number of files that are kept beside the one that is written.
    pub keep: u32,
}

impl Default for Limits {
    /// Some twenty thousand calls a file, and a hundred and fifty thousand in all.
    fn default() -> Self {
        Self { max_size: 16 << 20, keep: 8 }
    }
}

impl From<&RecordSettings> for Limits {
    fn from(says: &RecordSettings) -> Self {
        let usual = Self::default();
        Self {
            max_size: says.max_size.as_ref().map_or(usual.max_size, |size| size.value.0),
            keep: says.keep.as_ref().map_or(usual.keep, |keep| keep.value.0),
        }
    }
}

/// The longest wait for the lock. It is held for microseconds, and for some milliseconds at rotation: a process that
/// holds it longer has been stopped in the middle.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// The time for which a file that does not grow is taken for the one that is written.
const SEEN_FOR: Duration = Duration::from_millis(50);

/// The number of times that the file may turn out to be another one before something is wrong.
const MAX_TRIES: usize = 100;

/// The journal of a machine. May be shared by threads; processes share its files.
#[derive(Debug)]
pub struct Ledger {
    directory: PathBuf,
    limits: Limits,
    state: Mutex<Option<OpenLedgerFile>>,
}

/// The file that is written, and its end as it was last seen.
#[derive(Debug)]
struct OpenLedgerFile {
    directory: RecordDirectory,
    machine: String,
    file: File,
    identity: FileIdentity,
    /// The last time that it was seen to be the one that is written.
    seen: Instant,
    end: ChainEnd,
}

/// The end of a file, and of the chain with it.
#[derive(Debug, Clone, Copy)]
struct ChainEnd {
    size: u64,
    head: Hash,
    seq: u64,
}

impl Ledger {
    /// The journal in `directory`, which is made if it is missing. Opened at once, so that what is wrong with it is
    /// told before anything else happens.
    ///
    /// # Errors
    /// When the directory or the file cannot be used: it belongs to another user, or is a link.
    pub fn open(ambient: &Ambient, directory: impl Into<PathBuf>, limits: Limits) -> io::Result<Self> {
        let ledger = Self::with_limits(ambient, directory, limits);
        *ledger.state.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(OpenLedgerFile::new(&ledger.directory)?);
        Ok(ledger)
    }

    /// The same, opened with the first line.
    pub fn with_limits(_: &Ambient, directory: impl Into<PathBuf>, limits: Limits) -> Self {
        Self { directory: directory.into(), limits, state: Mutex::new(None) }
    }

    /// The file.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Appends objects to the chain, one behind the other.
    fn put(&self, mut objects: Vec<Vec<u8>>) -> io::Result<()> {
        // The state is whole between any two steps of its users.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..MAX_TRIES {
            let open = match state.as_mut() {
                Some(open) => open,
                None => state.insert(OpenLedgerFile::new(&self.directory)?),
            };
            match open.put(&mut objects, self.limits) {
                Ok(AppendOutcome::Done) => return Ok(()),
                // Put aside, by this process or another.
                Ok(AppendOutcome::Elsewhere) => *state = None,
                Err(error) => {
                    *state = None;
                    return Err(error);
                }
            }
        }
        Err(io::Error::other("the record is replaced all the time"))
    }
}

impl Journal for Ledger {
    fn append(&self, record: &Record) -> io::Result<()> {
        self.put(vec![object(record)?])
    }

    /// All of them by one write, or none.
    fn append_all(&self, records: &[Record]) -> io::Result<()> {
        if records.is_empty() {
            return Ok(());
        }
        self.put(records.iter().map(object).collect::<io::Result<_>>()?)
    }
}

fn object(record: &Record) -> io::Result<Vec<u8>> {
    /// The usual length of a line.
    const USUAL: usize = 1024;
    let mut object = Vec::with_capacity(USUAL);
    serde_json::to_writer(&mut object, record)?;
    Ok(object)
}

enum AppendOutcome {
    Done,
    /// The file is not the one that is written any more.
    Elsewhere,
}

/// Lets go of the lock by word: a child that was just forked may hold a copy of the descriptor.
struct Locked<'a>(&'a File);

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

impl OpenLedgerFile {
    fn new(directory: &Path) -> io::Result<Self> {
        let told =
            |e: io::Error| io::Error::new(e.kind(), format!("the record in `{}`: {e}", directory.display()));
        let opened = || {
            let directory = RecordDirectory::open(directory)?;
            let machine = machine::name(&directory)?;
            let (file, identity) = directory.record()?;
            // No file is that long: the end is looked for with the first line, under the lock.
            let end = ChainEnd { size: u64::MAX, head: Hash::NONE, seq: 0 };
            Ok(Self { directory, machine, file, identity, seen: Instant::now(), end })
        };
        opened().map_err(told)
    }

    fn put(&mut self, objects: &mut [Vec<u8>], limits: Limits) -> io::Result<AppendOutcome> {
        let Self { directory, machine, file, identity, seen, end } = self;
        let _locked = lock(file)?;
        let size = (&*file).seek(SeekFrom::End(0))?;
        // The process that puts the file aside writes that into it: a file that did not grow is still the one that is written,
        // unless another process took it away.
        if size != end.size || seen.elapsed() > SEEN_FOR {
            if !directory.is_written(*identity)? {
                return Ok(AppendOutcome::Elsewhere);
            }
            *seen = Instant::now();
        }
        if size != end.size {
            // A process looks closely once. Later it looks whenever another one has written: at the last line alone.
            let look = if end.size == u64::MAX { TailStrictness::Strict } else { TailStrictness::Quick };
            *end = ChainEnd::find(directory, file, size, machine, look)?;
        }
        let longer: usize = objects.iter().map(|object| object.len() + SEAL).sum();
        let longer = u64::try_from(longer + NOTE).unwrap_or(u64::MAX);
        if end.size > 0 && end.size.saturating_add(longer) > limits.max_size {
            let event = NoteEvent { note: "aside".into(), bytes: end.size, ..NoteEvent::default() };
            *end = end.append(file, machine, &mut [note(event)?])?;
            directory.put_aside(file, limits.keep)?;
            return Ok(AppendOutcome::Elsewhere);
        }
        *end = end.append(file, machine, objects)?;
        Ok(AppendOutcome::Done)
    }
}

impl ChainEnd {
    /// Finds the end of a file of this size. What was left unfinished there is closed off, what is damaged is noted.
    fn find(
        directory: &RecordDirectory,
        file: &File,
        size: u64,
        machine: &str,
        look: TailStrictness,
    ) -> io::Result<Self> {
        let Tail { chain, torn } = tail::read(file, size, look, || directory.previous_tail())?;
        let ChainTail { head, last, damage } = chain;
        let after = Some(last.hash.to_string());
        let event = match (damage, &torn) {
            (None, None) => return Ok(Self { size, head, seq: last.seq }),
            (None, Some(torn)) => {
                NoteEvent { note: "torn".into(), bytes: torn.bytes(), after, ..NoteEvent::default() }
            }
            (Some(mut damage), torn) => {
                if let Some(torn) = torn {
                    damage.add(torn.closed());
                }
                let (bytes, found) = damage.finish();
                NoteEvent {
                    note: "damaged".into(),
                    bytes,
                    after,
                    found: Some(found.to_string()),
                    ..NoteEvent::default()
                }
            }
        };
        let mut line = note(event)?;
        let head = torn.as_ref().map_or(head, |torn| Hash::digest(torn.closed()));
        let noted = Self { size, head, seq: last.seq }.sealed(&mut line, machine);
        if torn.is_some() {
            line.insert(0, b'\n');
        }
        write_all(file, size, &line)?;
        Ok(Self { size: size.saturating_add(length(&line)), ..noted })
    }

    /// Appends objects as lines. The end is another one then.
    fn append(self, file: &File, machine: &str, objects: &mut [Vec<u8>]) -> io::Result<Self> {
        let next = objects.iter_mut().fold(self, |end, object| end.sealed(object, machine));
        let size = match objects {
            [line] => write_all(file, self.size, line)?,
            lines => write_all(file, self.size, &lines.concat())?,
        };
        Ok(Self { size, ..next })
    }

    /// Seals an object to this end. What follows is sealed to the result.
    fn sealed(self, object: &mut Vec<u8>, machine: &str) -> Self {
        // After the highest number there is, which only a damaged record has, the chain does not hold.
        let seq = self.seq.saturating_add(1);
        seal(object, machine, seq, self.head);
        Self { head: Hash::digest(object), seq, ..self }
    }
}

/// Appends all of a text to a file of this size, or nothing. How long the file is then.
fn write_all(mut file: &File, size: u64, text: &[u8]) -> io::Result<u64> {
    let written = loop {
        match file.write(text) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            other => break other?,
        }
    };
    if written == text.len() {
        return Ok(size + length(text));
    }
    // Half a line is taken back, while nobody else can have written behind it. If that fails too, the next line
    // closes it off.
    file.set_len(size)?;
    Err(io::Error::from(io::ErrorKind::StorageFull))
}

fn length(text: &[u8]) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}

/// An event of the journal itself.
fn note(event: NoteEvent) -> io::Result<Vec<u8>> {
    let (journal, pinfold) = (Arc::from("journal"), Arc::from("pinfold"));
    object(&Record::for_session(&journal, &pinfold, AuditEvent::Note(event)))
}

/// The most that a seal adds to a line.
const SEAL: usize = 200;
/// The most that a note about the file takes.
const NOTE: usize = 500;

fn lock(file: &File) -> io::Result<Locked<'_>> {
    lock_within(file, LOCK_TIMEOUT)
}

fn lock_within(file: &File, timeout: Duration) -> io::Result<Locked<'_>> {
    const MAX_PAUSE: Duration = Duration::from_millis(5);
    let mut pause = Duration::from_micros(20);
    let mut since = None;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Locked(file)),
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) => {
                if since.get_or_insert_with(Instant::now).elapsed() > timeout {
                    let why = "another process holds the record and does not let go";
                    return Err(io::Error::new(io::ErrorKind::TimedOut, why));
                }
                std::thread::sleep(pause);
                pause = (pause * 2).min(MAX_PAUSE);
            }
        }
    }
}
