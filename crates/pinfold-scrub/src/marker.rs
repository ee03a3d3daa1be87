//! The marker that stands in place of a secret: `[REDACTED:kind]`.
//!
//! The promise: a marker is never looked into and never looked across, so that scrubbing twice is scrubbing once.

use std::ops::Range;

const OPEN: &[u8] = b"[REDACTED:";

/// The longest name of a kind that is read as one.
const MAX_KIND_LEN: usize = 32;

/// The longest marker.
pub(crate) const MAX_LEN: usize = OPEN.len() + MAX_KIND_LEN + 1;

/// A marker in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker<'a> {
    /// Position in the text, in bytes.
    pub range: Range<usize>,
    /// The kind it names, which need not be one that is known here.
    pub kind: &'a str,
}

/// Returns the markers in a text, in their order. Writing such a text back would destroy the secrets that they replace.
pub fn markers(text: &str) -> impl Iterator<Item = Marker<'_>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let start = from + text.get(from..)?.find('[')?;
            from = start + 1;
            let rest = text.get(start..)?;
            if let MarkerMatch::Yes(len) = detect(rest.as_bytes(), true) {
                from = start + len;
                return Some(Marker { range: start..from, kind: rest.get(OPEN.len()..len - 1)? });
            }
        }
    })
}

/// Result of looking for a marker at a position.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum MarkerMatch {
    Yes(usize),
    No,
    /// So far it could be one.
    Unknown,
}

/// Looks at the beginning of `rest`. Unless it is the `last` of the text, more may follow.
pub(crate) fn detect(rest: &[u8], last: bool) -> MarkerMatch {
    let unknown = if last { MarkerMatch::No } else { MarkerMatch::Unknown };
    if rest.len() < OPEN.len() {
        return if OPEN.starts_with(rest) { unknown } else { MarkerMatch::No };
    }
    let Some(name) = rest.strip_prefix(OPEN) else { return MarkerMatch::No };
    let len = name.iter().take(MAX_KIND_LEN + 1).take_while(|byte| is_of_a_kind(**byte)).count();
    if len > MAX_KIND_LEN {
        return MarkerMatch::No;
    }
    match name.get(len) {
        Some(b']') if len > 0 => MarkerMatch::Yes(OPEN.len() + len + 1),
        Some(_) => MarkerMatch::No,
        None => unknown,
    }
}

/// Returns `true` if the text up to here ends with a marker.
pub(crate) fn ends(before: &[u8]) -> bool {
    let Some(before) = before.strip_suffix(b"]") else { return false };
    let len = before.iter().rev().take(MAX_KIND_LEN + 1).take_while(|byte| is_of_a_kind(**byte)).count();
    let before = before.get(..before.len() - len).unwrap_or_default();
    (1..=MAX_KIND_LEN).contains(&len) && before.ends_with(OPEN)
}

/// Returns `true` if the text up to here ends in the middle of a marker, or of a possible one.
pub(crate) fn is_inside(before: &[u8]) -> bool {
    let len = before.iter().rev().take(MAX_KIND_LEN).take_while(|byte| is_of_a_kind(**byte)).count();
    before.get(..before.len() - len).unwrap_or_default().ends_with(OPEN)
}

pub(crate) fn write(kind: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(OPEN);
    out.extend_from_slice(kind.as_bytes());
    out.push(b']');
}

fn is_of_a_kind(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_are_found_and_what_only_looks_so_is_not() {
        let text = "[[REDACTED:jwt] [REDACTED:] [REDACTED:A] [REDACTED:npm-token][REDACTED:x";
        let found: Vec<_> = markers(text).map(|marker| (marker.range.start, marker.kind)).collect();
        assert_eq!(found, [(1, "jwt"), (41, "npm-token")]);
    }

    #[test]
    fn a_marker_that_is_cut_is_not_known_until_the_rest_has_come() {
        let marker = b"[REDACTED:jwt]";
        for cut in 0..marker.len() {
            assert_eq!(detect(&marker[..cut], false), MarkerMatch::Unknown, "{cut}");
            assert_eq!(detect(&marker[..cut], true), MarkerMatch::No, "{cut}");
        }
        assert_eq!(detect(marker, false), MarkerMatch::Yes(marker.len()));
        assert!(ends(marker) && !ends(b"REDACTED:jwt]") && !ends(b"[REDACTED:]"));
        assert!(is_inside(b"x[REDACTED:") && is_inside(b"[REDACTED:npm-"));
        assert!(!is_inside(b"[REDACTED:npm-token]") && !is_inside(b"[REDACTED:A") && !is_inside(b""));
        let long = format!("[REDACTED:{}", "a".repeat(MAX_KIND_LEN + 1));
        assert_eq!(detect(long.as_bytes(), false), MarkerMatch::No);
    }
}
