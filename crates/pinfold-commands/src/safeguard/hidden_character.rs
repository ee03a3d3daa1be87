//! `hidden-character`: a character that does not show, or shows as something else, makes a person consent to
//! another command than the one that runs.

use pinfold_shell::{Opaque, OpaqueReason};

use super::{Line, Safeguard, Watch};
use crate::words::known_start;
use crate::{Invocation, Severity};

pub(super) const SAFEGUARD: Safeguard = Safeguard {
    id: "hidden-character",
    about: "hides what runs behind characters that do not show, or show as others",
    severity: Severity::Medium,
    hits: &[
        "ls\u{1} -la",
        "ls\u{200b} -la",
        "ls\u{1b}[2K",
        "ls\u{a0}-la",
        "echo a\u{0}touch x",
        "ls\r\necho a",
        "echo a\u{8}\u{8}b",
        "echo \u{202e}gnp.exe",
        "echo \u{2066}x\u{2069}",
        "echo a\u{feff}",
        "rm\u{2215}x",
        "g\u{456}t status",
    ],
    passes: &[
        "printf 'a\tb'",
        "ls\t-la",
        "echo one\necho two",
        "echo 'größe ∕ 日本語'",
        "git commit -m 'fix: 👩\u{200d}💻 emoji'",
        "cat docs/über.md",
    ],
    blind: "letters of other scripts in arguments: they are data as often as a disguise",
    watch: Watch::Line(hits),
};

fn hits(line: &Line<'_>) -> bool {
    let is_hidden = |opaque: &Opaque| matches!(opaque.why, OpaqueReason::Character(_));
    line.script.opaque.iter().any(is_hidden) || (!line.text.is_ascii() && line.readings().any(is_disguised))
}

/// Programs are named in ASCII; a name that is not is made to look like another.
fn is_disguised(reading: &Invocation) -> bool {
    reading.words.first().is_some_and(|program| !known_start(program).is_ascii())
}
