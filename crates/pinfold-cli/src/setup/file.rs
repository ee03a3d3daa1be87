//! Files of agents: read whole, replaced in one step.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use tempfile::NamedTempFile;

use super::failure;
use crate::exit::Failure;

/// More than any settings file has.
const MAX_BYTES: u64 = 4 << 20;

/// Its text; `None` where there is none.
pub(crate) fn read(path: &Path) -> Result<Option<String>, Failure> {
    match fs::metadata(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(failure(path, e)),
        Ok(there) if !there.is_file() => return Err(failure(path, "it is no file")),
        Ok(there) if there.len() > MAX_BYTES => return Err(failure(path, "it is longer than settings are")),
        Ok(_) => {}
    }
    fs::read_to_string(path).map(Some).map_err(|e| failure(path, e))
}

/// Puts a text in its place; who may read it stays as it is.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let failed = |e: io::Error| failure(path, e);
    let folder = path.parent().ok_or_else(|| failure(path, "it lies in no folder"))?;
    fs::create_dir_all(folder).map_err(failed)?;
    let mut beside = NamedTempFile::new_in(folder).map_err(failed)?;
    beside.write_all(text.as_bytes()).map_err(failed)?;
    if let Ok(there) = fs::metadata(path) {
        beside.as_file().set_permissions(there.permissions()).map_err(failed)?;
    }
    beside.as_file().sync_all().map_err(failed)?;
    beside.persist(path).map(drop).map_err(|e| failed(e.error))
}

/// Takes a file away that was ours alone.
pub(super) fn remove(path: &Path) -> Result<(), Failure> {
    fs::remove_file(path).map_err(|e| failure(path, e))
}
