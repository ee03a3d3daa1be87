//! `injected-code`: variables that make another program load code, or a shell run a file, before it does its own
//! work.

use super::{Command, Safeguard, Watch};
use crate::Severity;
use crate::constants::sets_variable;
use crate::program::takes_assignments;
use crate::words::known_start;

pub(super) const SAFEGUARD: Safeguard = Safeguard {
    id: "injected-code",
    about: "makes other programs load code by a variable",
    severity: Severity::Medium,
    hits: &[
        "LD_PRELOAD=./x.so ls",
        "declare -x LD_PRELOAD=/tmp/x.so; ls",
        "export LD_PRELOAD=x",
        "env LD_PRELOAD=x ls",
        "sudo LD_PRELOAD=x ls",
        "LD_AUDIT=x ls",
        "DYLD_INSERT_LIBRARIES=x ls",
        "BASH_ENV=x bash y",
        "PROMPT_COMMAND=x",
        "BASH_CMDS[ls]=/tmp/x",
    ],
    passes: &[
        "LD_LIBRARY_PATH=lib ./x",
        "echo LD_PRELOAD=x",
        "grep LD_PRELOAD= f",
        "echo $LD_PRELOAD",
        "NODE_ENV=test npm test",
    ],
    blind: "variables of single programs that name a program to run (`GIT_SSH_COMMAND`): no rule lets those through",
    watch: Watch::Commands(hits),
};

fn hits(command: &Command<'_>) -> bool {
    command.written.assignments.iter().any(|assignment| injects(&assignment.name))
        || command.readings.iter().any(|reading| {
            sets_variable(&reading.words, injects)
                || (reading.name().is_some_and(takes_assignments)
                    && reading
                        .args()
                        .iter()
                        .any(|word| known_start(word).split_once('=').is_some_and(|(name, _)| injects(name))))
        })
}

fn injects(name: &str) -> bool {
    matches!(
        name,
        "LD_PRELOAD"
            | "LD_AUDIT"
            | "DYLD_INSERT_LIBRARIES"
            | "BASH_ENV"
            | "PROMPT_COMMAND"
            | "BASH_CMDS"
            | "BASH_ALIASES"
            | "SHELLOPTS"
            | "BASHOPTS"
            | "PS4"
    )
}
