//! Names with letters beyond ASCII, in the form in which programs look them up.

/// Encodes a name (RFC 5891, by the tables of UTS #46). `None` if it has no such form.
pub(crate) fn encode(name: &str) -> Option<String> {
    idna::domain_to_ascii(name).ok()
}
