//! The lines of the record, one after the other, never all at once.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use pinfold::audit::ledger;
use serde_json::Value;

use super::unreadable;
use crate::exit::Failure;

/// A line, as it stands and as it is understood.
pub(super) struct Line {
    pub(super) text: String,
    pub(super) record: Value,
}

/// Reads what is there, and goes on from where it ended.
pub(super) struct Reader {
    directory: PathBuf,
    /// How far each file was read, by its device and inode: a file keeps them when it is put aside.
    read: std::collections::HashMap<(u64, u64), u64>,
}

impl Reader {
    pub(super) fn open(directory: &Path) -> Self {
        Self { directory: directory.to_owned(), read: std::collections::HashMap::new() }
    }

    /// Hands on every whole line that was not read before. A line that cannot be read is passed over: `verify` tells
    /// of it.
    pub(super) fn each(&mut self, mut take: impl FnMut(&Line) -> Result<(), Failure>) -> Result<(), Failure> {
        use std::os::unix::fs::MetadataExt as _;
        for path in ledger::files(&self.directory).map_err(unreadable)? {
            let mut file = File::open(&path).map_err(unreadable)?;
            let metadata = file.metadata().map_err(unreadable)?;
            let at = self.read.entry((metadata.dev(), metadata.ino())).or_insert(0);
            if *at >= metadata.len() {
                continue;
            }
            file.seek(SeekFrom::Start(*at)).map_err(unreadable)?;
            let mut file = BufReader::with_capacity(1 << 20, file);
            let mut bytes = Vec::new();
            while file.read_until(b'\n', &mut bytes).map_err(unreadable)? > 0 {
                // Half a line is one that is being written.
                let Some(whole) = bytes.strip_suffix(b"\n") else { break };
                if let (Ok(text), Ok(record)) = (std::str::from_utf8(whole), serde_json::from_slice(whole)) {
                    take(&Line { text: text.to_owned(), record })?;
                }
                *at += bytes.len() as u64;
                bytes.clear();
            }
        }
        Ok(())
    }
}
