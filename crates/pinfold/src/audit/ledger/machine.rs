//! The name of a machine: random, made once where the record is kept. It says nothing about the host.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Write as _};

use rustix::fs::OFlags;

use super::super::names::random;
use super::record_directory::RecordDirectory;

/// The file that holds it.
pub const NAME: &str = "machine";
/// More than a name takes.
const MAX_NAME_BYTES: u64 = 64;

/// The name of this machine. The first process that needs it makes it.
pub(super) fn name(directory: &RecordDirectory) -> io::Result<String> {
    if let Some(known) = known(directory)? {
        return Ok(known);
    }
    let fresh: String = random::<16>()?.iter().map(|byte| format!("{byte:02x}")).collect();
    let beside = format!("{NAME}.{fresh}");
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
    let (mut file, _) = directory.file(OsStr::new(&beside), flags)?;
    file.write_all(format!("{fresh}\n").as_bytes())?;
    file.sync_all()?;
    directory.name_once(&beside, NAME)?;
    // Another process may have been first.
    known(directory)?.ok_or_else(|| io::Error::other("the file `machine` holds no name; take it away"))
}

fn known(directory: &RecordDirectory) -> io::Result<Option<String>> {
    let file: File = match directory.file(OsStr::new(NAME), OFlags::RDONLY) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened?.0,
    };
    let mut text = String::new();
    file.take(MAX_NAME_BYTES).read_to_string(&mut text)?;
    let name = text.trim_end();
    let is_name = name.len() == 32 && name.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    Ok(is_name.then(|| name.to_owned()))
}
