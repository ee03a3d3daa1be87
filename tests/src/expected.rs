//! Lists of what is known not to hold, with the reason for each: `tests/expected/*.txt`.
//!
//! A line is `name who reason`, where `who` is `superuser`, `ordinary` or `any`, and a `?` behind it means that it
//! depends on the machine.

use std::fs;
use std::path::Path;

use crate::Who;

/// One known exception.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exception {
    /// What does not hold.
    pub name: String,
    /// Whether it may hold after all on some machines.
    pub sometimes: bool,
    /// Why.
    pub reason: String,
}

/// The exceptions of one list that concern a user.
///
/// # Panics
/// When the list cannot be read, or a line of it is not understood.
pub fn exceptions(list: &str, who: Who) -> Vec<Exception> {
    let at = Path::new(env!("CARGO_MANIFEST_DIR")).join("expected").join(list);
    let text = fs::read_to_string(&at).unwrap_or_else(|e| panic!("{}: {e}", at.display()));
    let lines = text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty() && !l.starts_with('#'));
    lines
        .filter_map(|(index, line)| {
            let mut words = line.splitn(3, char::is_whitespace).map(str::trim);
            let (Some(name), Some(whom), Some(reason)) = (words.next(), words.next(), words.next()) else {
                panic!("{}:{}: write `name who reason`", at.display(), index + 1)
            };
            let plain = whom.trim_end_matches('?');
            assert!(
                ["any", "superuser", "ordinary"].contains(&plain),
                "{}:{}: `{whom}` is nobody",
                at.display(),
                index + 1
            );
            (plain == "any" || plain == who.to_string()).then(|| Exception {
                name: name.into(),
                sometimes: whom.ends_with('?'),
                reason: reason.into(),
            })
        })
        .collect()
}
