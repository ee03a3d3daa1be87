//! The memory of a caller. Whatever is read there may be something else a moment later: each thing is read once, and
//! what was read is what is judged, shown and carried out.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use crate::sys::{self, Pid};

/// The longest path that the kernel takes, with its final NUL.
const PATH_MAX: usize = 4096;

/// A text that ends in NUL: a path, or what a link is to hold. None when it is empty or cannot be read.
pub(super) fn text(pid: Pid, address: u64) -> Option<OsString> {
    const PAGE: u64 = 4096;
    let mut text = Vec::with_capacity(256);
    let mut at = address;
    while text.len() < PATH_MAX {
        // Never across a page in one read: the next one may not be there, and the text may end before it.
        let mut part = [0u8; 256];
        let room = usize::try_from(PAGE - at % PAGE).ok()?.min(part.len());
        let read = sys::read_memory(pid, at, part.get_mut(..room)?).ok().filter(|n| *n > 0)?;
        let part = part.get(..read)?;
        if let Some(end) = part.iter().position(|b| *b == 0) {
            text.extend_from_slice(part.get(..end)?);
            return (!text.is_empty()).then(|| OsString::from_vec(text));
        }
        text.extend_from_slice(part);
        at += read as u64;
    }
    None
}

/// So many 64-bit words, all of them, in one look.
pub(super) fn words<const N: usize>(pid: Pid, address: u64) -> Option<[u64; N]> {
    let mut words = [[0u8; 8]; N];
    let wanted = words.as_flattened_mut();
    let read = sys::read_memory(pid, address, wanted).ok()?;
    (read == wanted.len()).then(|| words.map(u64::from_ne_bytes))
}
