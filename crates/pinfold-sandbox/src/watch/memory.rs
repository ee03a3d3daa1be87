//! The memory of a caller. It may change a moment later: each thing is read once, and the copy is judged, shown and
//! carried out.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

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

/// Reads two paths as [`path`] does, both in one call where they are as short as most are.
///
/// # Errors
/// As for [`path`].
pub(super) fn two_paths(pid: Pid, first: u64, second: u64) -> io::Result<(OsString, OsString)> {
    let (mut one, mut other) = ([0u8; PART], [0u8; PART]);
    let (one, other) = (within_page(first, &mut one)?, within_page(second, &mut other)?);
    // What could not be read is read once more, by itself, and fails there.
    let read = sys::read_memory_parts(pid, [(first, &mut *one), (second, &mut *other)]).unwrap_or(0);
    let both = read == one.len() + other.len();
    let text = |part: &[u8]| {
        part.split(|byte| *byte == 0).next().filter(|text| text.len() < part.len()).map(to_text)
    };
    match (text(one), text(other)) {
        (Some(one), Some(other)) if both => Ok((one, other)),
        _ => Ok((path(pid, first)?, path(pid, second)?)),
    }
}

/// Bytes that are read at a time.
const PART: usize = 256;

/// As much of a buffer as can be filled from an address on without crossing a page: the next page may be missing, and the text
/// may end before it.
fn within_page(address: u64, buffer: &mut [u8]) -> io::Result<&mut [u8]> {
    const PAGE: u64 = 4096;
    let room = usize::try_from(PAGE - address % PAGE).map_err(|_| fault())?.min(buffer.len());
    buffer.get_mut(..room).ok_or_else(fault)
}

fn to_text(bytes: &[u8]) -> OsString {
    OsStr::from_bytes(bytes).to_owned()
}

/// Reads a text that ends in NUL and has fewer than `most` bytes before it.
///
/// # Errors
/// `EFAULT` where there is no such memory, `ENAMETOOLONG` where no end is found in time.
pub(super) fn text(pid: Pid, address: u64, most: usize) -> io::Result<OsString> {
    let mut text = Vec::new();
    let mut at = address;
    while text.len() < most {
        let mut part = [0u8; PART];
        let read = sys::read_memory(pid, at, within_page(at, &mut part)?)?;
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
pub(super) fn read_words<const N: usize>(pid: Pid, address: u64) -> io::Result<[u64; N]> {
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
