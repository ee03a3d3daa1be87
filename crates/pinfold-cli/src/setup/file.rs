//! Files of agents: read whole, replaced in one step.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use pinfold_sandbox::open_plain_through_links;
use tempfile::NamedTempFile;

use super::failure;
use crate::exit::Failure;

/// More than any settings file has.
const MAX_BYTES: u64 = 4 << 20;

/// Its text; `None` where there is none.
pub(crate) fn read(path: &Path) -> Result<Option<String>, Failure> {
    let file = match open_plain_through_links(path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(|e| failure(path, e))?,
    };
    let mut text = String::new();
    file.take(MAX_BYTES + 1).read_to_string(&mut text).map_err(|e| failure(path, e))?;
    if text.len() as u64 > MAX_BYTES {
        return Err(failure(path, "it is longer than settings are"));
    }
    Ok(Some(text))
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
