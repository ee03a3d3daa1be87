//! `content-loss`: keeps the file and destroys what is in it.

use super::{Invoked, Safeguard, Watch};
use crate::Severity;
use crate::program::Arg;

pub(super) const SAFEGUARD: Safeguard = Safeguard {
    id: "content-loss",
    about: "destroys what a file holds",
    severity: Severity::Medium,
    hits: &[
        "shred -u f",
        "shred f",
        "srm f",
        "gtruncate -s 0 f",
        "truncate -s 0 important.db",
        "truncate -s0 a b",
        "truncate --size=0 a",
        "truncate -s -10M log",
        "find . -name '*.log' -exec truncate -s 0 {} +",
    ],
    passes: &[
        "truncate -s 10M image",
        "truncate -s +1K f",
        "truncate -r a b",
        "shred --help",
        "echo shred f",
    ],
    blind: "a redirect over a file that is there: that is a write to the path it names",
    watch: Watch::Programs(&["shred", "gshred", "srm", "truncate", "gtruncate"], hits),
};

fn hits(invoked: &Invoked<'_>) -> bool {
    match invoked.name {
        "truncate" | "gtruncate" => invoked.any_with_value(shrinks),
        _ => !invoked.surely_has("", "help"),
    }
}

fn shrinks(arg: &Arg<'_>, value: Option<&str>) -> bool {
    if !arg.is_letter("s") && !arg.is_long("size") {
        return false;
    }
    let Some(size) = value.map(str::trim_start) else { return false };
    size.starts_with(['-', '<', '/']) || size.trim_end_matches(char::is_alphabetic).parse() == Ok(0_u64)
}
