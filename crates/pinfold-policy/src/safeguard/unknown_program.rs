//! `unknown-program`: which program runs is known only by running the line.

use pinfold_shell::{Part, SimpleCommand, Word};

use super::arguments::{known, program_name};
use super::constants::Given;
use super::{Line, Safeguard, Watch, program_hits};
use crate::command::{Gravity, Invocation};

pub(super) const SAFEGUARD: Safeguard = Safeguard {
    id: "unknown-program",
    about: "runs a program that is known only by running the line",
    gravity: Gravity::Risky,
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
    blind: "what an environment variable holds (`$EDITOR`), when the line does not set it",
    watch: Watch::Line(hits),
};

fn hits(line: &Line<'_>) -> bool {
    line.commands.iter().any(|claim| {
        claim.readings.iter().any(|reading| match reading.words.first() {
            Some(program) => {
                program_name(program).is_none() && !program.parts.is_empty() && is_unknown(line, program)
            }
            None => false,
        })
    })
}

fn is_unknown(line: &Line<'_>, program: &Word) -> bool {
    let [Part::Parameter { name, plain, .. }] = program.parts.as_slice() else { return true };
    if let Some(invocation) = list(line, name) {
        return program_hits(&invocation);
    }
    if !plain {
        return true;
    }
    match line.constants().given(name) {
        Given::Unknown => true,
        Given::Nowhere if is_positional(name) => {
            line.script.commands.iter().any(|command| hands_over(line, command))
        }
        // With the value in its place it is looked at like any other.
        Given::Values(_) | Given::Nowhere => false,
    }
}

/// What a list that the line makes would run: `cmd=(rm x); "${cmd[@]}"`.
fn list(line: &Line<'_>, name: &str) -> Option<Invocation> {
    let assignments = line.script.commands.iter().flat_map(|command| &command.assignments);
    let words: Vec<_> = assignments
        .filter(|assignment| assignment.name == name)
        .flat_map(|assignment| assignment.elements.clone())
        .collect();
    (!words.is_empty()).then(|| Invocation { words, ..Invocation::default() })
}

fn is_positional(name: &str) -> bool {
    matches!(name, "@" | "*") || name.bytes().all(|c| c.is_ascii_digit())
}

/// Whether a command gives arguments to a function of the line, or to the line itself, that would be hit as a
/// command.
fn hands_over(line: &Line<'_>, command: &SimpleCommand) -> bool {
    let Some((program, args)) = command.words.split_first() else { return false };
    let args = match program.as_static() {
        Some("set") => args
            .iter()
            .position(|word| known(word) == "--")
            .and_then(|at| args.get(at + 1..))
            .unwrap_or_default(),
        Some(name) if line.script.functions.iter().any(|function| function == name) => args,
        _ => return false,
    };
    program_hits(&Invocation { words: args.to_vec(), ..Invocation::default() })
}
