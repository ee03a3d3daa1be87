//! `word-splitting`: `IFS` decides where words end, so that text which looks like one word is a command with its
//! arguments.

use pinfold_shell::{Part, Word};

use super::{Line, Safeguard, Watch, all_words};
use crate::Severity;
use crate::constants::sets_variable;
use crate::words::known_start;

pub(super) const SAFEGUARD: Safeguard = Safeguard {
    id: "word-splitting",
    about: "changes or uses `IFS`, which decides where words end",
    severity: Severity::Medium,
    hits: &[
        "IFS=/; ls",
        "IFS=/ cat x",
        "IFS=$'\\n' ls",
        "export IFS=:",
        "local IFS=,",
        "cat${IFS}/etc/passwd",
        "ls$IFS-la",
        "echo \"$IFS\"",
        "cat${IFS:0:1}x",
        "read IFS",
    ],
    passes: &[
        "while IFS= read -r line; do echo \"$line\"; done < f",
        "IFS=, read -ra parts <<< \"$x\"",
        "echo IFS",
        "echo 'IFS=' x.sh",
        "unset IFS",
        "grep IFS= x.sh",
        "MY_IFS=1 ls",
    ],
    blind: "`IFS` set by a file that is sourced",
    watch: Watch::Line(hits),
};

fn hits(line: &Line<'_>) -> bool {
    line.text.contains("IFS")
        && (line.script.commands.iter().any(|command| {
            // `IFS=, read x` holds for this one `read`, which makes no command of what it splits.
            let only_reads = command.words.first().is_some_and(|word| known_start(word) == "read");
            (!only_reads && command.assignments.iter().any(|assignment| assignment.name == "IFS"))
                || sets_variable(&command.words, |name| name == "IFS")
        }) || line.script.loops.iter().any(|over| over.name == "IFS")
            || all_words(line.script).any(expands))
}

fn expands(word: &Word) -> bool {
    word.parts.iter().any(|part| matches!(part, Part::Parameter { name, .. } if name == "IFS"))
}
