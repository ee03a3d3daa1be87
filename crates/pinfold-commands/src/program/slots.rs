//! Slots of names: `build.rs` puts the row of each name of the catalog into one of them, and the catalog finds it there again.

/// No row.
pub(crate) const EMPTY: u16 = u16::MAX;

/// Returns the slots in which a name of a list may stand, the likeliest first. `list`: the first row of the list. `count`: number
/// of slots, a power of two.
pub(crate) fn slots(list: u16, name: &str, count: usize) -> impl Iterator<Item = usize> {
    let first = hash(list, name);
    (0..count).map(move |step| first.wrapping_add(step) & count.wrapping_sub(1))
}

/// FNV-1a of the list and the name: names are short, and none is put in by a stranger.
fn hash(list: u16, name: &str) -> usize {
    const PRIME: usize = 0x0100_0193;
    let start = (0x811c_9dc5 ^ usize::from(list)).wrapping_mul(PRIME);
    name.bytes().fold(start, |hash, byte| (hash ^ usize::from(byte)).wrapping_mul(PRIME))
}
