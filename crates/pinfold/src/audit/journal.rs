//! Journals, which take records. No record, no permit: a journal that cannot take a decision refuses the call.

use std::fs::File;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use super::record::Record;

/// Takes records, in order, for good.
pub trait Journal: Send + Sync {
    /// Takes one record. It has left this process when the call returns.
    ///
    /// # Errors
    /// When the record was not taken; the gate then refuses the call it is about.
    fn append(&self, record: &Record) -> io::Result<()>;

    /// Takes several, one behind the other.
    ///
    /// # Errors
    /// When one was not taken; those before it may have been.
    fn append_all(&self, records: &[Record]) -> io::Result<()> {
        records.iter().try_for_each(|record| self.append(record))
    }
}

/// One JSON object a line, appended to an open file by one write each, so that several processes can share it.
#[derive(Debug)]
pub struct JsonLines {
    file: File,
}

impl JsonLines {
    /// Appends to `file`, which has to be open for appending (`O_APPEND`).
    pub fn new(file: File) -> Self {
        Self { file }
    }
}

impl Journal for JsonLines {
    fn append(&self, record: &Record) -> io::Result<()> {
        let mut line = serde_json::to_vec(record)?;
        line.push(b'\n');
        // A second write could land behind somebody else's line, so half a line is an error, not a reason to go on.
        let written = (&self.file).write(&line)?;
        if written == line.len() { Ok(()) } else { Err(io::Error::from(io::ErrorKind::WriteZero)) }
    }
}

/// Keeps nothing. For embedders that keep their own record, and chosen by name.
#[derive(Debug, Clone, Copy)]
pub struct Discard;

impl Journal for Discard {
    fn append(&self, _: &Record) -> io::Result<()> {
        Ok(())
    }
}

/// Keeps the records in memory, for tests and for showing them in the same process.
#[derive(Debug, Default)]
pub struct Memory {
    records: Mutex<Vec<Record>>,
}

impl Memory {
    /// The records so far.
    pub fn records(&self) -> Vec<Record> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Journal for Memory {
    fn append(&self, record: &Record) -> io::Result<()> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner).push(record.clone());
        Ok(())
    }
}
