//! The memory of a caller. It may change a moment later: each thing is read once, and the copy is judged, shown and
//! carried out.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;

use crate::sys::{self, Pid};

/// The longest path that the kernel takes, with its final NUL.
const PATH_MAX: usize = 4096;

fn fault() -> io::Error {
    io::Error::from_raw_os_error(libc::EFAULT)
}

/// Reads a path, or what a symbolic link is to hold. It may be empty.
///
/// # Errors
/// `EFAULT` where there is no such memory, `ENAMETOOLONG` where no end is found within `PATH_MAX` bytes.
pub(super) fn path(pid: Pid, address: u64) -> io::Result<OsString> {
    text(pid, address, PATH_MAX)
}

/// Reads a text that ends in NUL and has fewer than `most` bytes before it.
///
/// # Errors
/// `EFAULT` where there is no such memory, `ENAMETOOLONG` where no end is found in time.
pub(super) fn text(pid: Pid, address: u64, most: usize) -> io::Result<OsString> {
    const PAGE: u64 = 4096;
    let mut text = Vec::with_capacity(256);
    let mut at = address;
    while text.len() < most {
        // Never across a page in one read: the next page may be missing, and the text may end before it.
        let mut part = [0u8; 256];
        let room = usize::try_from(PAGE - at % PAGE).map_err(|_| fault())?.min(part.len());
        let read = sys::read_memory(pid, at, part.get_mut(..room).ok_or_else(fault)?)?;
        let part = part.get(..read).filter(|part| !part.is_empty()).ok_or_else(fault)?;
        if let Some(end) = part.iter().position(|b| *b == 0) {
            text.extend_from_slice(part.get(..end).unwrap_or_default());
            if text.len() >= most {
                break;
            }
            return Ok(OsString::from_vec(text));
        }
        text.extend_from_slice(part);
        at = at.wrapping_add(read as u64);
    }
    Err(io::Error::from_raw_os_error(libc::ENAMETOOLONG))
}

/// Reads 64-bit words, all of them in one look.
///
/// # Errors
/// `EFAULT` where not all of them are there.
pub(super) fn words<const N: usize>(pid: Pid, address: u64) -> io::Result<[u64; N]> {
    let mut words = [[0u8; 8]; N];
    let wanted = words.as_flattened_mut();
    let read = sys::read_memory(pid, address, wanted)?;
    if read == wanted.len() { Ok(words.map(u64::from_ne_bytes)) } else { Err(fault()) }
}

/// Reads exactly `len` bytes.
///
/// # Errors
/// `EFAULT` where not all of them are there.
pub(super) fn bytes(pid: Pid, address: u64, len: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; len];
    let read = if len == 0 { 0 } else { sys::read_memory(pid, address, &mut bytes)? };
    if read == len { Ok(bytes) } else { Err(fault()) }
}
