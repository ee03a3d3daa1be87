//! `content-loss`: keeps the file and destroys what is in it.

use super::arguments::{Argument, Valued, read};
use super::{Invoked, Safeguard, Watch};
use crate::Severity;

pub(super) const SAFEGUARD: Safeguard = Safeguard {
    id: "content-loss",
    about: "destroys what a file holds",
    severity: Severity::Medium,
    hits: &[
        "shred -u f",
        "shred f",
        "srm f",
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
        "truncate" | "gtruncate" => {
            read(invoked.args, Valued { short: "sr", long: &["size", "reference"] }).any(shrinks)
        }
        _ => !super::arguments::has(invoked.args, "", "help"),
    }
}

fn shrinks(argument: Argument<'_>) -> bool {
    let size = match argument {
        Argument::Short('s', Some(size)) => size,
        Argument::Long(name, Some(size)) if "size".starts_with(name) => size,
        Argument::Short(..) | Argument::Long(..) | Argument::Operand(_) => return false,
    };
    let size = size.trim_start();
    size.starts_with(['-', '<', '/']) || size.trim_end_matches(char::is_alphabetic).parse() == Ok(0_u64)
}
