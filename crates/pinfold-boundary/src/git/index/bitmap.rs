//! Compressed bitmaps of a split index.

use super::reader::ByteReader;

/// Reads one bitmap of at most `most` bits
/// ([EWAH](https://git-scm.com/docs/bitmap-format#_appendix_a_serialization_format_for_an_ewah_bitmap)).
pub(super) fn read(reader: &mut ByteReader<'_>, most: usize) -> Option<Vec<bool>> {
    let len = usize::try_from(reader.u32()?).ok().filter(|len| *len <= most)?;
    let words = reader.u32()?;
    let mut bits = Vec::new();
    let mut left = words;
    while left > 0 {
        let marker = reader.u64()?;
        left -= 1;
        let run = usize::try_from(marker >> 1 & 0xffff_ffff).ok()?;
        let literals = u32::try_from(marker >> 33).ok()?;
        // What lies beyond the length is of no entry; a run says it in one word.
        let room = most.checked_sub(bits.len())?.next_multiple_of(64);
        let added = run.checked_mul(64).filter(|added| *added <= room)?;
        bits.resize(bits.len() + added, marker & 1 == 1);
        left = left.checked_sub(literals)?;
        for _ in 0..literals {
            let word = reader.u64()?;
            if bits.len() > most {
                return None;
            }
            bits.extend((0..64).map(|bit| word >> bit & 1 == 1));
        }
    }
    // Where the last marker stands, for writing on.
    reader.u32()?;
    let beyond = bits.get(len..).unwrap_or_default();
    if beyond.contains(&true) {
        return None;
    }
    bits.truncate(len);
    Some(bits)
}
