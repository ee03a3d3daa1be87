//! `raw-copy`: `dd` writes what it is told to where it is told to, over anything, and asks nothing.

use super::{Invoked, Safeguard, Watch};
use crate::Severity;
use crate::words::known_start;

pub(super) const SAFEGUARD: Safeguard = Safeguard {
    id: "raw-copy",
    about: "copies block by block over whatever is there",
    severity: Severity::Medium,
    hits: &["dd if=/dev/zero of=x", "dd bs=1M if=a of=b", "dd of=x", "sudo dd if=a of=b", "cat a | dd of=b"],
    passes: &["dd --help", "dd --version", "echo dd if=/dev/zero", "git commit -m 'block dd if=/dev/zero'"],
    blind: "",
    watch: Watch::Programs(&["dd", "gdd", "dcfldd", "dc3dd"], hits),
};

fn hits(invoked: &Invoked<'_>) -> bool {
    invoked.args.iter().any(|word| {
        let text = known_start(word);
        text.starts_with("if=") || text.starts_with("of=")
    })
}
