//! `zsh-builtin`: builtins of zsh that open sockets, terminals and files or remove them, past every program that a
//! rule could name.

use super::{Invoked, Safeguard, Watch};
use crate::Severity;

pub(super) const SAFEGUARD: Safeguard = Safeguard {
    id: "zsh-builtin",
    about: "reaches files, sockets or terminals through builtins of zsh",
    severity: Severity::Medium,
    hits: &[
        "zmodload zsh/system",
        "zsocket -l 9",
        "ztcp host 80",
        "zf_rm x",
        "zpty -b worker cat",
        "sysopen -r -u 3 /etc/passwd",
        "syswrite -o 3 x",
        "zsystem flock f",
        "emulate sh -c 'touch x'",
        "builtin zf_rm x",
        "command zmodload x",
    ],
    passes: &["grep -rn zmodload .", "echo zf_rm", "man zshmodules", "cat zf_rm"],
    blind: "a zsh script that runs from a file",
    watch: Watch::Programs(
        &[
            "zmodload", "zsocket", "ztcp", "zftp", "zpty", "zsystem", "sysopen", "sysread", "syswrite",
            "sysseek", "zf_", "emulate",
        ],
        |_: &Invoked<'_>| true,
    ),
};
