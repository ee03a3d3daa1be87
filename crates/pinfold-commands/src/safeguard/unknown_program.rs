//! `unknown-program`: which program runs is known only at run time.

use std::collections::HashSet;

use pinfold_shell::{Part, Script, SimpleCommand, Word};

use super::{Line, Safeguard, Watch, program_hits};
use crate::Severity;
use crate::constants::AssignedValues;
use crate::words::{known_start, program_name};

pub(super) const SAFEGUARD: Safeguard = Safeguard {
    id: "unknown-program",
    about: "runs a program that is known only at run time",
    severity: Severity::Medium,
    hits: &[
        "${A:-rm} -rf x",
        "$(echo rm) -rf x",
        "`echo rm` x",
        "/usr/bin/t?uch x",
        "X=$(echo rm); $X x",
        "X=r; X+=m; $X x",
        "read -r x <<< 'rm y'; $x",
        "printf -v x 'rm y'; $x",
        "f() { \"$@\"; }; f rm -rf x",
        "set -- rm -rf x; \"$@\"",
        "sudo $(echo rm) -rf x",
        "cmd=(rm -rf x); \"${cmd[@]}\"",
    ],
    passes: &[
        "$(npm bin)/eslint .",
        "\"$HOME\"/bin/tool x",
        "~/bin/tool",
        "$EDITOR f",
        "PY=python3; $PY -m pytest",
        "for c in ls cat; do $c f; done",
        "retry() { \"$@\" || \"$@\"; }; retry npm test",
        "A=1",
        "cmd=(npm test \"$x\"); cmd+=(-v); \"${cmd[@]}\"",
        "echo $(echo rm)",
    ],
    blind: "what an environment variable holds (`$EDITOR`), when the command line does not set it",
    watch: Watch::Line(hits),
};

fn hits(line: &Line<'_>) -> bool {
    line.readings().any(|reading| match reading.words.first() {
        Some(program) => {
            program_name(program).is_none() && !program.parts.is_empty() && is_unknown(line, program)
        }
        None => false,
    })
}

fn is_unknown(line: &Line<'_>, program: &Word) -> bool {
    let [Part::Parameter { name, plain, .. }] = program.parts.as_slice() else { return true };
    if let Some(list) = line.constants().list(name) {
        return program_hits(list.into_iter());
    }
    if !plain {
        return true;
    }
    match line.constants().given(name) {
        AssignedValues::Unknown => true,
        AssignedValues::Nowhere if is_positional(name) => line.hands_over(),
        // With the value in its place it is looked at like any other.
        AssignedValues::Values(_) | AssignedValues::Nowhere => false,
    }
}

fn is_positional(name: &str) -> bool {
    matches!(name, "@" | "*") || name.bytes().all(|c| c.is_ascii_digit())
}

/// Returns whether the line gives arguments to one of its functions, or to itself, that would be hit as a command.
pub(super) fn hands_over(script: &Script) -> bool {
    let functions: HashSet<&str> = script.functions.iter().map(String::as_str).collect();
    script
        .commands
        .iter()
        .filter_map(|command| handed_over(command, &functions))
        .any(|words| program_hits(words.iter()))
}

fn handed_over<'a>(command: &'a SimpleCommand, functions: &HashSet<&str>) -> Option<&'a [Word]> {
    let (program, args) = command.words.split_first()?;
    match program.as_static()? {
        "set" => args.get(args.iter().position(|word| known_start(word) == "--")? + 1..),
        name => functions.contains(name).then_some(args),
    }
}
